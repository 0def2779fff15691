#include "api/server/http_text.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

namespace muster {
namespace {

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Payload Too Large";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "Answer";
  }
}

}  // namespace

std::string head_text(const Head& head) {
  std::string out = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\n{}",
      head.status, reason_of(head.status), head.content_type, head.headers);
  if (head.length) fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", *head.length);
  if (head.status == 401) out += "WWW-Authenticate: Bearer\r\n";
  if (!head.keep_alive) out += "Connection: close\r\n";
  return out + "\r\n";
}

std::string json_string(std::string_view bytes) {
  return nlohmann::json(bytes).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace muster
