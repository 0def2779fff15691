#include "api/port/error_answer.h"

#include <nlohmann/json.hpp>

#include "api/port/status.h"

namespace muster {

std::string error_json(const Error& error) {
  const nlohmann::ordered_json body = {{"error", error.message}, {"code", code_name(error.code)}};
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Answer error_answer(const Error& error) {
  return {http_status(error.code), error_json(error), std::nullopt};
}

Error too_many_questions() {
  return Error{"too many pending requests; retry in a moment", ErrorCode::kBusy};
}

}  // namespace muster
