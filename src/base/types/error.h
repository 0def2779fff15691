#pragma once

// The error of a failed operation: a message for the user, a code for programs, and the place.

#include <cstdint>
#include <string>

namespace muster {

// Programs act on the code: api/ maps it to an HTTP status, cli/ to an exit status.
enum class ErrorCode : std::uint8_t {
  kInvalid,          // The input is wrong. The default, because most errors come from parsers.
  kUnauthenticated,  // The caller is unknown.
  kForbidden,        // The caller is known but not permitted to do this.
  kNotFound,
  kConflict,     // The current state forbids the operation, for example: the job has finished.
  kTooLarge,     // The input exceeds a size limit.
  kBusy,         // A queue is full. A retry may succeed.
  kUnavailable,  // A required component does not respond. A retry may succeed.
  kCorrupt,      // Stored data cannot be read back.
  kSystem,       // A system call failed.
  kInterrupted,  // The user or a shutdown stopped the operation.
};

struct Error {
  // One human-readable line: the problem, the value, and the most similar valid value if there is
  // one. Example: "num_gpu: not a whole number: 'two'".
  std::string message;
  ErrorCode code = ErrorCode::kInvalid;
  // The path, or the file and line, such as "jobs.csv:7". Empty if the message contains it or there
  // is none. The command line prints it before the message; the HTTP API does not return it.
  std::string place = {};
};

}  // namespace muster
