// The roster as others may try things out on.

#include <algorithm>

#include "live/picture.h"
#include "live/roster.h"

namespace muster {

JobSpec Roster::imagine(const JobRequest& request, const std::string& user,
                        const std::string& tenant) const {
  JobSpec spec = spec_of(request, user, tenant, false);
  const auto find = [](const std::map<std::string, std::uint32_t>& ids, const std::string& word) {
    const auto found = ids.find(word);
    return found == ids.end() ? static_cast<std::uint32_t>(ids.size()) : found->second;
  };
  spec.user = UserId(find(users_, user));
  spec.name = NameId(find(names_, request.name));
  return spec;
}

Picture Roster::picture(Instant now) const {
  Rules rules;
  rules.cluster = &world_->cluster;
  rules.planner = world_->settings.planner;
  rules.planner.chain.tenants = world_->settings.tenants ? &*world_->settings.tenants : nullptr;
  rules.engine = world_->settings.engine;
  Picture picture{world_, std::max(now, now_), *engine_, std::move(rules), {}, live_of_, {}, {}};
  picture.users.resize(users_.size());
  for (const auto& [user, id] : users_) picture.users[id] = user;
  picture.closed_why.resize(drained_.size());
  for (std::size_t i = 0; i < drained_.size(); ++i) {
    const auto quarantine = quarantines_.find(NodeId(i));
    if (!is_usable(NodeId(i))) {
      picture.closed_why[i] = "unusable: " + conditions_.at(NodeId(i)).why;
    } else if (drained_[i] != 0) {
      picture.closed_why[i] = "drained";
    } else if (quarantine != quarantines_.end()) {
      picture.closed_why[i] = "in quarantine: " + quarantine->second.why;
    }
  }

  struct Arrival {
    Instant at;
    JobSpec spec;
  };
  std::vector<Arrival> arrivals;
  JobRequest request;
  for (const Known& known : known_) {
    request.name = known.name;
    request.gpus = known.gpus;
    const JobSpec spec = imagine(request, known.user, known.tenant);
    picture.guesses.learn(spec, known.work);
    if (known.submitted > Instant()) arrivals.push_back({known.submitted, spec});
  }
  // The latest, as many as can count: ids ascend with time.
  std::size_t room = Guesses::kArrivals;
  for (auto at = jobs_.rbegin(); at != jobs_.rend() && room > 0; ++at) {
    const LiveJob& job = at->second;
    if (!job.row) continue;
    arrivals.push_back({job.submitted, imagine(job.request, job.user, job.tenant)});
    --room;
  }
  std::sort(arrivals.begin(), arrivals.end(),
            [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
  for (const Arrival& arrival : arrivals) picture.guesses.came(arrival.at, arrival.spec);
  return picture;
}

}  // namespace muster
