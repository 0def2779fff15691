#include "api/client/reply_error.h"

#include <nlohmann/json.hpp>
#include <string>

#include "api/port/status.h"

namespace muster {

namespace {

std::string text_in(const nlohmann::json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

Error error_of(const HttpReply& reply) {
  const nlohmann::json body = nlohmann::json::parse(reply.body, nullptr, false);
  Error error;
  error.code = find_error_code(text_in(body, "code")).value_or(error_code_of(reply.status));
  error.message = text_in(body, "error");
  if (error.message.empty()) {
    error.message =
        "the manager answered with status " + std::to_string(reply.status) + " and no message";
  }
  return error;
}

}  // namespace muster
