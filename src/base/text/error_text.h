#pragma once

// Formats errors as text.

#include <string>
#include <string_view>

#include "base/types/error.h"

namespace muster {

// Returns "place: message", or only the message if the error has no place. For the command line and
// log files. The HTTP API shows only the message.
inline std::string full_text(const Error& error) {
  return error.place.empty() ? error.message : error.place + ": " + error.message;
}

// Returns the error with `before` added at the beginning of its message.
inline Error prefixed(std::string_view before, Error error) {
  error.message.insert(0, before);
  return error;
}

}  // namespace muster
