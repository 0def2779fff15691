// What people are told of a plan: what stops a job that waits, what one starts with, and for whom
// one has to stop. Only told, never asked: nothing here changes a decision.
//
// A plan looks at one waiting job of each kind, so only those are looked at here too, and those
// that have just begun to wait: a step costs the same however long the queue is.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "live/roster.h"

namespace muster {

namespace {

constexpr std::int32_t kMostWaitsTold = 30;  // Of one job.

std::string gpus_text(std::int64_t count) {
  return fmt::format("{} GPU{}", count, count == 1 ? "" : "s");
}

std::string quoted_list(const std::vector<std::string>& names) {
  return nlohmann::json(names).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// As `muster why` calls them.
const char* name_of(WaitCause cause) {
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

// How another job is called: to the user of one, and to operators.
struct Roster::Names {
  std::string hidden;
  std::string full;  // Empty: the same.
};

// What all who wait in a step have in common, found out once.
struct Roster::RoomNow {
  struct OfType {
    std::int32_t all = 0;
    std::int32_t free = 0;
    std::int32_t most = 0;  // On one server.
    std::int32_t closed = 0;
    std::vector<std::string> closed_names;
  };

  const OfType& of(std::optional<GpuTypeId> type) {
    const auto [place, fresh] = by_type.try_emplace(type ? static_cast<int>(type->index()) : -1);
    if (!fresh) return place->second;
    OfType& room = place->second;
    const Topology& topology = state.cluster->topology();
    for (std::size_t i = 0; i < topology.node_count(); ++i) {
      const NodeId node(i);
      if (type && topology.node(node).gpu_type != *type) continue;
      room.all += topology.node(node).capacity.gpus;
      room.free += state.books.free_gpus(node);
      room.most = std::max(room.most, state.books.free_gpus(node));
      if (state.closed[node] == 0) continue;
      room.closed += std::popcount(state.blocked[node].slots);
      room.closed_names.push_back(topology.node(node).name);
    }
    return room;
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

  const State& state;
  std::vector<JobId> fronts;  // Sorted.
  std::optional<JobId> next;  // Who is served first.
  std::map<int, OfType> by_type = {};
  std::map<TenantId, std::int64_t> by_tenant = {};
};

Roster::Names Roster::names_for(const LiveJob& reader, const LiveJob& other) const {
  std::string full = fmt::format("job {}", other.id);
  if (!other.tenant.empty() && other.tenant != reader.tenant) full += " of " + other.tenant;
  if (other.user == reader.user) return {full, ""};
  return {"another user's job", full};
}

void Roster::begin_wait(LiveJob& job, Duration pause) {
  job.told_wait.clear();
  job.waits_since = now_ + pause;
  const bool rounds = world_->settings.engine.round > Duration();
  new_waits_.push_back({job.id, rounds && !job.leases_used ? engine_->counters().plans : 0});
}

void Roster::say_wait(LiveJob& job, const char* cause, std::string facts, std::string words,
                      std::string full) {
  job.told_wait = cause;
  if (++job.waits_told > kMostWaitsTold) return;
  notes_.push_back({job.id, "waits", std::move(words), std::move(facts), std::move(full)});
}

// By what is no business of the engine.
void Roster::tell_blocked(LiveJob& job) {
  const std::string words = job.waits_for > 0
                                ? fmt::format("for {} other job{} to end first", job.waits_for,
                                              job.waits_for == 1 ? "" : "s")
                                : fmt::format("its turn: its array runs {} at a time", job.at_once);
  say_wait(job, "dependency", R"({"cause":"dependency"})", words, "");
}

void Roster::tell_waits() {
  const std::uint64_t plans = engine_->counters().plans;
  const bool planned = std::exchange(plans_told_, plans) != plans;
  if (!planned && new_waits_.empty()) return;
  RoomNow room{engine_->state(), engine_->fronts(), std::nullopt};
  if (!room.fronts.empty()) room.next = room.fronts.front();
  std::sort(room.fronts.begin(), room.fronts.end());
  std::vector<NewWait> later;
  for (const NewWait& each : std::exchange(new_waits_, {})) {
    const auto found = jobs_.find(each.id);
    if (found == jobs_.end() || found->second.end || !found->second.row || found->second.lease) {
      continue;
    }
    const JobId row = *found->second.row;
    const bool parked = room.state.jobs[row].state == JobState::kParked;
    if (parked || (each.plans != 0 && each.plans == plans)) {
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
  for (const JobId row : room.fronts) {
    const auto found = jobs_.find(live_of_[row.index()]);
    if (found != jobs_.end() && found->second.row == row) tell_wait(found->second, room);
  }
}

// The one whose time passes now.
WaitCause Roster::cause_now(JobId row) const {
  const WaitSplit before = engine_->waited(row, now_);
  const WaitSplit after = engine_->waited(row, now_ + Duration::micros(1));
  for (std::size_t i = 0; i < kWaitCauses; ++i) {
    if (after.by_cause[i] > before.by_cause[i]) return static_cast<WaitCause>(i);
  }
  return WaitCause::kOrder;
}

void Roster::tell_wait(LiveJob& job, RoomNow& room) {
  if (job.end || job.lease || !job.row || job.withdrawn) return;
  const Job& row = room.state.jobs[*job.row];
  if (row.state == JobState::kPlaced) return tell_promise(job);
  if (row.state != JobState::kWaiting) return;
  const RoomNow::OfType& here = room.of(row.spec.gpu_type);
  const std::int32_t needs = row.spec.gpus;
  const bool first = std::binary_search(room.fronts.begin(), room.fronts.end(), *job.row);
  const WaitCause known = cause_now(*job.row);
  const bool short_of_gpus = first && here.free < needs;
  const char* cause = name_of(known);
  if (known == WaitCause::kOrder && short_of_gpus) {
    cause = here.free + here.closed >= needs ? "nodes" : "gpus";
  }
  if (job.told_wait == cause) return;
  std::string words = fmt::format("needs {}, {} of {} {} free", gpus_text(needs), here.free,
                                  here.all, here.free == 1 ? "is" : "are");
  std::string full;
  if (known == WaitCause::kFairShare && world_->settings.tenants) {
    const Tenant& tenant = (*world_->settings.tenants)[row.spec.tenant];
    words += fmt::format("; {} holds {} and is entitled to {}", tenant.name,
                         room.held_by(row.spec.tenant), tenant.quota);
  } else if (known == WaitCause::kBackoff) {
    words += "; it found no place and asks again after a while";
  } else if (known == WaitCause::kFragmentation) {
    words += fmt::format(", but not where it could use them: at most {} on one server", here.most);
  } else if (!short_of_gpus) {
    const auto next = room.next ? jobs_.find(live_of_[room.next->index()]) : jobs_.end();
    if (next != jobs_.end() && next->second.id != job.id) {
      const Names names = names_for(job, next->second);
      if (!names.full.empty()) full = fmt::format("{}; {} comes first", words, names.full);
      words += fmt::format("; {} comes first", names.hidden);
    }
  } else if (here.closed > 0) {
    words += fmt::format(", {} on closed servers: {}", here.closed, first_few(here.closed_names));
  } else if (needs > 1) {
    words += fmt::format(", at most {} on one server", here.most);
  }
  const std::size_t others = room.state.waiting - 1;
  const std::string last = others == 0   ? ""
                           : others == 1 ? "; 1 other waits"
                                         : fmt::format("; {} others wait", others);
  if (!full.empty()) full += last;
  std::string facts =
      fmt::format(R"({{"cause":"{}","needs":{},"free":{},"gpus":{},"most_on_one":{},"waiting":{},)"
                  R"("closed_gpus":{},"closed":{}}})",
                  cause, needs, here.free, here.all, here.most, others, here.closed,
                  here.closed_names.empty() ? "[]" : quoted_list(here.closed_names));
  say_wait(job, cause, std::move(facts), words + last, std::move(full));
}

// Its GPUs are chosen, and whoever was there has not gone yet.
void Roster::tell_promise(LiveJob& job) {
  if (job.told_wait == "promised") return;
  const std::string where_to = where(engine_->lease(*job.row).placement);
  Names names{"others there", ""};
  bool one = false;
  const auto gain = gains_.find(job.id);
  if (gain != gains_.end()) {
    names = names_for(job, jobs_.at(gain->second));
    one = true;
  }
  const auto sentence = [&](const std::string& who) {
    return fmt::format("gets {} when {} {} stopped", where_to, who, one ? "has" : "have");
  };
  say_wait(job, "promised", R"({"cause":"promised"})", sentence(names.hidden),
           names.full.empty() ? "" : sentence(names.full));
}

void Roster::tell_start(LiveJob& job, const Placement& placement) {
  const Resources total = total_of(placement);
  const double cpus = static_cast<double>(total.cpu_milli) / 1'000;
  const double mem = static_cast<double>(total.mem_mib) / 1'024;
  const Duration waited = std::max(now_ - job.waits_since, Duration());
  const WaitSplit of_row = engine_->waited(*job.row, now_);
  WaitSplit split = job.waited;
  split += of_row;
  job.waited = WaitSplit();
  job.waited -= of_row;  // The next wait begins at nothing.
  const bool at_once = std::exchange(job.told_wait, "").empty();
  Duration rest = waited;
  std::vector<std::string> parts;
  constexpr std::array<const char*, kWaitCauses> kFor = {
      "over its tenant's share", "for GPUs side by side", "for GPUs", "backing off"};
  for (std::size_t i = 0; i < kWaitCauses; ++i) rest -= split.by_cause[i];
  split[WaitCause::kOrder] = std::max(split[WaitCause::kOrder] + rest, Duration());
  job.waited_for_lease = split;
  for (std::size_t i = 0; i < kWaitCauses; ++i) {
    if (split.by_cause[i] < Duration::seconds(1)) continue;
    parts.push_back(fmt::format("{} {}", rough(split.by_cause[i]), kFor[i]));
  }
  const PlannerOptions& planner = world_->settings.planner;
  // In words only what is not as everywhere; the facts name all parts.
  std::string by = planner.parts.policy;
  if (planner.parts.mechanism != SchedulerParts().mechanism) by += ", " + planner.parts.mechanism;
  if (planner.parts.placement != SchedulerParts().placement) by += ", " + planner.parts.placement;
  if (!std::holds_alternative<std::monostate>(planner.whole)) by = "the scheduler";
  std::string words = fmt::format("gets {} with {:.4g} CPU{}, {:.4g} GiB by {}", where(placement),
                                  cpus, cpus == 1 ? "" : "s", mem, by);
  if (parts.size() > 1) {
    words += fmt::format(" after {}: {}", rough(waited), fmt::join(parts, ", "));
  } else if (parts.size() == 1) {
    words += " after " + parts.front();
  } else {
    words += at_once ? " at once" : " after less than 1 s";
  }
  std::string facts =
      fmt::format(R"({{"gpus":{},"cpus":{:.4g},"mem_gib":{:.4g},"policy":"{}","mechanism":"{}",)"
                  R"("placement":"{}","waited_s":{:.3f},"waited_for_s":{{)",
                  total.gpus, cpus, mem, planner.parts.policy, planner.parts.mechanism,
                  planner.parts.placement, waited.in_seconds());
  for (std::size_t i = 0; i < kWaitCauses; ++i) {
    facts += fmt::format("{}\"{}\":{:.3f}", i == 0 ? "" : ",", kWaitCauseNames[i],
                         split.by_cause[i].in_seconds());
  }
  notes_.push_back({job.id, "starting", std::move(words), facts + "}}"});
  touch(job.id);
}

// Who is promised the GPUs of a job that was told to stop; of several the first. A lease waits for
// all who stop on its servers, so those it takes no GPU from are not meant.
const LiveJob* Roster::find_gainer(JobId stopped) const {
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

void Roster::tell_stop(LiveJob& job) {
  const State& state = engine_->state();
  const LiveJob* gainer = find_gainer(*job.row);
  if (gainer == nullptr) {
    const bool moves = state.jobs[*job.row].lease != kNoRow;
    return note(job, "preempting",
                moves ? "told to stop: it goes on at " + where(engine_->lease(*job.row).placement)
                      : "told to stop: the scheduler wants its GPUs otherwise");
  }
  gains_[gainer->id] = job.id;
  const std::int32_t lent = total_of(job.lease->placement).gpus;
  std::string why = "comes first by " + world_->settings.planner.parts.policy;
  if (state.jobs[*gainer->row].spec.tenant != state.jobs[*job.row].spec.tenant) {
    why = fmt::format("takes back {} lent GPU{}", lent, lent == 1 ? "" : "s");
  } else if (gainer->request.priority > job.request.priority) {
    why =
        fmt::format("has priority {}, this one {}", gainer->request.priority, job.request.priority);
  }
  const Names names = names_for(job, *gainer);
  const auto sentence = [&](const std::string& who) {
    return who.empty() ? "" : fmt::format("told to stop for {}, which {}", who, why);
  };
  note(job, "preempting", sentence(names.hidden));
  notes_.back().full = sentence(names.full);
}

}  // namespace muster
