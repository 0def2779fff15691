#include "cli/live/follow.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "api/client/target.h"
#include "base/text/wording.h"
#include "cli/live/answer_text.h"

namespace muster {

namespace {
using Json = nlohmann::json;
}  // namespace

bool ReconnectBackoff::try_again() {
  constexpr int kMaxTries = 35;
  constexpr std::chrono::milliseconds kTick(50);
  if (++tries_ > kMaxTries) return false;
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::milliseconds(std::min(2000, 100 << std::min(tries_, 10)));
  while (std::chrono::steady_clock::now() < until) {
    if (interrupted()) return false;
    std::this_thread::sleep_for(kTick);
  }
  return true;
}

Result<Json> job_now(ApiClient& client, const std::string& id) {
  ReconnectBackoff patience;
  while (true) {
    const Result<HttpReply> reply = client.get("/v1/jobs/" + escaped(id));
    // 503: the manager is starting or stopping.
    const bool answered = reply.ok() && reply.value().status != 503;
    if (answered || !patience.try_again()) return object_of(reply);
  }
}

std::string whole_id(const Json& job) { return std::to_string(count_at(job, "id")); }

bool EventWatch::next(const std::function<bool()>& stop) {
  while (!stop()) {
    const HttpHeaders headers =
        after_.empty() ? HttpHeaders() : HttpHeaders{{"Last-Event-ID", after_}};
    bool happened = false;
    const StreamResult result = client_.stream(
        "/v1/jobs/" + escaped(id_) + "/events?follow=1", headers,
        [&](const SseEvent& event) {
          after_ = event.id;
          const bool first_end = event.kind == "end" && !std::exchange(ended_, true);
          happened = event.kind != "end" || first_end;
          return false;
        },
        stop);
    if (happened) patience_.reset();
    if (happened) return true;
    if (stop() || !patience_.try_again()) return false;
    if (result.end != StreamEnd::kBroken) return true;
  }
  return false;
}

Result<Json> await_end(ApiClient& client, const std::string& id,
                       const std::function<bool()>& stop) {
  Result<Json> job = job_now(client, id);
  if (!job.ok()) return job;
  EventWatch watch(client, whole_id(job.value()));
  while (job.ok() && !is_over(job.value()) && !stop()) {
    if (!watch.next(stop) && !stop())
      return Error{"the manager no longer reports events of this job", ErrorCode::kUnavailable};
    job = job_now(client, whole_id(job.value()));
  }
  return job;
}

std::string fate_line(const Json& job) {
  const std::string ran =
      number_at(job, "ran_s") > 0 ? " after " + brief_time(number_at(job, "ran_s")) : "";
  const std::string why = text_at(job, "state") == "done" ? "" : text_at(job, "why");
  return printable(fmt::format("job {} ({}): {}{}{}{}", job_id_text(job), name_text(job),
                               state_text(job), ran, why.empty() ? "" : ": ", why));
}

int fate_status(const Json& job) {
  return text_at(job, "state") == "done" ? kExitDone : kExitFailed;
}

}  // namespace muster
