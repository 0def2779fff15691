// The notes about a plan: the causes of waits, the resources of starts, and the reasons of stops.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/text/text.h"
#include "engine/core/free_gpus.h"
#include "engine/roster/roster_notes.h"

namespace muster {

namespace {

constexpr std::int32_t kMaxWaitsTold = 30;  // Maximum wait notes per job.

std::string gpus_text(std::int64_t count) {
  return fmt::format("{} GPU{}", count, count == 1 ? "" : "s");
}

// The names that `muster why` uses.
const char* wait_cause_name(WaitCause cause) {
  switch (cause) {
    case WaitCause::kFairShare:
      return "quota";
    case WaitCause::kFragmentation:
      return "fragmentation";
    case WaitCause::kOrder:
      return "order";
    case WaitCause::kBackoff:
      return "back-off";
  }
  return "order";
}

bool overlap(const Placement& a, const Placement& b) {
  for (const Share& mine : a) {
    for (const Share& theirs : b) {
      if (mine.node == theirs.node && (mine.slots & theirs.slots) != 0) return true;
    }
  }
  return false;
}

}  // namespace

// Names of another job: for the reading user, and for operators.
struct RosterNotes::Names {
  std::string hidden;
  std::string full;  // Empty: the same.
};

// Data about a step that is shared by all waiting jobs and computed once.
struct RosterNotes::RoomNow {
  const FreeGpus& of(std::optional<GpuTypeId> type) {
    const auto [place, fresh] = by_type.try_emplace(type ? static_cast<int>(type->index()) : -1);
    if (fresh) place->second = count_free_gpus(engine, type);
    return place->second;
  }

  std::int64_t held_by(TenantId tenant) {
    const auto [place, fresh] = by_tenant.try_emplace(tenant);
    if (!fresh) return place->second;
    for (const JobId job : state.placed) {
      const Job& row = state.jobs[job];
      if (row.spec.tenant != tenant) continue;
      place->second += state.leases[static_cast<std::size_t>(row.lease)].total.gpus;
    }
    return place->second;
  }

  const EngineView& engine;
  const State& state;
  std::vector<JobId> class_heads;  // Sorted.
  std::optional<JobId> next;       // First job in the queue.
  std::map<int, FreeGpus> by_type = {};
  std::map<TenantId, std::int64_t> by_tenant = {};
};

RosterNotes::Names RosterNotes::names_for(const LiveJob& reader, const LiveJob& other) const {
  std::string full = fmt::format("job {}", other.id);
  if (!other.tenant.empty() && other.tenant != reader.tenant) full += " of " + other.tenant;
  const bool known = other.uid != kNoUid && reader.uid != kNoUid;
  if (known ? other.uid == reader.uid : other.user == reader.user) return {full, ""};
  return {"another user's job", full};
}

void RosterNotes::forget_notes() {
  notes_.clear();
  touched_.clear();
  gains_.clear();
}

void RosterNotes::sort_touched() {
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
}

void RosterNotes::note(const LiveJob& job, const char* kind, std::string words) {
  notes_.push_back({job.id, kind, std::move(words)});
  touch(job.id);
}

void RosterNotes::note_of_node(NodeId node, const char* kind, const std::string& words) {
  const std::string& name = world_->settings.topology.node(node).name;
  notes_.push_back({0, kind, brief(name + " " + words), {}, "", name});
}

void RosterNotes::begin_wait(LiveJob& job, Duration pause) {
  job.told_wait.clear();
  job.waits_since = now_ + pause;
  const bool rounds = world_->settings.engine.round > Duration();
  new_waits_.push_back({job.id, rounds && !job.leases_used ? engine_->counters().plans : 0});
}

void RosterNotes::say_wait(LiveJob& job, WaitFacts facts, std::string words, std::string full) {
  job.told_wait = facts.cause;
  if (++job.waits_told > kMaxWaitsTold) return;
  notes_.push_back({job.id, "waits", std::move(words), std::move(facts), std::move(full)});
}

// The job waits for something outside the engine.
void RosterNotes::tell_blocked(LiveJob& job) {
  const std::string words =
      job.waits_for > 0 ? fmt::format("for {} other job{} to finish", job.waits_for,
                                      job.waits_for == 1 ? "" : "s")
                        : fmt::format("for its turn: its array runs {} at a time", job.at_once);
  say_wait(job, {"dependency"}, words, "");
}

void RosterNotes::tell_waits() {
  const std::uint64_t plans = engine_->counters().plans;
  const bool planned = std::exchange(plans_told_, plans) != plans;
  if (!planned && new_waits_.empty()) return;
  RoomNow room{*engine_, engine_->state(), engine_->class_heads(), std::nullopt};
  if (!room.class_heads.empty()) room.next = room.class_heads.front();
  std::sort(room.class_heads.begin(), room.class_heads.end());
  std::vector<NewWait> later;
  for (const NewWait& each : std::exchange(new_waits_, {})) {
    const auto found = jobs_.find(each.id);
    if (found == jobs_.end() || found->second.end || !found->second.row || found->second.lease) {
      continue;
    }
    const JobId row = *found->second.row;
    const bool backing_off = room.state.jobs[row].state == JobState::kBackOff;
    if (backing_off || (each.plans != 0 && each.plans == plans)) {
      later.push_back(each);
    } else {
      tell_wait(found->second, room);
    }
  }
  new_waits_ = std::move(later);
  if (!planned) return;
  for (const auto& [gainer, loser] : gains_) {
    if (const auto found = jobs_.find(gainer); found != jobs_.end()) tell_wait(found->second, room);
  }
  for (const JobId row : room.class_heads) {
    const auto found = jobs_.find(live_of_[row.index()]);
    if (found != jobs_.end() && found->second.row == row) tell_wait(found->second, room);
  }
}

// Returns the cause whose time is increasing now.
WaitCause RosterNotes::cause_now(JobId row) const {
  const WaitSplit before = engine_->waited(row, now_);
  const WaitSplit after = engine_->waited(row, now_ + Duration::micros(1));
  for (std::size_t i = 0; i < kWaitCauses; ++i) {
    if (after.by_cause[i] > before.by_cause[i]) return static_cast<WaitCause>(i);
  }
  return WaitCause::kOrder;
}

void RosterNotes::tell_wait(LiveJob& job, RoomNow& room) {
  if (job.end || job.lease || !job.row || job.withdrawn) return;
  const Job& row = room.state.jobs[*job.row];
  if (row.state == JobState::kPlaced) return tell_promise(job);
  if (row.state != JobState::kWaiting) return;
  const FreeGpus here = room.of(row.spec.gpu_type).seen_by(*job.row);
  const std::int32_t needs = row.spec.gpus;
  const bool first = std::binary_search(room.class_heads.begin(), room.class_heads.end(), *job.row);
  const WaitCause known = cause_now(*job.row);
  const bool short_of_gpus = first && here.unheld() < needs;
  const char* cause = wait_cause_name(known);
  if (known == WaitCause::kOrder && short_of_gpus) {
    cause = here.unheld() + here.closed >= needs ? "nodes" : "gpus";
  }
  if (job.told_wait == cause) return;
  std::vector<std::string> closed_names;
  for (const NodeId node : here.closed_nodes) {
    closed_names.push_back(world_->settings.topology.node(node).name);
  }
  // With fragmentation as the cause, reserved GPUs count as free.
  const std::int32_t free = known == WaitCause::kFragmentation ? here.unheld() : here.free;
  std::string words = fmt::format("needs {}, {} of {} {} free", gpus_text(needs), free, here.all,
                                  free == 1 ? "is" : "are");
  std::string full;
  if (known == WaitCause::kFairShare && world_->settings.tenants) {
    const Tenant& tenant = (*world_->settings.tenants)[row.spec.tenant];
    words += fmt::format("; {} holds {} and is entitled to {}", tenant.name,
                         room.held_by(row.spec.tenant), tenant.quota);
  } else if (known == WaitCause::kBackoff) {
    words += "; it found no placement and backs off";
  } else if (known == WaitCause::kFragmentation) {
    words +=
        fmt::format(", but not in a usable placement: at most {} on one node", here.most_on_one);
  } else if (!short_of_gpus) {
    const auto next = room.next ? jobs_.find(live_of_[room.next->index()]) : jobs_.end();
    if (next != jobs_.end() && next->second.id != job.id) {
      const Names names = names_for(job, next->second);
      if (!names.full.empty()) full = fmt::format("{}; {} is ahead of it", words, names.full);
      words += fmt::format("; {} is ahead of it", names.hidden);
    }
  } else if (here.closed > 0) {
    words += fmt::format(", {} on unschedulable nodes: {}", here.closed, first_few(closed_names));
  } else if (needs > 1) {
    words += fmt::format(", at most {} on one node", here.most_on_one);
  }
  const std::size_t others = room.state.waiting - 1;
  const std::string last = others == 0   ? ""
                           : others == 1 ? "; 1 other job waits"
                                         : fmt::format("; {} other jobs wait", others);
  if (!full.empty()) full += last;
  WaitFacts facts{cause, WaitFacts::Room{needs, free, here.all, here.most_on_one, others,
                                         here.closed, std::move(closed_names)}};
  say_wait(job, std::move(facts), words + last, std::move(full));
}

// Its GPUs are chosen, but the jobs on them have not stopped yet.
void RosterNotes::tell_promise(LiveJob& job) {
  if (job.told_wait == "promised") return;
  const std::string where_to = where(engine_->lease(*job.row).placement);
  Names names{"other jobs there", ""};
  bool one = false;
  const auto gain = gains_.find(job.id);
  if (gain != gains_.end()) {
    names = names_for(job, jobs_.at(gain->second));
    one = true;
  }
  const auto sentence = [&](const std::string& who) {
    return fmt::format("gets {} when {} {} stopped", where_to, who, one ? "has" : "have");
  };
  say_wait(job, {"promised"}, sentence(names.hidden),
           names.full.empty() ? "" : sentence(names.full));
}

// The text omits the parts that have their default; the facts name all parts.
std::string RosterNotes::say_by_what() const {
  const PlannerOptions& planner = world_->settings.planner;
  if (!std::holds_alternative<std::monostate>(planner.whole)) return "the scheduler";
  std::string by = planner.parts.policy;
  if (planner.parts.mechanism != SchedulerParts().mechanism) by += ", " + planner.parts.mechanism;
  if (planner.parts.placement != SchedulerParts().placement) by += ", " + planner.parts.placement;
  return by;
}

void RosterNotes::tell_start(LiveJob& job, const Placement& placement) {
  const Resources total = total_of(placement);
  const double cpus = static_cast<double>(total.cpu_milli) / 1'000;
  const double mem = static_cast<double>(total.mem_mib) / 1'024;
  const Duration waited = std::max(now_ - job.waits_since, Duration());
  const WaitSplit of_row = engine_->waited(*job.row, now_);
  WaitSplit split = job.waited;
  split += of_row;
  job.waited = WaitSplit();
  job.waited -= of_row;  // The next wait starts at zero.
  const bool immediate = std::exchange(job.told_wait, "").empty();
  Duration rest = waited;
  std::vector<std::string> parts;
  constexpr std::array<const char*, kWaitCauses> kFor = {
      "above its tenant's entitlement", "due to fragmentation", "for GPUs", "backing off"};
  for (std::size_t i = 0; i < kWaitCauses; ++i) rest -= split.by_cause[i];
  split[WaitCause::kOrder] = std::max(split[WaitCause::kOrder] + rest, Duration());
  job.waited_for_lease = split;
  for (std::size_t i = 0; i < kWaitCauses; ++i) {
    if (split.by_cause[i] < Duration::seconds(1)) continue;
    parts.push_back(fmt::format("{} {}", rough(split.by_cause[i]), kFor[i]));
  }
  std::string words = fmt::format("gets {} with {:.4g} CPU{}, {:.4g} GiB by {}", where(placement),
                                  cpus, cpus == 1 ? "" : "s", mem, say_by_what());
  if (parts.size() > 1) {
    words += fmt::format(" after {}: {}", rough(waited), fmt::join(parts, ", "));
  } else if (parts.size() == 1) {
    words += " after " + parts.front();
  } else {
    words += immediate ? " immediately" : " after less than 1 s";
  }
  const SchedulerParts& by = world_->settings.planner.parts;
  notes_.push_back({job.id, "starting", std::move(words),
                    StartFacts{total, by.policy, by.mechanism, by.placement, waited, split}});
  touch(job.id);
}

// Returns the first job that is promised GPUs of a stopping job. A lease waits for all jobs that
// stop on its nodes, so jobs that take none of these GPUs are skipped.
const LiveJob* RosterNotes::find_gainer(JobId stopped) const {
  const State& state = engine_->state();
  const std::int32_t ending = state.jobs[stopped].ending;
  if (ending == kNoRow) return nullptr;
  const Lease& lease = state.leases[static_cast<std::size_t>(ending)];
  for (const Lease::Blocked& each : lease.blocked) {
    const std::int32_t row = state.jobs[each.job].lease;
    if (each.job == stopped || row == kNoRow) continue;
    if (!overlap(state.leases[static_cast<std::size_t>(row)].placement, lease.placement)) continue;
    const LiveJob* job = find(live_of_[each.job.index()]);
    if (job != nullptr && job->row == each.job) return job;
  }
  return nullptr;
}

void RosterNotes::tell_stop(LiveJob& job) {
  const State& state = engine_->state();
  const LiveJob* gainer = find_gainer(*job.row);
  if (gainer == nullptr) {
    const bool moves = state.jobs[*job.row].lease != kNoRow;
    return note(job, "preempting",
                moves ? "stopping: it resumes on " + where(engine_->lease(*job.row).placement)
                      : "stopping: the scheduler reassigns its GPUs");
  }
  gains_[gainer->id] = job.id;
  const std::int32_t lent = total_of(job.lease->placement).gpus;
  std::string why = "is ahead of it by " + world_->settings.planner.parts.policy;
  if (state.jobs[*gainer->row].spec.tenant != state.jobs[*job.row].spec.tenant) {
    why = fmt::format("reclaims {} lent GPU{}", lent, lent == 1 ? "" : "s");
  } else if (gainer->request.priority > job.request.priority) {
    why = fmt::format("has priority {}; this job has {}", gainer->request.priority,
                      job.request.priority);
  }
  const Names names = names_for(job, *gainer);
  const auto sentence = [&](const std::string& who) {
    return who.empty() ? "" : fmt::format("stopping for {}, which {}", who, why);
  };
  note(job, "preempting", sentence(names.hidden));
  notes_.back().full = sentence(names.full);
}

}  // namespace muster
