#pragma once

// A value, or why the outside world did not let us have it.

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
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit, so
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: a function
                                                             // may return either.
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

// For what yields nothing but may be refused: empty when all went well.
using Refusal = std::optional<Error>;

}  // namespace muster
