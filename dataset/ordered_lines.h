#pragma once
// JSON Lines whose objects keep the order of their keys: tunables are emitted in the order in which a row names them.
#include <filesystem>
#include <functional>

#include <nlohmann/json_fwd.hpp>

namespace kc {

// As for_each_json_line of base/json.h: plain or .gz, Error{bad_data} with file and line. An Error or a missing or
// ill-typed field inside `visit` is reported with file and line as well.
void for_each_ordered_line(const std::filesystem::path& path,
                           const std::function<void(const nlohmann::ordered_json& value)>& visit);

}  // namespace kc
