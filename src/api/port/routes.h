#pragma once

// From a request to the manager's call, or to why not: which addresses there are, with which
// methods and parameters. Pure; the connection asks it, the fuzzer tries it, and openapi_test.cc
// holds the description of the API to its table.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "api/port/http_request.h"
#include "api/port/query.h"
#include "api/port/service.h"
#include "api/port/status.h"

namespace muster {

// How the answer comes about.
enum class Reply : std::uint8_t {
  kAnswer,  // What the manager answers.
  kLog,     // The part of the output that the range says; the call finds the files.
  kFollowLog,
  kFollowEvents,  // The call is the ListEvents to begin with.
  kMetrics,       // What the manager answers, and the server's own figures.
  kOpenApi,       // No call at all.
  kTicket,        // Nor here: who calls is what is asked.
};

struct Routed {
  Reply reply = Reply::kAnswer;
  Call call;
  std::int64_t offset = 0;    // Of a log; negative: from its end.
  std::uint64_t limit = 0;    // Of a log, in bytes.
  std::size_t route = 0;      // Its place in routes().
  bool without_body = false;  // HEAD.
};

// Why the server itself refuses a request.
struct Problem {
  Problem(Error given)  // NOLINT: implicit, so that a function may return the error as it is.
      : status(http_status(given.code)), error(std::move(given)) {}
  // A status of HTTP itself that belongs to no error code, such as 405.
  Problem(int http, Error given, std::string methods = {})
      : status(http), error(std::move(given)), allow(std::move(methods)) {}

  int status;
  Error error;
  std::string allow;  // Of 405: the methods there are.
};

using MakeRouted = Result<Routed> (*)(const Target& target, const HttpRequest& request);

struct Route {
  std::string_view method;
  std::string_view path;  // With {id} for a job, {name} for a node and {key} for a page.
  std::string_view call;  // CallInfo::name; empty: the server itself answers.
  std::span<const std::string_view> parameters;
  std::span<const int> statuses;  // All it may be answered with once it was read.
  MakeRouted make;
};

std::span<const Route> routes();

std::variant<Routed, Problem> find_route(const HttpRequest& request);

// Whoever asks; all others must say who they are.
bool is_open_to_all(std::string_view target);

inline constexpr std::uint64_t kUsualLogBytes = 1U << 20U;
inline constexpr std::uint64_t kMostLogBytes = 8U << 20U;

}  // namespace muster
