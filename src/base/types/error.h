#pragma once

// The error of a failed operation: a sentence for the user, a code for programs, and the place.

#include <cstdint>
#include <string>

namespace muster {

// Programs act on the code: api/ maps it to an HTTP status, cli/ to an exit status.
enum class ErrorCode : std::uint8_t {
  kInvalid,          // The input is wrong. The default, because most errors come from parsers.
  kUnauthenticated,  // The caller is unknown.
  kForbidden,        // The caller is known but may not do this.
  kNotFound,
  kConflict,     // The operation does not fit the present state, for example: the job has finished.
  kTooLarge,     // The input exceeds a size limit.
  kBusy,         // A queue is full. A retry may succeed.
  kUnavailable,  // A component that is needed does not answer. A retry may succeed.
  kCorrupt,      // Stored data cannot be read back.
  kSystem,       // The operating system refused an operation.
  kInterrupted,  // The user or a shutdown stopped the operation.
};

struct Error {
  // One line for a person: the fact, the value, and the nearest valid value if there is one, as in
  // "num_gpu: not a whole number: 'two'".
  std::string message;
  ErrorCode code = ErrorCode::kInvalid;
  // The file and line or the path, as in "jobs.csv:7". Empty: the message says it, or there is
  // none. The command line prints it before the message; the HTTP API does not show it to callers.
  std::string place = {};
};

}  // namespace muster
