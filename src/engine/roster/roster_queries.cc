// The queries of a roster, and the spec that its engine gets for a request.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "engine/model/profile_key.h"
#include "engine/roster/roster.h"
#include "engine/roster/roster_view.h"

namespace muster {

namespace {

constexpr std::array<std::string_view, 11> kStates = {
    "held",     "blocked", "queued", "starting",  "running", "stopping",
    "retrying", "done",    "failed", "cancelled", "rejected"};

}  // namespace

std::string_view state_name(LiveState state) { return kStates[static_cast<std::size_t>(state)]; }

std::string rough(Duration duration) {
  const std::int64_t seconds = duration.us() / 1'000'000;
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 7'200) return fmt::format("{} min", seconds / 60);
  if (seconds < 172'800) return fmt::format("{} h", seconds / 3'600);
  return fmt::format("{} days", seconds / 86'400);
}

std::optional<LiveState> find_state(std::string_view name) {
  for (std::size_t i = 0; i < kStates.size(); ++i) {
    if (kStates[i] == name) return static_cast<LiveState>(i);
  }
  return std::nullopt;
}

RosterView::World::World(RosterSettings given)
    : settings(std::move(given)), cluster(settings.topology, settings.profiles) {
  settings.planner.chain.tenants = settings.tenants ? &*settings.tenants : nullptr;
}

RosterView::RosterView(RosterSettings settings)
    : world_(std::make_shared<const World>(std::move(settings))),
      drained_(world_->settings.topology.node_count()) {}

std::optional<GpuTypeId> RosterView::find_gpu_type(std::string_view name) const {
  const Topology& topology = world_->settings.topology;
  for (std::size_t i = 0; i < topology.gpu_type_count(); ++i) {
    if (topology.gpu_type_name(GpuTypeId(i)) == name) return GpuTypeId(i);
  }
  return std::nullopt;
}

MaybeError RosterView::refuse(const JobRequest& request, const std::string& tenant) const {
  const RosterSettings& settings = world_->settings;
  if (settings.tenants && tenant.empty() && !settings.tenants->find(kDefaultTenant)) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < settings.tenants->size(); ++i) {
      if (settings.tenants->leaf(TenantId(i)))
        names.push_back((*settings.tenants)[TenantId(i)].name);
    }
    return Error{"tenant: required; choose one of: " + first_few(names)};
  }
  if (settings.tenants) {
    const Result<TenantId> found = settings.tenants->tenant_of_job(tenant);
    if (!found.ok()) return Error{"tenant: " + found.error().message};
    if (!settings.tenants->leaf(found.value())) {
      return Error{"tenant: " + in_quotes(tenant) + " has child tenants; choose one of them"};
    }
  } else if (!tenant.empty() && tenant != kDefaultTenant) {
    return Error{"tenant: unknown tenant " + in_quotes(tenant) + "; this manager has no tenants"};
  }
  const std::size_t stated = settings.profiles.size() - settings.learned;
  const ProfileId model = settings.profiles.find(request.model);
  if (!request.model.empty() && (model == ProfileTable::kUnknown || model.index() >= stated)) {
    std::vector<std::string_view> known;
    for (std::size_t i = 1; i < stated; ++i) {
      known.push_back(settings.profiles[ProfileId(i)].name());
    }
    return Error{"model: no profile for " + in_quotes(request.model) +
                 suggestion(request.model, known)};
  }
  JobSpec spec;
  spec.gpus = request.gpus;
  spec.fewest = request.fewest;
  spec.most = request.most;
  if (!request.gpu_type.empty()) {
    spec.gpu_type = find_gpu_type(request.gpu_type);
    if (!spec.gpu_type) {
      std::vector<std::string_view> known;
      for (std::size_t i = 0; i < settings.topology.gpu_type_count(); ++i) {
        known.push_back(settings.topology.gpu_type_name(GpuTypeId(i)));
      }
      return Error{"gpu_type: the cluster has no such GPU type: " + in_quotes(request.gpu_type) +
                   suggestion(request.gpu_type, known)};
    }
  }
  if (const auto why = world_->cluster.why_never(spec)) return Error{"gpus: " + *why};
  // Check one request after the other, to name the field that is too large.
  const JobSpec asked = spec_of(request, "", tenant, false);
  const auto beyond = [&](const char* field) -> MaybeError {
    const auto why = world_->cluster.why_never(spec);
    return why ? MaybeError(Error{field + (": " + *why)}) : std::nullopt;
  };
  spec.least.mem_mib = asked.least.mem_mib;
  if (MaybeError refusal = beyond("mem")) return refusal;
  spec.least.cpu_milli = asked.least.cpu_milli;
  if (MaybeError refusal = beyond("cpus")) return refusal;
  spec.spread = asked.spread;
  return beyond("spread");
}

JobSpec RosterView::spec_of(const JobRequest& request, const std::string& user,
                            const std::string& tenant, bool trial) const {
  const RosterSettings& settings = world_->settings;
  JobSpec spec;
  spec.gpus = trial ? 1 : request.gpus;
  spec.fewest = trial ? 0 : request.fewest;
  spec.most = trial ? 0 : request.most;
  // A pre-run has one GPU with the CPU and memory of one GPU.
  const auto per_gpu = [&](std::int64_t amount) {
    return (amount + request.gpus - 1) / request.gpus;
  };
  if (request.cpus) spec.least.cpu_milli = per_gpu(request.cpus->milli);
  if (request.mem) spec.least.mem_mib = per_gpu(request.mem->mib);
  spec.spread = request.spread.value_or(0);
  if (!request.gpu_type.empty()) {
    spec.gpu_type = find_gpu_type(request.gpu_type);
    // Its nodes no longer exist: an unknown type makes the engine reject the job with a reason.
    if (!spec.gpu_type) spec.gpu_type = GpuTypeId(settings.topology.gpu_type_count());
  }
  if (!request.model.empty()) {
    spec.profile = settings.profiles.find(request.model);
  } else if (settings.learned > 0) {
    spec.profile = settings.profiles.find(profile_key(user, request));
  }
  if (settings.tenants) {
    const Result<TenantId> found = settings.tenants->tenant_of_job(tenant);
    if (found.ok()) spec.tenant = found.value();
  }
  // Users estimate time on these nodes. The engine counts work: time at the reference share.
  const Duration estimate = trial ? request.prerun : request.estimate;
  const double speed = world_->cluster.fair_speed(spec, NodeId(0));
  spec.estimate =
      Duration::micros(static_cast<std::int64_t>(static_cast<double>(estimate.us()) * speed));
  if (estimate > Duration()) spec.estimate = std::max(spec.estimate, Duration::micros(1));
  spec.priority = request.priority;
  spec.retries = trial ? 0 : request.retries.value_or(-1);
  return spec;
}

const LiveJob* RosterView::find(LiveId id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

std::optional<NodeId> RosterView::find_node(std::string_view name) const {
  const auto& nodes = world_->settings.topology.nodes();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[NodeId(i)].name == name) return NodeId(i);
  }
  return std::nullopt;
}

bool RosterView::is_drained(NodeId node) const { return drained_[node.index()] != 0; }

Instant RosterView::wake() const {
  Instant wake = wake_;
  for (const auto& [node, quarantine] : quarantines_) {
    if (!quarantine.testing && is_usable(node)) wake = std::min(wake, quarantine.until);
  }
  for (const auto& [node, until] : drain_ends_) wake = std::min(wake, until);
  return wake;
}

std::string RosterView::where(const Placement& placement) const {
  std::string text;
  for (const Share& share : placement) {
    if (!text.empty()) text += ',';
    text += world_->settings.topology.node(share.node).name + ":";
    bool first = true;
    for (int slot = 0; slot < 64; ++slot) {
      if ((share.slots >> slot & 1) == 0) continue;
      int last = slot;
      while (last < 63 && (share.slots >> (last + 1) & 1) != 0) ++last;
      if (!std::exchange(first, false)) text += '+';
      text += last == slot ? std::to_string(slot) : fmt::format("{}-{}", slot, last);
      slot = last;
    }
  }
  return text;
}

LiveState RosterView::state_of(const LiveJob& job) const {
  if (job.end) return *job.end;
  if (job.lease) {
    if (job.lease->stopping) return LiveState::kStopping;
    return job.lease->up ? LiveState::kRunning : LiveState::kStarting;
  }
  if (job.held) return LiveState::kHeld;
  if (!job.row) return LiveState::kBlocked;
  if (!engine_->state().jobs.contains(*job.row)) return LiveState::kQueued;
  return engine_->state().jobs[*job.row].state == JobState::kBackOff ? LiveState::kRetrying
                                                                     : LiveState::kQueued;
}

std::vector<LiveId> RosterView::placed() const {
  std::vector<LiveId> ids;
  for (const JobId row : engine_->state().placed) ids.push_back(live_of_[row.index()]);
  return ids;
}

std::string RosterView::digest() const {
  Digest whole = digest_;
  whole.add(engine_->digest());
  return whole.hex();
}

JobSpec Roster::to_job_spec(const JobRequest& request, const std::string& user,
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

}  // namespace muster
