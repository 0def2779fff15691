#include "cli/follow.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "cli/live_text.h"
#include "client/target.h"
#include "report/wording.h"

namespace muster {

using Json = nlohmann::json;

bool Patience::try_again() {
  constexpr int kMostTries = 35;
  constexpr std::chrono::milliseconds kTick(50);
  if (++tries_ > kMostTries) return false;
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::milliseconds(std::min(2000, 100 << std::min(tries_, 10)));
  while (std::chrono::steady_clock::now() < until) {
    if (interrupted()) return false;
    std::this_thread::sleep_for(kTick);
  }
  return true;
}

Result<Json> job_now(ApiClient& client, const std::string& id) {
  Patience patience;
  while (true) {
    const Result<HttpReply> reply = client.get("/v1/jobs/" + escaped(id));
    // 503: it is there, but just starting or ending.
    const bool answered = reply.ok() && reply.value().status != 503;
    if (answered || !patience.try_again()) return object_of(reply);
  }
}

bool await_event(ApiClient& client, const std::string& id, std::string& after,
                 const std::function<bool()>& stop) {
  Patience patience;
  bool happened = false;
  while (!happened && !stop()) {
    const HttpHeaders headers =
        after.empty() ? HttpHeaders() : HttpHeaders{{"Last-Event-ID", after}};
    const StreamResult result = client.stream(
        "/v1/jobs/" + escaped(id) + "/events?follow=1", headers,
        [&](const SseEvent& event) {
          after = event.id;
          happened = true;
          return false;
        },
        stop);
    if (result.end == StreamEnd::kOver) return true;
    if (result.end == StreamEnd::kRefused) return false;
    if (result.end == StreamEnd::kBroken && !patience.try_again()) return false;
  }
  return happened;
}

Result<Json> await_end(ApiClient& client, const std::string& id,
                       const std::function<bool()>& stop) {
  std::string after;
  Patience patience;
  bool silent = false;  // The stream ended at once, with nothing new.
  while (true) {
    Result<Json> job = job_now(client, id);
    if (!job.ok() || is_over(job.value()) || stop()) return job;
    if (silent && !patience.try_again()) return Error{"the manager does not say any more"};
    const std::string before = after;
    silent = !await_event(client, id, after, stop) || after == before;
    if (!silent) patience.reset();
  }
}

std::string fate_line(const Json& job) {
  const std::string ran =
      number_at(job, "ran_s") > 0 ? " after " + brief_time(number_at(job, "ran_s")) : "";
  const std::string why = text_at(job, "state") == "done" ? "" : text_at(job, "why");
  return printable(fmt::format("job {} ({}): {}{}{}{}", count_at(job, "id"), name_text(job),
                               state_text(job), ran, why.empty() ? "" : ": ", why));
}

int fate_status(const Json& job) {
  return text_at(job, "state") == "done" ? kExitDone : kExitFailed;
}

}  // namespace muster
