#pragma once

// A parsed HTTP request: the headers that the server uses, and the body. Absent headers are empty.

#include <string>

namespace muster {

struct HttpRequest {
  std::string method;
  std::string target;
  std::string host;
  std::string origin;
  std::string authorization;
  std::string content_type;
  std::string idempotency_key;
  std::string last_event_id;
  std::string body;
  bool keep_alive = false;
  bool expects_continue = false;  // The client waits for "100 Continue" before it sends the body.
};

}  // namespace muster
