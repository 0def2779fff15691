#pragma once

// Maps error codes to exit statuses. Exit status: 0 success, 1 failure, 2 bad usage or bad input,
// 130 interrupted.

#include "base/types/error.h"

namespace muster {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitBadInput = 2;
inline constexpr int kExitInterrupted = 130;

constexpr int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
    case ErrorCode::kTooLarge:
      return kExitBadInput;
    case ErrorCode::kInterrupted:
      return kExitInterrupted;
    case ErrorCode::kUnauthenticated:
    case ErrorCode::kForbidden:
    case ErrorCode::kNotFound:
    case ErrorCode::kConflict:
    case ErrorCode::kBusy:
    case ErrorCode::kUnavailable:
    case ErrorCode::kCorrupt:
    case ErrorCode::kSystem:
      return kExitFailed;
  }
  return kExitFailed;
}

// Returns `error` as an error in the command's input, such as a file that an option names. The
// command then exits with status 2, as for a wrong option.
inline Error bad_input(Error error) {
  error.code = ErrorCode::kInvalid;
  return error;
}

}  // namespace muster
