#pragma once

// Errors as text.

#include <string>
#include <string_view>

#include "base/types/error.h"

namespace muster {

// "place: message", or the message alone if the error has no place. For the command line and for
// log files; the HTTP API shows the message alone.
inline std::string full_text(const Error& error) {
  return error.place.empty() ? error.message : error.place + ": " + error.message;
}

// The same error with `before` at the beginning of its message.
inline Error prefixed(std::string_view before, Error error) {
  error.message.insert(0, before);
  return error;
}

}  // namespace muster
