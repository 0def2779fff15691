#pragma once

// Mapping between error codes, HTTP statuses and the code names in API answers. The server and the
// manager use the first two functions; the client uses the last two.

#include <array>
#include <optional>
#include <string_view>

#include "base/types/enum_names.h"
#include "base/types/error.h"

namespace muster {

inline constexpr std::array kErrorCodes = {
    ErrorCode::kInvalid,  ErrorCode::kUnauthenticated, ErrorCode::kForbidden,
    ErrorCode::kNotFound, ErrorCode::kConflict,        ErrorCode::kTooLarge,
    ErrorCode::kBusy,     ErrorCode::kUnavailable,     ErrorCode::kCorrupt,
    ErrorCode::kSystem,   ErrorCode::kInterrupted};

constexpr int http_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return 400;
    case ErrorCode::kUnauthenticated:
      return 401;
    case ErrorCode::kForbidden:
      return 403;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kConflict:
      return 409;
    case ErrorCode::kTooLarge:
      return 413;
    case ErrorCode::kBusy:
      return 429;
    case ErrorCode::kUnavailable:
    case ErrorCode::kInterrupted:
      return 503;
    case ErrorCode::kCorrupt:
    case ErrorCode::kSystem:
      return 500;
  }
  return 500;
}

inline constexpr EnumNames<ErrorCode, ErrorCode::kInterrupted> kErrorCodeNames(
    {"invalid", "unauthenticated", "forbidden", "not_found", "conflict", "too_large", "busy",
     "unavailable", "corrupt", "system", "interrupted"});

// Returns the value of "code" in an error answer.
inline std::string_view code_name(ErrorCode code) { return kErrorCodeNames[code]; }

// Returns the code with this name, or nullopt.
inline std::optional<ErrorCode> find_error_code(std::string_view name) {
  return kErrorCodeNames.find(name);
}

// Returns the closest code for a status of 400 or above. For answers without a "code".
constexpr ErrorCode error_code_of(int status) {
  switch (status) {
    case 401:
      return ErrorCode::kUnauthenticated;
    case 403:
      return ErrorCode::kForbidden;
    case 404:
      return ErrorCode::kNotFound;
    case 408:
    case 502:
    case 503:
    case 504:
      return ErrorCode::kUnavailable;
    case 409:
      return ErrorCode::kConflict;
    case 413:
    case 431:
      return ErrorCode::kTooLarge;
    case 429:
      return ErrorCode::kBusy;
    default:
      return status >= 500 ? ErrorCode::kSystem : ErrorCode::kInvalid;
  }
}

}  // namespace muster
