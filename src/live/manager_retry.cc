// A job that is over, once more: its request as it was, as a new job.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "live/answers.h"
#include "live/manager.h"

namespace muster {

namespace {

using nlohmann::json;

}  // namespace

// Of a job that is over. One of an array has its index still, in an array of its own.
std::variant<JobRequest, Answer> Manager::request_of(LiveId id) {
  const Result<std::optional<JobRow>> row = reader_->job(id);
  if (!row.ok()) return unreadable(row.error());
  if (!row.value()) return refused(404, fmt::format("no such job: {}", id));
  const json details = json::parse(row.value()->spec, nullptr, false);
  const json kept = details.is_object() ? details.value("request", json()) : json();
  Result<JobRequest> request = read_request(kept.dump());
  if (!request.ok()) {
    return refused(409, fmt::format("job {}: its request cannot be read any more: {}", id,
                                    request.error().message));
  }
  if (details.contains("index")) {
    const auto index = details.value("index", std::int32_t{0});
    request.value().array = ArrayRange{index, index, 1, 0};
  }
  return std::move(request).value();
}

// As whose it was, also if an operator asks: who submits decides whose quota and files it uses.
void Manager::retry(const Caller& caller, const std::string& text, std::function<void(Answer)> done,
                    std::vector<Input>& inputs) {
  if (text.ends_with("_*")) return done(refused(409, "one job at a time: " + text));
  const auto found = find_job(caller, text, Match::kWhole);
  if (const auto* answer = std::get_if<Answer>(&found)) return done(*answer);
  const FoundJob& old = std::get<FoundJob>(found);
  const LiveJob* job = roster_->find(old.id);
  if (job != nullptr && !job->end) {
    return done(refused(
        409, fmt::format("job {} is not over: {}", old.id, state_name(roster_->state_of(*job)))));
  }
  auto read = request_of(old.id);
  if (const auto* answer = std::get_if<Answer>(&read)) return done(*answer);
  JobRequest& request = std::get<JobRequest>(read);
  for (std::vector<std::uint64_t>* jobs : {&request.after_ok, &request.after_any}) {
    std::erase_if(*jobs, [this](std::uint64_t id) {
      const LiveJob* other = roster_->find(id);
      return other == nullptr || other->end;
    });
  }
  if (const Refusal refusal = roster_->refuse(request, request.tenant)) {
    return done(refused(400, refusal->message));
  }
  auto taken = take_in(old.user, std::move(request), "", inputs);
  if (const auto* no = std::get_if<Answer>(&taken)) return done(*no);
  const LiveId fresh = std::get<std::vector<LiveId>>(taken).front();
  waiters_.push_back({std::move(done), said({{"id", fresh}, {"of", old.id}}, 201)});
}

}  // namespace muster
