// What only the manager's thread knows of its past: servers, tenants and who holds whose share.

#include <algorithm>
#include <map>
#include <utility>

#include "live/query/look_back.h"
#include "live/views/answers.h"

namespace muster {

namespace {

constexpr std::size_t kMostHolders = 100;

std::string named_tenant(const std::string& name) { return std::string(tenant_or_default(name)); }

// Who has jobs waiting for GPUs and some of his own left: the one with most of them.
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

// The leases that took a tenant beyond its quota: its latest. `waits`: which tenants have jobs that
// nothing but a lack of GPUs keeps.
void add_holders(const Roster& roster, const Caller& caller, const std::vector<char>& waits,
                 LookBack& look) {
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
    if (look.holders.size() == kMostHolders) return;
    const std::int64_t gpus = total_of(job->lease->placement).gpus;
    beyond -= gpus;
    const bool named = may_see(caller, job->user);
    look.holders.push_back({named_tenant(job->tenant), job->id, named ? job->user : "",
                            named ? job->request.name : "", gpus, job->lease->since, owner->name});
  }
}

}  // namespace

LookBack look_back(const Roster& roster, const Caller& caller) {
  LookBack look;
  look.caller = caller;
  const Topology& topology = roster.settings().topology;
  look.gpus = topology.total().gpus;
  for (const Node& node : topology.nodes()) look.servers.push_back({node.name, node.capacity.gpus});
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
    // Shared otherwise, a quota that is written down means nothing.
    add(tenant.name, tenants->sharing() == Sharing::kQuota ? tenant.quota : 0, parent);
  }
  std::vector<char> waits(look.tenants.size(), 0);
  for (const auto& [id, job] : roster.jobs()) {
    const auto place =
        places.find(tenants ? named_tenant(job.tenant) : std::string(kDefaultTenant));
    if (job.end || place == places.end()) continue;
    if (job.lease) look.tenants[place->second].used_now += total_of(job.lease->placement).gpus;
    if (roster.state_of(job) == LiveState::kQueued) waits[place->second] = 1;
    for (std::optional<std::uint32_t> at = place->second; at; at = look.tenants[*at].parent) {
      ++(job.lease ? look.tenants[*at].running : look.tenants[*at].queued);
    }
  }
  add_holders(roster, caller, waits, look);
  return look;
}

}  // namespace muster
