#pragma once
// Fields of a message, whose faults name the key.
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"

namespace kc {

// What a message gets wrong.
Error message_fault(const std::string& what);
// The words of the JSON library without its number.
std::string words_of(const std::exception& fault);

// Of the types that fields.cpp lists. Error{bad_data} when the field is missing, without `fallback`, or ill-typed.
template <class T>
T field(const nlohmann::json& from, const std::string& key);
template <class T>
T field(const nlohmann::json& from, const std::string& key, const T& fallback);

// A field that is a list.
nlohmann::json list_field(const nlohmann::json& from, const std::string& key);

}  // namespace kc
