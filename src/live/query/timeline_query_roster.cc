// The part of a PastWindow that only the manager thread has: nodes, tenants and borrowed GPUs.

#include <algorithm>
#include <map>
#include <utility>

#include "live/query/past_window.h"
#include "live/views/job_owner.h"

namespace muster {

namespace {

constexpr std::size_t kMaxHolders = 100;

std::string named_tenant(const std::string& name) { return std::string(tenant_or_default(name)); }

// Returns the tenant with waiting jobs that has the most unused quota.
const UsageTenant* neediest(const std::vector<UsageTenant>& tenants, const std::vector<char>& leaf,
                            const std::vector<char>& waits) {
  const UsageTenant* most = nullptr;
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    const UsageTenant& tenant = tenants[i];
    if (leaf[i] == 0 || waits[i] == 0 || tenant.used_now >= tenant.quota) continue;
    if (most == nullptr || tenant.quota - tenant.used_now > most->quota - most->used_now) {
      most = &tenant;
    }
  }
  return most;
}

// Finds the leases that took a tenant above its quota: its latest ones. `waits`: tenants with jobs
// that wait only for GPUs.
void add_holders(const Roster& roster, const Caller& caller, const std::vector<char>& waits,
                 PastWindow& look) {
  std::vector<char> leaf(look.tenants.size(), 1);
  for (const UsageTenant& tenant : look.tenants) {
    if (tenant.parent) leaf[*tenant.parent] = 0;
  }
  const UsageTenant* const owner = neediest(look.tenants, leaf, waits);
  if (owner == nullptr) return;
  std::map<std::string, std::int64_t> over;
  for (std::size_t i = 0; i < look.tenants.size(); ++i) {
    const std::int64_t beyond = look.tenants[i].used_now - look.tenants[i].quota;
    if (leaf[i] != 0 && beyond > 0) over[look.tenants[i].name] = beyond;
  }
  std::vector<const LiveJob*> jobs;
  for (const auto& [id, job] : roster.jobs()) {
    if (job.lease && over.contains(named_tenant(job.tenant))) jobs.push_back(&job);
  }
  std::stable_sort(jobs.begin(), jobs.end(), [](const LiveJob* a, const LiveJob* b) {
    return a->lease->since > b->lease->since;
  });
  for (const LiveJob* job : jobs) {
    std::int64_t& beyond = over[named_tenant(job->tenant)];
    if (beyond <= 0) continue;
    if (look.holders.size() == kMaxHolders) return;
    const std::int64_t gpus = total_of(job->lease->placement).gpus;
    beyond -= gpus;
    const bool named = may_name(caller, owner_of(*job));
    look.holders.push_back({named_tenant(job->tenant), job->id, named ? job->user : "",
                            named ? job->request.name : "", gpus, job->lease->since, owner->name});
  }
}

}  // namespace

PastWindow look_back(const Roster& roster, const Caller& caller) {
  PastWindow look;
  look.caller = caller;
  const Topology& topology = roster.settings().topology;
  look.gpus = topology.total().gpus;
  for (const Node& node : topology.nodes()) look.nodes.push_back({node.name, node.capacity.gpus});
  std::map<std::string, std::uint32_t> places;
  const auto add = [&](const std::string& name, std::int64_t quota,
                       std::optional<std::uint32_t> parent) {
    places.emplace(name, static_cast<std::uint32_t>(look.tenants.size()));
    look.tenants.push_back({name, parent, quota, 0, 0, 0});
  };
  const auto& tenants = roster.settings().tenants;
  if (!tenants) add(std::string(kDefaultTenant), look.gpus, std::nullopt);
  for (std::size_t i = 0; tenants && i < tenants->size(); ++i) {
    const Tenant& tenant = (*tenants)[TenantId(i)];
    std::optional<std::uint32_t> parent;
    if (tenant.parent) parent = static_cast<std::uint32_t>(tenant.parent->index());
    // Quotas have no effect with other sharing rules.
    add(tenant.name, tenants->sharing() == Sharing::kQuota ? tenant.quota : 0, parent);
  }
  std::vector<char> waits(look.tenants.size(), 0);
  for (const auto& [id, job] : roster.jobs()) {
    const auto place =
        places.find(tenants ? named_tenant(job.tenant) : std::string(kDefaultTenant));
    if (job.end || place == places.end()) continue;
    if (job.lease) look.tenants[place->second].used_now += total_of(job.lease->placement).gpus;
    // Held, blocked and retrying jobs wait for something other than GPUs.
    const bool queued = roster.state_of(job) == LiveState::kQueued;
    if (queued) waits[place->second] = 1;
    for (std::optional<std::uint32_t> at = place->second; at; at = look.tenants[*at].parent) {
      if (job.lease) ++look.tenants[*at].running;
      if (queued) ++look.tenants[*at].queued;
    }
  }
  add_holders(roster, caller, waits, look);
  return look;
}

}  // namespace muster
