#pragma once

// Result<T>: a value or an error. For operations that can fail because of input or the system.

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/types/check.h"
#include "base/types/error.h"

namespace muster {

template <class T>
class [[nodiscard]] Result {
 public:
  // The constructors are implicit, so that a function can return a value or an error.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT
  // value() REQUIRES ok(); error() REQUIRES !ok(). Both abort otherwise.
  bool ok() const { return state_.index() == 0; }
  const T& value() const& {
    MUSTER_CHECK(ok());
    return std::get<0>(state_);
  }
  T& value() & {
    MUSTER_CHECK(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    MUSTER_CHECK(ok());
    return std::get<0>(std::move(state_));
  }
  const Error& error() const {
    MUSTER_CHECK(!ok());
    return std::get<1>(state_);
  }

 private:
  std::variant<T, Error> state_;
};

// The result of an operation without a value: nullopt if it succeeded.
using MaybeError = std::optional<Error>;

}  // namespace muster
