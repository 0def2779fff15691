#pragma once

// Creates answers from values.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "api/port/error_answer.h"
#include "api/port/service.h"
#include "base/types/result.h"

namespace muster {

inline Answer json_answer(const nlohmann::json& body, int status = 200) {
  Answer answer;
  answer.status = status;
  // A job's text may contain any byte.
  answer.body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return answer;
}

// Marks an error of the journal's tables as retryable for callers.
inline Error unreadable(Error error) {
  error.code = ErrorCode::kUnavailable;
  return error;
}

inline Answer answer_of(Result<Answer> result) {
  return result.ok() ? std::move(result).value() : error_answer(result.error());
}

}  // namespace muster
