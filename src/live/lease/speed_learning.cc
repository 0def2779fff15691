#include "live/lease/speed_learning.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/os/processes.h"
#include "engine/model/profile_key.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr Duration kLookWhileMeasuring = Duration::micros(250'000);
constexpr int kMaxDepth = 8;  // Of JSON that users send: it is walked through by recursion.

Error not_a_profile(const std::string& why) {
  return Error{"not what was measured of a job: " + why, ErrorCode::kInvalid};
}

}  // namespace

void SpeedLearning::look(const Roster& roster, Instant now, std::vector<Input>& inputs) {
  if (now < next_look_) return;
  if (!settings_.enabled || !roster.settings().uses_profiles) {
    if (profiler_.busy()) profiler_.let_go();
    return;
  }
  // By the clock of the files that jobs write.
  profiler_.look(roster, profiles_, now_on_both_clocks().wall_us);
  for (Profiler::Finding& finding : profiler_.take_findings()) {
    inputs.push_back(ProfiledInput{finding.id, finding.kind, finding.words});
    if (!finding.learnt) continue;
    learn(profiles_, std::move(*finding.learnt));
    changed_ = true;
  }
  next_look_ = now + (profiler_.busy() ? kLookWhileMeasuring : settings_.every);
}

Result<Learnt> SpeedLearning::keep(const std::string& user, const std::string& body,
                                   std::int64_t unix_s) {
  JobRequest request;
  Learnt learnt;
  try {
    bool deep = false;
    json fields = json::parse(body, [&](int depth, json::parse_event_t, json&) {
      deep = deep || depth > kMaxDepth;
      return depth <= kMaxDepth;
    });
    if (deep) return not_a_profile("too deep");
    request.name = fields.at("name").get<std::string>();
    request.command = fields.at("command").get<std::vector<std::string>>();
    complete_request(request);
    if (const Refusal refusal = check_request(request)) return *refusal;
    fields["key"] = profile_key(user, request);
    fields.erase("reach");
    Result<Learnt> read = read_learnt(fields.dump());
    if (!read.ok()) return read;
    learnt = std::move(read).value();
  } catch (const json::exception& error) {
    return not_a_profile(error.what());
  }
  learnt.user = user;
  learnt.name = request.name;
  learnt.unix_s = unix_s;
  learn(profiles_, learnt);
  changed_ = true;
  return learnt;
}

bool SpeedLearning::accept_changes(const Roster& roster) {
  const auto stops = [](const auto& each) {
    return each.second.lease && each.second.lease->stopping;
  };
  if (std::any_of(roster.jobs().begin(), roster.jobs().end(), stops)) return false;
  changed_ = false;
  return true;
}

}  // namespace muster
