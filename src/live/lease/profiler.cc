#include "live/lease/profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/model/profile_key.h"
#include "exec/lease/spec.h"
#include "live/lease/lease_log.h"

namespace muster {

namespace {

constexpr double kDrift = 0.2;  // Relative difference from the profile that counts as drift.
// Factor above the highest measured CPU that is worth a measurement.
constexpr double kBeyond = 1.1;
constexpr std::int64_t kReach = 2;  // A curve that still rises may rise up to this factor.
constexpr std::size_t kMaxHopeless = 10'000;
constexpr std::int64_t kHopeAgainUs = 3'600'000'000;
constexpr int kMaxDrifts = 3;

// For comparisons with the profile, which need not be fast.
MeterOptions slow_meter(const MeterOptions& quick) {
  MeterOptions slow = quick;
  slow.bin = Duration::micros(quick.bin.us() * 5);
  slow.settle = Duration::micros(quick.settle.us() * 4);
  slow.least = Duration::micros(quick.least.us() * 6);
  slow.most = Duration::micros(quick.most.us() * 6);
  slow.wanted = 0.03;
  return slow;
}

std::int64_t most_cpu(const Roster& roster, const Placement& placement) {
  std::int64_t most = 0;
  for (const Share& share : placement) {
    most += roster.settings().topology.node(share.node).capacity.cpu_milli;
  }
  return most;
}

}  // namespace

bool Profiler::busy() const {
  return std::any_of(watched_.begin(), watched_.end(),
                     [](const auto& each) { return each.second.session.has_value(); });
}

void Profiler::let_go(LiveId id) {
  const auto found = watched_.find(id);
  if (found == watched_.end()) return;
  if (found->second.session) limit(id, found->second, found->second.cpu_milli);
  watched_.erase(found);
}

void Profiler::let_go() {
  while (!watched_.empty()) let_go(watched_.begin()->first);
}

void Profiler::look(const Roster& roster, std::span<const LearnedProfile> learned,
                    std::int64_t unix_us) {
  if (unix_us < std::exchange(last_us_, unix_us)) let_go();  // The clock was set back.
  std::erase_if(hopeless_, [&](const auto& each) { return each.second < unix_us - kHopeAgainUs; });
  std::set<LiveId> seen;
  measuring_.clear();
  for (const auto& [id, watched] : watched_) {
    if (watched.session) measuring_.insert(watched.key);
  }
  for (const LiveId id : roster.placed()) {
    const LiveJob* job = roster.find(id);
    if (job == nullptr || !job->lease || !job->lease->up || job->lease->stopping ||
        job->lease->trial || !job->row || !job->request.model.empty()) {
      continue;
    }
    seen.insert(id);
    auto found = watched_.find(id);
    if (found != watched_.end() && (found->second.lease != job->lease->number ||
                                    found->second.placement != job->lease->placement)) {
      watched_.erase(found);  // A new lease, or its limits were just set: start over.
      found = watched_.end();
    }
    if (found == watched_.end()) {
      Watched fresh{job->lease->number,
                    job->lease->placement,
                    total_of(job->lease->placement).cpu_milli,
                    profile_key(job->user, job->request),
                    StepWatch(files_.progress_path(part_name(id, job->lease->number))),
                    unix_us,
                    {},
                    {},
                    false};
      found = watched_.emplace(id, std::move(fresh)).first;
    }
    Watched& watched = found->second;
    const LearnedProfile* known = find_learned(learned, watched.key);
    if (!watched.session && !watched.meter) begin(*job, watched, known, unix_us);
    if (!watched.session && !watched.meter) continue;
    const Duration now = Duration::micros(unix_us - watched.zero_us);
    if (const std::optional<StepSeen> said = watched.steps.look()) {
      const Observation observed{Duration::micros(said->unix_us - watched.zero_us), said->step};
      if (watched.session) watched.session->take(observed);
      if (watched.meter) watched.meter->take(observed);
    }
    if (watched.session) {
      measure(roster, *job, watched, known, now, unix_us);
    } else if (known != nullptr) {
      compare(*job, watched, *known, now);
    }
  }
  std::erase_if(watched_, [&](const auto& each) { return !seen.contains(each.first); });
}

void Profiler::begin(const LiveJob& job, Watched& watched, const LearnedProfile* known,
                     std::int64_t unix_us) {
  if (hopeless_.contains(watched.key) || measuring_.contains(watched.key)) return;
  if (!job.lease->isolation.starts_with("cgroup")) {
    return give_up(job, watched,
                   "its speed cannot be measured because the kernel does not limit its CPU", known,
                   unix_us);
  }
  // Steps with another number of GPUs are not comparable.
  if (known != nullptr && known->measured.gpus != job.request.gpus) return;
  watched.zero_us = unix_us;
  const bool beyond =
      known != nullptr &&
      static_cast<double>(watched.cpu_milli) >
          kBeyond * static_cast<double>(known->measured.curve.points().back().cpu_milli);
  if (known == nullptr || beyond) {
    return start_session(watched, beyond ? known->measured.curve : SpeedCurve(), Duration());
  }
  if (drifts_[watched.key] >= kMaxDrifts) return;
  watched.meter.emplace(slow_meter(options_.meter));
  watched.meter->begin(Duration());
}

void Profiler::start_session(Watched& watched, SpeedCurve known, Duration now) {
  SessionOptions options = options_;
  options.full = watched.cpu_milli;
  options.least = std::max(kMinCpuMilli, watched.cpu_milli / 40);
  watched.session.emplace(options, std::move(known));
  watched.session->begin(now);
  measuring_.insert(watched.key);
}

void Profiler::limit(LiveId id, const Watched& watched, std::int64_t cpu_milli) {
  Placement placement = watched.placement;
  for (Share& share : placement) {
    share.cpu_milli = std::max(kMinCpuMilli, share.cpu_milli * cpu_milli / watched.cpu_milli);
  }
  limits_.push_back({id, watched.lease, std::move(placement)});
}

void Profiler::give_up(const LiveJob& job, const Watched& watched, const std::string& why,
                       const LearnedProfile* known, std::int64_t unix_us) {
  if (hopeless_.size() >= kMaxHopeless) hopeless_.clear();
  hopeless_[watched.key] = unix_us;
  findings_.push_back({job.id,
                       "not-profiled",
                       why + (known == nullptr ? "; it keeps its proportional share"
                                               : "; it keeps its current profile"),
                       {}});
}

void Profiler::measure(const Roster& roster, const LiveJob& job, Watched& watched,
                       const LearnedProfile* known, Duration now, std::int64_t unix_us) {
  Session& session = *watched.session;
  if (!session.look(now)) return;
  if (!session.over()) return limit(job.id, watched, session.cpu_milli());
  limit(job.id, watched, watched.cpu_milli);
  LearnedProfile learned;
  learned.user = job.user;
  learned.name = job.request.name;
  learned.measured.name = watched.key;
  learned.measured.gpus = job.request.gpus;
  learned.measured.curve = session.curve();
  learned.unix_s = unix_us / 1'000'000;
  learned.time = session.measured();
  if (known != nullptr) {  // Fields that this measurement cannot determine.
    learned.measured.data = known->measured.data;
    learned.measured.skew = known->measured.skew;
  }
  const std::optional<std::string> trouble = session.trouble();
  watched.session.reset();
  if (trouble && learned.measured.curve.points().size() < 2) {
    return give_up(job, watched, *trouble + ": its speed is unknown", known, unix_us);
  }
  // Optimistic while the curve still rises. If that is wrong, a later lease is measured there.
  const std::int64_t most = most_cpu(roster, watched.placement);
  if (!learned.measured.curve.is_flat() && watched.cpu_milli < most) {
    learned.measured.reach = std::min(most, kReach * watched.cpu_milli);
  }
  // Reports of jobs are untrusted, so validate the result like a profile from a user.
  if (const Result<LearnedProfile> sound = read_learned_profiles(learned_profile_json(learned));
      !sound.ok()) {
    return give_up(job, watched, "it reports impossible speeds", known, unix_us);
  }
  const std::string words = need_words(learned);
  findings_.push_back({job.id, "profiled", words, std::move(learned)});
}

// Needs two drifts in a row, because a single one may be a short disturbance.
void Profiler::compare(const LiveJob& job, Watched& watched, const LearnedProfile& known,
                       Duration now) {
  if (known.measured.gpus != job.request.gpus || !watched.meter->known(now)) return;
  const double is = watched.meter->rate()->steps_per_second;
  const double estimated = known.measured.curve.at(watched.cpu_milli);
  watched.meter->begin(now);
  const bool wide = estimated > 0 && std::abs(is / estimated - 1) > kDrift;
  if (!wide || !std::exchange(watched.wide_first, wide)) {
    watched.wide_first = wide;
    return;
  }
  const bool last = ++drifts_[watched.key] >= kMaxDrifts;
  findings_.push_back(
      {job.id,
       "drifted",
       fmt::format("runs at {:.3g} steps per second, but its profile predicts {:.3g}; {}", is,
                   estimated,
                   last ? "its speed changes too often for a profile" : "measuring again"),
       {}});
  watched.meter.reset();
  if (!last) start_session(watched, {}, now);
}

}  // namespace muster
