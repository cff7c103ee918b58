#pragma once
// Expected<T, E>: a value or the reason why there is none (std::expected is C++23; this is the part we use).
#include <utility>
#include <variant>

namespace kc {

template <class E>
class Unexpected {
 public:
  explicit Unexpected(E error) : error_(std::move(error)) {}
  E error_;
};

template <class T, class E>
class Expected {
 public:
  // Implicit, so that a function returns either by its plain value. NOLINTBEGIN(google-explicit-constructor)
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(Unexpected<E> unexpected) : state_(std::in_place_index<1>, std::move(unexpected.error_)) {}
  // NOLINTEND(google-explicit-constructor)

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // Precondition: has_value(); std::bad_variant_access otherwise.
  T& value() { return std::get<0>(state_); }
  const T& value() const { return std::get<0>(state_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Precondition: !has_value().
  const E& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, E> state_;
};

}  // namespace kc
