// muster events: prints the events of jobs. muster wait: waits until jobs are finished.

#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <ostream>

#include "api/client/target.h"
#include "base/text/error_text.h"
#include "base/text/text.h"
#include "base/text/wording.h"
#include "cli/live/answer_text.h"
#include "cli/live/follow.h"
#include "cli/live/job_table.h"
#include "cli/live/live_verbs.h"

namespace muster {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kPage = 1000;  // The manager's maximum per request.
constexpr int kExitTimeUp = 124;

std::string event_line(const Json& event, bool json) {
  if (json) return json_line(event) + "\n";
  const std::uint64_t job = count_at(event, "job");
  std::string text = printable(fmt::format(
      "{}  {:>6}  {:<14}  {}", local_time(number_at(event, "at")),
      job == 0 ? "-" : std::to_string(job), text_at(event, "kind"), text_at(event, "words")));
  text.resize(text.find_last_not_of(' ') + 1);
  text += "\n";
  for (const std::string& more : {evidence_text(event), text_at(event, "advice")}) {
    if (!more.empty()) text += fmt::format("{:45}{}\n", "", printable(more));
  }
  return text;
}

// Prints all past events in order, or only the last ones with `tail`. Returns the number of the
// last event.
Result<std::uint64_t> print_past(ApiClient& client, const std::string& path,
                                 const LiveOptions& options, Streams streams) {
  std::uint64_t after = 0;
  std::deque<std::string> kept;
  while (true) {
    const Result<Json> page = object_of(client.get(
        target(path, {{"after", std::to_string(after)}, {"limit", std::to_string(kPage)}})));
    if (!page.ok()) return page.error();
    const Json& events = list_at(page.value(), "events");
    const std::uint64_t before = after;
    for (const Json& event : events) {
      after = std::max(after, count_at(event, "number"));
      kept.push_back(event_line(event, options.json));
      if (options.logs.tail && kept.size() > *options.logs.tail) kept.pop_front();
    }
    const bool last = events.size() < kPage || after == before;
    if (!options.logs.tail || last) {
      for (const std::string& line : kept) streams.out << line;
      kept.clear();
    }
    if (last) return after;
  }
}

// Prints new events of the job `id`, or of all jobs if `id` is empty.
int follow_events(ApiClient& client, const std::string& path, const std::string& id,
                  std::uint64_t last, const LiveOptions& options, Streams streams) {
  ReconnectBackoff patience;
  while (true) {
    const StreamResult result = client.stream(
        path + "?follow=1", {{"Last-Event-ID", std::to_string(last)}},
        [&](const SseEvent& event) {
          patience.reset();
          const Json object = Json::parse(event.data, nullptr, false);
          if (event.kind == "end" || !object.is_object()) return true;
          const std::uint64_t number = count_at(object, "number");
          if (number != 0 && number <= last) return true;
          last = std::max(last, number);
          streams.out << event_line(object, options.json) << std::flush;
          return true;
        },
        interrupted);
    if (interrupted()) return kExitInterrupted;
    if (result.end == StreamEnd::kRefused && result.reply.status != 503) {
      return complain(streams, refusal_of(result.reply));
    }
    if (result.end == StreamEnd::kOver && !id.empty()) {
      const Result<Json> job = job_now(client, id);
      if (!job.ok()) return complain(streams, job.error());
      if (is_over(job.value())) return kExitDone;
    }
    if (!patience.try_again()) {
      return interrupted() ? kExitInterrupted
                           : complain(streams, Error{result.trouble, ErrorCode::kUnavailable});
    }
  }
}

// Returns `names` with each array replaced by the ids of its jobs.
Result<std::vector<std::string>> whole_arrays(ApiClient& client,
                                              const std::vector<std::string>& names) {
  std::vector<std::string> ids;
  for (const std::string& name : names) {
    const std::optional<std::string> array = array_in(name);
    if (!array) {
      ids.push_back(name);
      continue;
    }
    const Result<JobTable> jobs = list_array(client, *array);
    if (!jobs.ok()) return jobs.error();
    for (const Json& job : jobs.value().jobs) ids.push_back(whole_id(job));
  }
  return ids;
}

}  // namespace

int run_events(const LiveOptions& options, Streams streams) {
  return with_manager(options, streams, [&](ApiClient& client) {
    if (options.logs.follow) catch_interrupts();
    std::string path = "/v1/events";
    std::string id;
    if (!options.names.empty()) {
      const Result<Json> job = job_now(client, options.names.front());
      if (!job.ok()) return complain(streams, job.error());
      id = whole_id(job.value());
      path = "/v1/jobs/" + id + "/events";
    }
    const Result<std::uint64_t> last = print_past(client, path, options, streams);
    if (!last.ok()) return complain(streams, last.error());
    streams.out << std::flush;
    if (!options.logs.follow) return kExitDone;
    return follow_events(client, path, id, last.value(), options, streams);
  });
}

int run_wait(const LiveOptions& options, Streams streams) {
  using Clock = std::chrono::steady_clock;
  const auto until = options.timeout
                         ? Clock::now() + std::chrono::microseconds(options.timeout->us())
                         : Clock::time_point::max();
  const auto stop = [&] { return interrupted() || Clock::now() >= until; };
  return with_manager(options, streams, [&](ApiClient& client) {
    catch_interrupts();
    int status = kExitDone;
    const Result<std::vector<std::string>> ids = whole_arrays(client, options.names);
    if (!ids.ok()) return complain(streams, prefixed("wait: ", ids.error()));
    for (const std::string& id : ids.value()) {
      const Result<Json> job = await_end(client, id, stop);
      if (interrupted()) return kExitInterrupted;
      if (!job.ok()) {
        status = complain(streams, prefixed(fmt::format("wait {}: ", id), job.error()));
        continue;
      }
      const std::string line = options.json ? json_line(job.value()) : fate_line(job.value());
      if (!is_over(job.value())) {
        complain(streams, fmt::format("--timeout expired: {}", fate_line(job.value())));
        return kExitTimeUp;
      }
      streams.out << line << std::endl;
      if (fate_status(job.value()) != kExitDone) status = kExitFailed;
    }
    return status;
  });
}

}  // namespace muster
