#pragma once

// Table of the API's routes (method, path, parameters), and the translation of an HTTP request to a
// Call. Pure functions. Called by Connection and by the fuzzer; openapi_test.cc checks that
// openapi.json agrees with the table.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "api/port/http_request.h"
#include "api/port/request_target.h"
#include "api/port/service.h"
#include "api/port/status.h"

namespace muster {

// How the server produces the response.
enum class Reply : std::uint8_t {
  kAnswer,        // The manager's answer.
  kLog,           // A byte range of a log; the call (FindLog) finds the log.
  kFollowLog,     // A log as a stream of events.
  kFollowEvents,  // A stream of events; the call is the first ListEvents.
  kMetrics,       // The manager's answer, followed by the server's own metrics.
  kOpenApi,       // openapi.json, without a call.
  kTicket,        // A new ticket for the caller, after the manager's answer.
  kLogOut,        // The manager's answer; it has the new generation of the caller's tickets.
};

struct Routed {
  Reply reply = Reply::kAnswer;
  Call call;
  std::int64_t offset = 0;    // Logs only: first byte; negative counts from the end.
  std::uint64_t limit = 0;    // Logs only: maximum number of bytes.
  std::size_t route = 0;      // Index in routes().
  bool without_body = false;  // The method is HEAD.
};

// The reason why the server itself rejects a request.
struct Problem {
  Problem(Error given)  // NOLINT: implicit, so that a function can return an Error.
      : status(http_status(given.code)), error(std::move(given)) {}
  // For an HTTP status without an ErrorCode, such as 405.
  Problem(int http, Error given, std::string methods = {})
      : status(http), error(std::move(given)), allow(std::move(methods)) {}

  int status;
  Error error;
  std::string allow;  // Status 405 only: the allowed methods.
};

using MakeRouted = Result<Routed> (*)(const RequestTarget& target, const HttpRequest& request);

struct Route {
  std::string_view method;
  std::string_view path;  // {id} is a job, {name} a node and {key} a page.
  std::string_view call;  // CallInfo::name; empty: answered by the server itself.
  std::span<const std::string_view> parameters;
  std::span<const int> statuses;  // All statuses of answers to well-formed HTTP requests.
  MakeRouted make;
};

std::span<const Route> routes();

// Parses the request and finds its route. Does no I/O.
std::variant<Routed, Problem> find_route(const HttpRequest& request);

// Returns the name of the call that a rejected request asked for, and its object, such as "job 12".
// Both are empty if there is no such path. Contains no other text of the request.
struct AskedCall {
  std::string call;
  std::string object;
};
AskedCall asked_call(const HttpRequest& request);

// Returns whether this target needs no authentication.
bool is_open_to_all(std::string_view target);

inline constexpr std::uint64_t kUsualLogBytes = 1U << 20U;  // Default `limit` of a log request.
inline constexpr std::uint64_t kMaxLogBytes = 8U << 20U;

}  // namespace muster
