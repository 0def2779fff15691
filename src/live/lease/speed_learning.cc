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
constexpr int kMaxDepth = 8;  // Limit for user JSON, which is read recursively.

Error not_a_profile(const std::string& why) {
  return Error{"not a measured profile: " + why, ErrorCode::kInvalid};
}

}  // namespace

void SpeedLearning::look(const Roster& roster, Instant now, std::vector<Input>& inputs) {
  if (now < next_look_) return;
  if (!settings_.enabled || !roster.settings().uses_profiles) {
    if (profiler_.busy()) profiler_.let_go();
    return;
  }
  // Wall clock, because progress files use it.
  profiler_.look(roster, profiles_, now_on_both_clocks().wall_us);
  for (Profiler::Finding& finding : profiler_.take_findings()) {
    inputs.push_back(ProfiledInput{finding.id, finding.kind, finding.words});
    if (!finding.learned) continue;
    learn(profiles_, std::move(*finding.learned));
    changed_ = true;
  }
  next_look_ = now + (profiler_.busy() ? kLookWhileMeasuring : settings_.every);
}

Result<LearnedProfile> SpeedLearning::keep(const std::string& user, const std::string& body,
                                           std::int64_t unix_s) {
  JobRequest request;
  LearnedProfile learned;
  try {
    bool deep = false;
    json fields = json::parse(body, [&](int depth, json::parse_event_t, json&) {
      deep = deep || depth > kMaxDepth;
      return depth <= kMaxDepth;
    });
    if (deep) return not_a_profile("nested too deeply");
    request.name = fields.at("name").get<std::string>();
    request.command = fields.at("command").get<std::vector<std::string>>();
    complete_request(request);
    if (const MaybeError refusal = check_request(request)) return *refusal;
    fields["key"] = profile_key(user, request);
    fields.erase("reach");
    Result<LearnedProfile> read = read_learned_profiles(fields.dump());
    if (!read.ok()) return read;
    learned = std::move(read).value();
  } catch (const json::exception& error) {
    return not_a_profile(error.what());
  }
  learned.user = user;
  learned.name = request.name;
  learned.unix_s = unix_s;
  learn(profiles_, learned);
  changed_ = true;
  return learned;
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
