#include "live/query/past_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "engine/roster/placement_text.h"
#include "live/store/job_reader.h"
#include "live/views/answers.h"
#include "live/views/job_owner.h"

namespace muster {

namespace {

constexpr std::size_t kMaxCaused = 10'000;  // Maximum number of jobs whose wait causes are read.
constexpr const char* kRunning = "running";
constexpr const char* kOver = "over";  // Any final state.

std::string tenant_of(const std::string& name) { return std::string(tenant_or_default(name)); }

Result<JobReader> open_reader(const PastWindow& look) {
  Result<JobReader> reader = JobReader::open(look.database);
  if (!reader.ok()) return reader;
  if (const MaybeError refusal = reader.value().expect_many()) return *refusal;
  if (const MaybeError refusal = reader.value().hold_still()) return *refusal;
  return reader;
}

std::string last_leases(std::size_t count) {
  return fmt::format("only the last {} lease{} in this period", count, count == 1 ? "" : "s");
}

// Returns the index into LeaseTimeline::causes for the event of a start.
std::uint32_t cause_in(const std::string& event) {
  constexpr double kShortest = 1;  // In seconds; a shorter wait does not count.
  const nlohmann::json told = nlohmann::json::parse(event, nullptr, false);
  if (!told.is_object() || !told.contains("facts")) return 0;
  const nlohmann::json& facts = told["facts"];
  if (!facts.is_object() || !facts.contains("waited_for_s")) return 0;
  std::uint32_t cause = 1;
  double most = kShortest;
  for (std::size_t i = 0; i < kWaitCauses; ++i) {
    const double waited = facts["waited_for_s"].value(std::string(kWaitCauseNames[i]), 0.0);
    if (waited < most) continue;
    most = waited;
    cause = static_cast<std::uint32_t>(i) + 2;
  }
  return cause;
}

// Maps each name to its index in a growing list.
class Places {
 public:
  explicit Places(std::vector<std::string>& names) : names_(names) {}
  std::uint32_t of(const std::string& name) {
    const auto [at, fresh] = places_.emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (fresh) names_.push_back(name);
    return at->second;
  }

 private:
  std::vector<std::string>& names_;
  std::map<std::string, std::uint32_t, std::less<>> places_;
};

class TimelineMaker {
 public:
  explicit TimelineMaker(const PastWindow& look);

  void add(AttemptSpan&& lease, JobReader& reader);
  void add(const JobSpan& job);
  // Adds the wait causes of jobs before their first lease. Call it after the leases.
  MaybeError add_causes(JobReader& reader);
  LeaseTimeline finish() &&;
  const TimeWindow& window() const { return window_; }

 private:
  struct Piece {  // GPUs on one node, whose rows of the drawing are not assigned yet.
    std::uint32_t node = 0;
    std::uint64_t gpus = 0;
    TimelineBar bar;
  };
  Instant date(Instant at) const { return Instant::micros(look_.born_unix_us + at.us()); }
  std::uint32_t node(std::string_view name);
  std::uint32_t job(const AttemptSpan& lease, JobReader& reader);

  const PastWindow& look_;
  TimeWindow window_;
  LeaseTimeline timeline_;
  Places tenants_{timeline_.tenants}, ends_{timeline_.ends};
  std::map<std::string, std::uint32_t, std::less<>> nodes_;
  std::unordered_map<std::uint64_t, std::uint32_t> jobs_;
  std::vector<Piece> pieces_;
  std::vector<TimelineLoad> changes_;     // In any order.
  std::size_t leases_ = 0, nowhere_ = 0;  // Ended leases; leases without valid nodes.
  std::int64_t gpus_ = 0;                 // Total of all leases.
  bool full_ = false;
};

TimelineMaker::TimelineMaker(const PastWindow& look) : look_(look) {
  window_ = {date(look.window.begin), date(look.window.end)};
  timeline_.whole = {date(look.whole.begin), date(look.whole.end)};
  timeline_.dates = true;
  timeline_.gpus = look.gpus;
  timeline_.causes = {"not known", "did not wait"};
  timeline_.causes.insert(timeline_.causes.end(), kWaitCauseNames.begin(), kWaitCauseNames.end());
  timeline_.nodes = look.nodes;
  for (std::size_t i = 0; i < look.nodes.size(); ++i) {
    nodes_.emplace(look.nodes[i].name, static_cast<std::uint32_t>(i));
  }
  for (const UsageTenant& tenant : look.tenants) tenants_.of(tenant.name);
}

// Nodes that no longer exist follow the others.
std::uint32_t TimelineMaker::node(std::string_view name) {
  const auto found = nodes_.find(name);
  if (found != nodes_.end()) return found->second;
  const auto place = static_cast<std::uint32_t>(timeline_.nodes.size());
  timeline_.nodes.push_back({std::string(name), 0});
  nodes_.emplace(name, place);
  return place;
}

std::uint32_t TimelineMaker::job(const AttemptSpan& lease, JobReader& reader) {
  const auto [at, fresh] =
      jobs_.emplace(lease.job, static_cast<std::uint32_t>(timeline_.jobs.size()));
  if (fresh) {
    TimelineJob job;
    JobOwner owner{lease.user, kNoUid, lease.tenant};
    // Only the row has the uid, which matters only for the caller's own name.
    if (lease.user == look_.caller.user && !may_see_all(look_.caller)) {
      const Result<std::optional<JobRow>> row = reader.job(lease.job);
      if (row.ok() && row.value()) owner.uid = owner_of(*row.value()).uid;
    }
    if (may_see(look_.caller, owner)) job.id = std::to_string(lease.job);
    if (may_name(look_.caller, owner)) {
      job.name = lease.name;
      job.user = lease.user;
    }
    job.tenant = tenants_.of(tenant_of(lease.tenant));
    timeline_.jobs.push_back(std::move(job));
  }
  return at->second;
}

void TimelineMaker::add(AttemptSpan&& lease, JobReader& reader) {
  full_ = full_ || gpus_ >= look_.most_gpus;
  if (full_) return;
  const std::vector<PlacedOn> places = read_placed(lease.nodes);
  if (lease.ended) ++leases_;
  if (places.empty()) {
    ++nowhere_;
    return;
  }
  const Instant end = date(lease.ended.value_or(look_.whole.end));
  const std::uint32_t drawn = job(lease, reader);
  const bool shown = !timeline_.jobs[drawn].id.empty();
  const std::string how = !lease.ended ? kRunning : shown ? lease.state : kOver;
  TimelineBar bar{0, drawn, ends_.of(how), date(lease.started), std::max(end, date(lease.started))};
  std::int32_t gpus = 0;
  for (const PlacedOn& place : places) {
    const std::uint32_t at = node(place.node);
    pieces_.push_back({at, place.gpus, bar});
    gpus += std::popcount(place.gpus);
    std::int32_t& seen = timeline_.nodes[at].gpus;
    seen = std::max(seen, static_cast<std::int32_t>(std::bit_width(place.gpus)));
  }
  gpus_ += gpus;
  std::int32_t& most = timeline_.jobs[bar.job].gpus;
  most = std::max(most, gpus);
  changes_.push_back({bar.begin, static_cast<double>(gpus), 0});
  if (lease.ended) changes_.push_back({bar.end, static_cast<double>(-gpus), 0});
}

// A job waits until its first lease is up.
void TimelineMaker::add(const JobSpan& job) {
  changes_.push_back({date(job.submitted), 0, 1});
  const std::optional<Instant> until = job.started ? job.started : job.ended;
  if (until) changes_.push_back({date(*until), 0, -1});
}

MaybeError TimelineMaker::add_causes(JobReader& reader) {
  if (jobs_.size() > kMaxCaused) return std::nullopt;
  for (const auto& [id, place] : jobs_) {
    // Only callers who may see the job may see why it waited.
    if (timeline_.jobs[place].id.empty()) continue;
    const Result<std::string> told = reader.first_start(id);
    if (!told.ok()) return told.error();
    timeline_.jobs[place].cause = cause_in(told.value());
  }
  return std::nullopt;
}

LeaseTimeline TimelineMaker::finish() && {
  std::vector<std::uint32_t> first;
  std::uint32_t row = 0;
  for (const TimelineNode& node : timeline_.nodes) {
    first.push_back(row);
    row += static_cast<std::uint32_t>(node.gpus);
  }
  for (Piece& piece : pieces_) {
    for (std::uint64_t left = piece.gpus; left != 0; left &= left - 1) {
      piece.bar.row = first[piece.node] + static_cast<std::uint32_t>(std::countr_zero(left));
      timeline_.bars.push_back(piece.bar);
    }
  }
  sort_bars(timeline_);
  timeline_.load = load_of(std::move(changes_));
  if (full_ || leases_ == look_.most_leases) {
    timeline_.missing = last_leases(leases_);
  } else if (nowhere_ > 0) {
    timeline_.missing = fmt::format("excludes {} lease{} on more nodes than their rows can store",
                                    nowhere_, nowhere_ == 1 ? "" : "s");
  }
  return std::move(timeline_);
}

// Facts of the usage screen from leases and jobs of the past, by date.
class UsageMaker {
 public:
  UsageMaker(const PastWindow& look, std::size_t points) : look_(look) {
    facts_.window = {date(look.window.begin), date(look.window.end)};
    facts_.points = points;
    facts_.gpus = look.gpus;
    facts_.tenants = look.tenants;
    facts_.holders = look.holders;
    for (UsageHolder& holder : facts_.holders) holder.since = date(holder.since);
    for (const UsageTenant& tenant : facts_.tenants) {
      places_.emplace(tenant.name, static_cast<std::uint32_t>(places_.size()));
    }
  }

  void add(const AttemptSpan& lease) {
    if (lease.ended) {
      ++over_;
      oldest_ = date(*lease.ended);
    }
    std::int64_t gpus = 0;
    const std::vector<PlacedOn> on = read_placed(lease.nodes);
    if (on.empty()) ++nowhere_;
    for (const PlacedOn& one : on) gpus += std::popcount(one.gpus);
    facts_.holds.push_back({place(lease.tenant), date(lease.started),
                            date(lease.ended.value_or(look_.whole.end)), gpus});
  }
  void add(const JobSpan& job) {
    facts_.work.push_back(
        {place(job.tenant), date(job.submitted), date(job.ended.value_or(look_.whole.end))});
  }

  const UsageFacts& finish() {
    if (over_ == look_.most_leases) {  // Some older leases are missing.
      facts_.window.begin = std::max(facts_.window.begin, oldest_);
      facts_.missing = last_leases(over_) + ", so the window starts later";
    }
    if (nowhere_ > 0) {
      facts_.missing +=
          fmt::format("{}excludes {} lease{} on more nodes than their rows can store",
                      facts_.missing.empty() ? "" : "; ", nowhere_, nowhere_ == 1 ? "" : "s");
    }
    // Each step must have a positive length.
    const auto shortest = Duration::micros(static_cast<std::int64_t>(facts_.points));
    facts_.window.end = std::max(facts_.window.end, facts_.window.begin + shortest);
    return facts_;
  }

 private:
  Instant date(Instant at) const { return Instant::micros(look_.born_unix_us + at.us()); }
  // A tenant that was renamed or removed has no known quota.
  std::uint32_t place(const std::string& name) {
    const auto next = static_cast<std::uint32_t>(facts_.tenants.size());
    const auto [at, fresh] = places_.emplace(tenant_of(name), next);
    if (fresh) facts_.tenants.push_back({tenant_of(name), std::nullopt, 0, 0, 0, 0, false});
    return at->second;
  }

  const PastWindow& look_;
  UsageFacts facts_;
  std::map<std::string, std::uint32_t> places_;  // Index of a tenant, by name.
  std::size_t over_ = 0;
  std::size_t nowhere_ = 0;
  Instant oldest_;  // End of the oldest one.
};

}  // namespace

Result<Answer> timeline_answer(const PastWindow& look) {
  Result<JobReader> reader = open_reader(look);
  if (!reader.ok()) return unreadable(reader.error());
  TimelineMaker maker(look);
  MaybeError refusal = reader.value().for_each_lease_in(
      look.window.begin, look.window.end, look.most_leases,
      [&](AttemptSpan&& lease) { maker.add(std::move(lease), reader.value()); });
  if (!refusal) {
    refusal = reader.value().for_each_job_in(look.window.begin, look.window.end,
                                             [&](JobSpan&& job) { maker.add(job); });
  }
  if (!refusal) refusal = maker.add_causes(reader.value());
  if (refusal) return unreadable(*refusal);
  const TimeWindow window = maker.window();
  Answer answer;
  answer.body = timeline_json(std::move(maker).finish(), window);
  return answer;
}

Result<Answer> usage_answer(const PastWindow& look, std::size_t points) {
  Result<JobReader> reader = open_reader(look);
  if (!reader.ok()) return unreadable(reader.error());
  UsageMaker maker(look, points);
  MaybeError refusal =
      reader.value().for_each_lease_in(look.window.begin, look.window.end, look.most_leases,
                                       [&](AttemptSpan&& lease) { maker.add(lease); });
  if (!refusal) {
    refusal = reader.value().for_each_job_in(look.window.begin, look.window.end,
                                             [&](JobSpan&& job) { maker.add(job); });
  }
  if (refusal) return unreadable(*refusal);
  Answer answer;
  answer.body = usage_json(maker.finish());
  return answer;
}

}  // namespace muster
