#pragma once

// How the manager's answers are made. For the files of Manager alone.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api/service.h"

namespace muster {

inline Answer said(const nlohmann::json& body, int status = 200) {
  Answer answer;
  answer.status = status;
  // A job's words may hold any byte.
  answer.body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return answer;
}

inline Answer refused(int status, std::string_view why) { return said({{"error", why}}, status); }

// The journal's own words begin with where it lies, which is nobody's business who only asks.
inline Answer unreadable(const Error& error) {
  const std::size_t words = error.message.find(": ");
  return refused(503, words == std::string::npos ? error.message : error.message.substr(words + 2));
}

inline bool may_see(const Caller& caller, const std::string& user) {
  return caller.is_operator || caller.user == user;
}

}  // namespace muster
