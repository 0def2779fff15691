// Feeds bytes to the HTTP server like a connection: to the request reader, the table of routes and
// the parser of submissions. The first byte determines where the input is split. Each request must
// become a valid call or a printable one-line error. The split must not change complete requests.
//
//   cmake --preset fuzz && cmake --build --preset fuzz --target api_fuzz
//   build/fuzz/tests/api_fuzz -max_total_time=300 /tmp/found tests/fuzz/corpus/api

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/port/error_answer.h"
#include "api/port/routes.h"
#include "api/server/http_reader.h"
#include "base/types/check.h"

namespace muster {
namespace {

constexpr HttpLimits kLimits{2U << 10U, 16U << 10U};

void check_call(const Routed& routed) {
  const Route& route = routes()[routed.route];
  MUSTER_CHECK(routed.limit <= kMaxLogBytes);
  const auto job_word = [](const std::string& word) {
    MUSTER_CHECK(!word.empty());
    for (const char c : word) MUSTER_CHECK((c >= '0' && c <= '9') || c == '_');
  };
  if (const auto* show = std::get_if<ShowJob>(&routed.call)) job_word(show->job);
  if (const auto* cancel = std::get_if<CancelJob>(&routed.call)) job_word(cancel->job);
  if (const auto* find = std::get_if<FindLog>(&routed.call)) job_word(find->job);
  if (const auto* drain = std::get_if<DrainNode>(&routed.call)) MUSTER_CHECK(is_name(drain->node));
  if (const auto* submit = std::get_if<SubmitJob>(&routed.call)) {
    MUSTER_CHECK(route.method == "POST" && !routed.without_body);
    MUSTER_CHECK(!check_request(submit->request));
    MUSTER_CHECK(read_request(request_json(submit->request)).value() == submit->request);
  }
}

void check_problem(const Problem& problem) {
  MUSTER_CHECK(problem.status >= 400 && problem.status < 600);
  MUSTER_CHECK((problem.status == 405) == !problem.allow.empty());
  for (const char c : problem.error.message) MUSTER_CHECK(c >= ' ' && c <= '~');
  const std::string body = error_json(problem.error);
  MUSTER_CHECK(std::count(body.begin(), body.end(), '\n') == 1);
}

// Returns the results of all requests in order.
std::vector<std::string> serve(std::string_view bytes, std::size_t piece) {
  std::vector<std::string> story;
  HttpReader reader(kLimits);
  while (true) {
    while (reader.state() == HttpReader::State::kWhole) {
      const HttpRequest request = reader.take();
      MUSTER_CHECK(request.body.size() <= kLimits.body_bytes);
      const auto found = find_route(request);
      if (const auto* routed = std::get_if<Routed>(&found)) {
        check_call(*routed);
        story.push_back(std::to_string(routed->route));
      } else {
        check_problem(std::get<Problem>(found));
        story.push_back(std::get<Problem>(found).error.message);
      }
      reader.next();
    }
    if (bytes.empty() || reader.state() == HttpReader::State::kBroken) break;
    reader.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  // Excluded from the comparison: in an incomplete request, the parser may find the error later.
  if (reader.state() == HttpReader::State::kBroken) {
    check_problem(Problem(reader.status(), {reader.trouble()}));
  }
  return story;
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto whole = muster::serve(bytes, bytes.size() + 1);
  MUSTER_CHECK(muster::serve(bytes, std::size_t{data[0]} + 1) == whole);
  return 0;
}
