#include "live/profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "shim/spec.h"

namespace muster {

namespace {

constexpr double kDrift = 0.2;      // Another speed than this far from what is believed.
constexpr double kBeyond = 1.1;     // Of the most CPU measured: worth a look.
constexpr std::int64_t kReach = 2;  // Where it is still rising, it may be so up to here.
constexpr std::size_t kMostHopeless = 10'000;
const char* const kFallback = "; it keeps its proportional share";

// To hold its speed against what is known; not in a hurry.
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

void Profiler::look(const Roster& roster, std::span<const Learnt> learnt, std::int64_t unix_us) {
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
    const std::int64_t cpu = total_of(job->lease->placement).cpu_milli;
    auto found = watched_.find(id);
    if (found != watched_.end() &&
        (found->second.lease != job->lease->number || found->second.cpu_milli != cpu)) {
      watched_.erase(found);  // Another lease, or its limits were just set: begin anew.
      found = watched_.end();
    }
    const std::string key = profile_key(job->user, job->request);
    const Learnt* known = find_learnt(learnt, key);
    if (found == watched_.end()) {
      Watched fresh{
          job->lease->number,
          cpu,
          key,
          StepWatch(fmt::format("{}/j{}.e{}/progress.jsonl", leases_, id, job->lease->number)),
          unix_us,
          {},
          {},
          false};
      found = watched_.emplace(id, std::move(fresh)).first;
    }
    Watched& watched = found->second;
    const Duration now = Duration::micros(unix_us - watched.zero_us);
    if (!watched.session && !watched.meter) begin(*job, watched, known, unix_us);
    if (!watched.session && !watched.meter) continue;
    if (const std::optional<StepSeen> said = watched.steps.look()) {
      const Observation observed{Duration::micros(said->unix_us - watched.zero_us), said->step};
      if (watched.session) watched.session->take(observed);
      if (watched.meter) watched.meter->take(observed);
    }
    if (watched.session) {
      measure(*job, watched, now, unix_us);
      if (!findings_.empty() && findings_.back().id == id && findings_.back().learnt) {
        const std::int64_t most = most_cpu(roster, job->lease->placement);
        MeasuredProfile& measured = findings_.back().learnt->measured;
        // Optimistic where it is still rising: if that turns out wrong, it is measured there.
        if (!measured.curve.is_flat() && cpu < most) measured.reach = std::min(most, kReach * cpu);
        findings_.back().words = need_words(*findings_.back().learnt);
      }
    } else if (known != nullptr) {
      compare(*job, watched, *known, now);
    }
  }
  std::erase_if(watched_, [&](const auto& each) { return !seen.contains(each.first); });
}

void Profiler::begin(const LiveJob& job, Watched& watched, const Learnt* known,
                     std::int64_t unix_us) {
  if (hopeless_.contains(watched.key) || measuring_.contains(watched.key)) return;
  if (!job.lease->isolation.starts_with("cgroup")) {
    if (hopeless_.size() >= kMostHopeless) hopeless_.clear();
    hopeless_.insert(watched.key);
    findings_.push_back({job.id,
                         "not-profiled",
                         std::string("its speed cannot be measured, since its CPU is not limited "
                                     "by the kernel") +
                             kFallback,
                         {}});
    return;
  }
  // On another number of GPUs it makes other steps: nothing to compare.
  if (known != nullptr && known->measured.gpus != job.request.gpus) return;
  watched.zero_us = unix_us;
  const bool beyond =
      known != nullptr &&
      static_cast<double>(watched.cpu_milli) >
          kBeyond * static_cast<double>(known->measured.curve.points().back().cpu_milli);
  if (known != nullptr && !beyond) {
    watched.meter.emplace(slow_meter(options_.meter));
    watched.meter->begin(Duration());
    return;
  }
  start_session(watched, beyond ? known->measured.curve : SpeedCurve(), Duration());
}

void Profiler::start_session(Watched& watched, SpeedCurve known, Duration now) {
  SessionOptions options = options_;
  options.full = watched.cpu_milli;
  options.least = std::max(kLeastCpuMilli, watched.cpu_milli / 40);
  watched.session.emplace(options, std::move(known));
  watched.session->begin(now);
  measuring_.insert(watched.key);
}

void Profiler::limit(const LiveJob& job, const Watched& watched, std::int64_t cpu_milli) {
  Placement placement = job.lease->placement;
  for (Share& share : placement) {
    share.cpu_milli = std::max(kLeastCpuMilli, share.cpu_milli * cpu_milli / watched.cpu_milli);
  }
  limits_.push_back({job.id, watched.lease, std::move(placement)});
}

void Profiler::measure(const LiveJob& job, Watched& watched, Duration now, std::int64_t unix_us) {
  Session& session = *watched.session;
  if (!session.look(now)) return;
  if (!session.over()) return limit(job, watched, session.cpu_milli());
  limit(job, watched, watched.cpu_milli);
  Finding finding{job.id, "profiled", "", {}};
  if (session.trouble()) {
    if (hopeless_.size() >= kMostHopeless) hopeless_.clear();
    hopeless_.insert(watched.key);
    finding.kind = "not-profiled";
    finding.words = *session.trouble() + ": its speed is not known" + kFallback;
  } else {
    Learnt learnt;
    learnt.user = job.user;
    learnt.name = job.request.name;
    learnt.measured.name = watched.key;
    learnt.measured.gpus = job.request.gpus;
    learnt.measured.curve = session.curve();
    learnt.unix_s = unix_us / 1'000'000;
    learnt.time = session.measured();
    finding.learnt = std::move(learnt);
  }
  findings_.push_back(std::move(finding));
  watched.session.reset();
}

// Twice in a row, since a moment of trouble is no change.
void Profiler::compare(const LiveJob& job, Watched& watched, const Learnt& known, Duration now) {
  if (!watched.meter->known(now)) return;
  const double is = watched.meter->rate()->steps_per_second;
  const double believed = known.measured.curve.at(watched.cpu_milli);
  watched.meter->begin(now);
  const bool wide = believed > 0 && std::abs(is / believed - 1) > kDrift;
  if (!wide || !std::exchange(watched.wide_first, wide)) {
    watched.wide_first = wide;
    return;
  }
  findings_.push_back({job.id,
                       "drifted",
                       fmt::format("makes {:.3g} steps a second where its profile says {:.3g}; "
                                   "it is measured again",
                                   is, believed),
                       {}});
  watched.meter.reset();
  start_session(watched, {}, now);
}

}  // namespace muster
