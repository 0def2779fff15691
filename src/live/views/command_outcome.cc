#include "live/views/command_outcome.h"

#include <nlohmann/json.hpp>

#include "live/views/answers.h"
#include "live/views/views.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr int kCreated = 201;

Answer answer_to(const SubmittedJobs& jobs) {
  const json body = {{"id", jobs.ids.front()}, {"ids", jobs.ids}, {"key_seen", jobs.key_seen}};
  return jobs.key_seen ? json_answer(body) : json_answer(body, kCreated);
}

Answer answer_to(const RetriedJob& job) {
  return json_answer({{"id", job.id}, {"of", job.of}}, kCreated);
}

Answer answer_to(const ChangedJobs& changed) {
  const ChangedJob& first = changed.jobs.front();
  json body = {{"id", first.id}, {"state", first.state}};
  if (changed.array != 0) body["array"] = changed.array;
  if (changed.whole_array) {
    json& jobs = body["jobs"] = json::array();
    for (const ChangedJob& job : changed.jobs) {
      jobs.push_back({{"id", job.id}, {"state", job.state}});
    }
  }
  return json_answer(body);
}

Answer answer_to(const ChangedNode& node) {
  json body = {{"name", node.name}, {"open", node.open}};
  if (node.until) body["until"] = *node.until;
  return json_answer(body);
}

Answer answer_to(const KeptProfile& kept) { return json_answer(profile_view(kept.profile)); }

Answer answer_to(const IssuedTicket&) { return json_answer(json::object(), kCreated); }

Answer answer_to(const LoggedOut& left) {
  return json_answer({{"user", left.user}, {"generation", left.generation}});
}

}  // namespace

Answer answer_of(const CommandOutcome& outcome) {
  return std::visit([](const auto& each) { return answer_to(each); }, outcome);
}

}  // namespace muster
