// The view of all GPUs.

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "live/views/fleet_view.h"
#include "live/views/job_owner.h"
#include "live/views/view_units.h"

namespace muster {

namespace {

using nlohmann::json;

// Values in place of a job's index.
constexpr int kFree = -1;
constexpr int kReserved = -2;
constexpr int kOthers = -3;
constexpr int kClosed = -4;

constexpr double kStarved = 0.9;  // A job below this fraction of its speed is starved.

template <class Visit>
void for_each_slot(const Share& share, std::size_t gpus, const Visit& visit) {
  for (std::size_t slot = 0; slot < std::min<std::size_t>(gpus, 64); ++slot) {
    if ((share.slots >> slot & 1) != 0) visit(slot);
  }
}

// Returns tenants in the order of the tree, so that a tenant keeps its color.
std::vector<std::string> tenant_names(const RosterSettings& settings) {
  if (!settings.tenants) return {std::string(kDefaultTenant)};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < settings.tenants->size(); ++i) {
    if (settings.tenants->leaf(TenantId(i))) names.push_back((*settings.tenants)[TenantId(i)].name);
  }
  return names;
}

class Fleet {
 public:
  Fleet(const Roster& roster, const FleetSnapshot& look, const LiveClock& clock)
      : roster_(roster), look_(look), clock_(clock) {
    const Topology& topology = roster.settings().topology;
    const State& state = roster.engine().state();
    for (std::size_t i = 0; i < topology.node_count(); ++i) {
      const Node& node = topology.node(NodeId(i));
      Row row;
      row.open = state.closed[NodeId(i)] == 0;
      row.slots.assign(static_cast<std::size_t>(node.capacity.gpus), row.open ? kFree : kClosed);
      row.use.assign(row.slots.size(), -1);
      row.left = node.capacity;
      rows_.push_back(std::move(row));
    }
    for (const auto& [id, job] : roster.jobs()) {
      if (job.lease) add(job);
    }
    for (const auto& [node, condition] : roster.conditions()) add_others(node, condition);
    for (const JobId job : state.placed) add_promise(job);
    if (const auto kept = roster.engine().kept_free()) add_kept(*kept);
    see_gpus();
  }

  json view() const;
  std::vector<GpuRoom> rooms() const;

 private:
  struct Row {
    bool open = true;
    std::vector<int> slots;
    std::vector<double> use;
    Resources left;
  };

  void add(const LiveJob& job);
  void add_others(NodeId node, const NodeCondition& condition);
  void add_promise(JobId job);
  void add_kept(const BackfillReservation& kept);
  void see_gpus();
  json node_view(std::size_t i) const;
  json totals() const;
  json job_view(const LiveJob& job, std::vector<std::string>& tenants) const;
  json reservation_view(JobId row, int gpus) const;
  // Real GPUs belong to this machine, which then is the only node.
  bool shows_gpus() const {
    return look_.use != nullptr && !look_.use->gpus.empty() && rows_.size() == 1 &&
           !look_.notes.empty() && !look_.notes.front().gpus_virtual;
  }

  const Roster& roster_;
  const FleetSnapshot& look_;
  const LiveClock& clock_;
  std::vector<Row> rows_;
  std::vector<const LiveJob*> jobs_;  // Jobs that hold GPUs.
  json reserved_ = json::array();
};

// Returns the index of the job's tenant. A removed tenant is added at the end.
int tenant_of(const LiveJob& job, std::vector<std::string>& tenants) {
  const std::string_view name = tenant_or_default(job.tenant);
  const auto found = std::find(tenants.begin(), tenants.end(), name);
  const auto place = static_cast<int>(found - tenants.begin());
  if (found == tenants.end()) tenants.emplace_back(name);
  return place;
}

json Fleet::job_view(const LiveJob& job, std::vector<std::string>& tenants) const {
  const Placement& placement = job.lease->placement;
  const Resources total = total_of(placement);
  json view = {{"id", job.id},
               {"tenant", tenant_of(job, tenants)},
               {"state", state_name(roster_.state_of(job))},
               {"gpus", total.gpus},
               {"cpus", cpus(total.cpu_milli)},
               {"mem_gib", gib(total.mem_mib)}};
  if (may_name(look_.caller, owner_of(job))) {
    view["name"] = job.request.name;
    view["user"] = job.user;
  }
  const State& state = roster_.engine().state();
  if (job.row && state.jobs.contains(*job.row)) {
    const auto speed = relative_speed(*state.cluster, state.jobs[*job.row].spec, placement);
    if (speed) view.update({{"speed", *speed}, {"starved", *speed < kStarved}});
  }
  return view;
}

void Fleet::add(const LiveJob& job) {
  const Placement& placement = job.lease->placement;
  const int index = static_cast<int>(jobs_.size());
  jobs_.push_back(&job);
  const std::vector<double>* used = nullptr;
  if (look_.use != nullptr) {
    const auto found = look_.use->cpus.find({job.id, job.lease->number});
    if (found != look_.use->cpus.end()) used = &found->second;
  }
  for (std::size_t rank = 0; rank < placement.size(); ++rank) {
    const Share& share = placement[rank];
    Row& row = rows_[share.node.index()];
    row.left -= {share.gpus(), share.cpu_milli, share.mem_mib, 0};
    for_each_slot(share, row.slots.size(), [&](std::size_t slot) {
      row.slots[slot] = index;
      if (used != nullptr && rank < used->size()) row.use[slot] = (*used)[rank];
    });
  }
}

// It is unknown which GPUs of a node external jobs use, so this shows the GPUs that the engine
// blocks for them. These can be more if external jobs use the CPU or memory of other GPUs. On an
// unschedulable node this shows the last GPUs.
void Fleet::add_others(NodeId node, const NodeCondition& condition) {
  Row& row = rows_[node.index()];
  row.left.cpu_milli -= condition.taken.cpu_milli;
  row.left.mem_mib -= condition.taken.mem_mib;
  if (row.open) {
    for_each_slot(roster_.engine().state().blocked[node], row.slots.size(), [&](std::size_t slot) {
      if (row.slots[slot] == kFree) row.slots[slot] = kOthers;
    });
    return;
  }
  int wanted = condition.taken.gpus;
  for (std::size_t slot = row.slots.size(); slot-- > 0 && wanted > 0;) {
    if (row.slots[slot] != kClosed) continue;
    row.slots[slot] = kOthers;
    --wanted;
  }
}

json Fleet::reservation_view(JobId row, int gpus) const {
  const LiveId id = roster_.live_of(row);
  const LiveJob* const job = roster_.find(id);
  json view = {{"job", id}, {"gpus", gpus}};
  if (job != nullptr && may_name(look_.caller, owner_of(*job))) view["user"] = job->user;
  return view;
}

// GPUs that are free and promised to a job, which starts when its other GPUs are free.
void Fleet::add_promise(JobId job) {
  const Lease* const planned = roster_.engine().state().promised(job);
  if (planned == nullptr) return;
  int gpus = 0;
  for (const Share& share : planned->placement) {
    Row& row = rows_[share.node.index()];
    for_each_slot(share, row.slots.size(), [&](std::size_t slot) {
      if (row.slots[slot] != kFree) return;
      row.slots[slot] = kReserved;
      ++gpus;
    });
  }
  if (gpus > 0) reserved_.push_back(reservation_view(job, gpus));
}

// The plan reserves a number of GPUs, not specific ones, so this shows the first suitable ones.
void Fleet::add_kept(const BackfillReservation& kept) {
  const JobSpec& spec = roster_.engine().state().jobs[kept.job].spec;
  std::int32_t left = kept.gpus;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Node& node = roster_.settings().topology.node(NodeId(i));
    if (spec.gpu_type && *spec.gpu_type != node.gpu_type) continue;
    for (int& slot : rows_[i].slots) {
      if (slot != kFree || left == 0) continue;
      slot = kReserved;
      --left;
    }
  }
  if (left == kept.gpus) return;
  json view = reservation_view(kept.job, kept.gpus - left);
  if (kept.from != Instant::never()) view["from"] = unix_s(clock_, kept.from);
  reserved_.push_back(std::move(view));
}

void Fleet::see_gpus() {
  if (!shows_gpus()) return;
  std::vector<double>& use = rows_.front().use;
  for (std::size_t slot = 0; slot < use.size(); ++slot) {
    use[slot] = slot < look_.use->gpus.size() ? look_.use->gpus[slot] : -1;
  }
}

json Fleet::node_view(std::size_t i) const {
  const NodeId id(i);
  const Topology& topology = roster_.settings().topology;
  const Node& node = topology.node(id);
  const Row& row = rows_[i];
  const auto condition = roster_.conditions().find(id);
  const auto quarantine = roster_.quarantines().find(id);
  const bool unusable = condition != roster_.conditions().end() && !condition->second.usable;
  const bool quarantined = quarantine != roster_.quarantines().end();
  json view = {{"name", node.name},
               {"rack", topology.rack_name(node.rack)},
               {"state", unusable      ? "unusable"
                         : quarantined ? "quarantined"
                         : row.open    ? "open"
                                       : "drained"},
               {"gpu_type", topology.gpu_type_name(node.gpu_type)},
               {"gpus", row.slots},
               {"cpus", cpus(node.capacity.cpu_milli)},
               {"cpus_free", cpus(std::max<std::int64_t>(0, row.left.cpu_milli))},
               {"mem_gib", gib(node.capacity.mem_mib)},
               {"mem_free_gib", gib(std::max<std::int64_t>(0, row.left.mem_mib))}};
  if (unusable) {
    view["why"] = condition->second.why;
  } else if (quarantined) {
    view["why"] = quarantine->second.why;
  }
  if (const auto end = roster_.drain_ends().find(id); end != roster_.drain_ends().end()) {
    view["drained_until"] = unix_s(clock_, end->second);
  }
  if (look_.use == nullptr) return view;
  json use = json::array();
  for (const double part : row.use) use.push_back(part < 0 ? json() : json(part));
  view["use"] = std::move(use);
  return view;
}

json Fleet::totals() const {
  std::map<int, int> count;
  int all = 0;
  int fragmented = 0;
  for (const Row& row : rows_) {
    int free = 0;
    for (const int slot : row.slots) {
      ++count[std::min(slot, 0)];
      if (slot == kFree) ++free;
    }
    all += static_cast<int>(row.slots.size());
    if (free < static_cast<int>(row.slots.size())) fragmented += free;
  }
  return {{"gpus", all},
          {"used", count[0]},
          {"free", count[kFree]},
          {"fragmented", fragmented},
          {"reserved", count[kReserved]},
          {"closed", count[kClosed]},
          {"others", count[kOthers]}};
}

std::vector<GpuRoom> Fleet::rooms() const {
  std::vector<GpuRoom> rooms;
  for (const Row& row : rows_) {
    const auto count = [&](int kind) {
      return static_cast<int>(std::count(row.slots.begin(), row.slots.end(), kind));
    };
    rooms.push_back({count(kFree), count(kReserved)});
  }
  return rooms;
}

json Fleet::view() const {
  std::vector<std::string> tenants = tenant_names(roster_.settings());
  json jobs = json::array();
  for (const LiveJob* job : jobs_) jobs.push_back(job_view(*job, tenants));
  json nodes = json::array();
  for (std::size_t i = 0; i < rows_.size(); ++i) nodes.push_back(node_view(i));
  json view = {{"now", unix_s(clock_, clock_.now())},
               {"totals", totals()},
               {"use_of", look_.use == nullptr ? "none"
                          : shows_gpus()       ? "gpu"
                                               : "cpu"},
               {"tenants", std::move(tenants)},
               {"jobs", std::move(jobs)},
               {"nodes", std::move(nodes)}};
  if (!reserved_.empty()) view["reserved"] = reserved_;
  return view;
}

}  // namespace

std::optional<double> relative_speed(const Cluster& cluster, const JobSpec& spec,
                                     const Placement& placement) {
  const Profile& profile = cluster.profile(spec);
  if (!profile.sensitivity_known() || placement.empty()) return std::nullopt;
  const Resources ideal = profile.ideal();
  Placement best = placement;
  for (Share& share : best) {
    share.cpu_milli = std::max(share.cpu_milli, ideal.cpu_milli * share.gpus());
    if (profile.memory_known()) {
      share.mem_mib = std::max(share.mem_mib, ideal.mem_mib * share.gpus());
    }
  }
  const double most = cluster.speed(spec, best);
  if (!(most > 0)) return std::nullopt;
  return std::min(1.0, cluster.speed(spec, placement) / most);
}

std::vector<GpuRoom> gpu_rooms(const Roster& roster, const LiveClock& clock) {
  const Caller nobody;
  const std::vector<NodeCaveats> nothing;
  return Fleet(roster, {nobody, nothing}, clock).rooms();
}

json fleet_view(const Roster& roster, const FleetSnapshot& look, const LiveClock& clock) {
  return Fleet(roster, look, clock).view();
}

}  // namespace muster
