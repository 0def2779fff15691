#pragma once

// Tree of tenants (virtual clusters) with quotas and weights. Read from a configuration by
// workload/input/tenants_file.h, or created by infer_quotas() from a workload, before a run. It
// does not change during the run.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/id.h"
#include "base/types/result.h"
#include "engine/model/topology.h"

namespace muster {

inline constexpr std::size_t kMaxTenants = 10'000;
inline constexpr std::size_t kMaxTenantLevels = 8;
inline constexpr std::int64_t kMaxQuota = kMaxNodes * static_cast<std::int64_t>(kMaxGpusPerNode);
inline constexpr std::int32_t kMaxWeightMilli = 1'000'000;
inline constexpr std::int32_t kMaxHeadroomPermille = 10'000;

// Tenant of jobs that name no tenant.
inline constexpr std::string_view kDefaultTenant = "default";
inline std::string_view tenant_or_default(std::string_view name) {
  return name.empty() ? kDefaultTenant : name;
}

// How a tenant's entitlement is computed from its parent's (at the top: from the cluster).
enum class Sharing : std::uint8_t {
  kQuota,   // Equals its quota.
  kWeight,  // Proportional to its weight among its siblings.
  kFair,    // Equal for all siblings.
};
std::string_view name_of(Sharing sharing);                     // "quota", "weight", "fair".
std::optional<Sharing> sharing_called(std::string_view name);  // Nullopt: unknown name.
std::span<const std::string_view> sharing_names();

struct TenantRules {
  Sharing sharing = Sharing::kQuota;
  // Fraction of the cluster's GPUs in use, in thousandths, above which lent GPUs are reclaimed.
  std::int32_t reclaim_permille = 900;
  // Sum of the top-level quotas that the cluster allows, in thousandths of its GPUs. With more than
  // 1000, not all tenants can use their quotas at the same time.
  std::int32_t headroom_permille = 1000;
};

// A tenant as configured. The line numbers are for error messages; 0 means unknown.
struct TenantSpec {
  std::string name;                   // Not empty.
  std::string parent;                 // Empty: top level. May be listed later.
  std::optional<std::int64_t> quota;  // GPUs, 0 to kMaxQuota.
  std::int32_t weight_milli = 1000;   // Integer, so that sums are exact; 1 to kMaxWeightMilli.
  int name_line = 0;
  int parent_line = 0;
  int quota_line = 0;
};

struct TenantList {
  std::string source;  // Prefix of error messages: a file or an option. May be empty.
  int line = 0;        // First line of the list; 0: unknown.
  TenantRules rules;
  std::vector<TenantSpec> tenants;  // At least one.
};

struct Tenant {
  std::string name;
  std::optional<TenantId> parent;  // Nullopt at the top level.
  std::vector<TenantId> children;  // Ascending.
  std::vector<TenantId> path;      // From the tenant itself up to its top-level ancestor.
  // GPUs it is entitled to, including its children's. If not stated, a parent has the sum of its
  // children's quotas. A leaf then has 0 and can only borrow.
  std::int64_t quota = 0;
  bool quota_stated = false;
  std::int32_t weight_milli = 1000;
  int quota_line = 0;  // Line of the quota, for messages; 0: unknown.
};

// The tenants of one run, with ids in list order. The cluster is above the top-level tenants and
// has no id. Immutable after build().
class TenantTree {
 public:
  // Fails with one line (source, line, field, reason) for: duplicate names, unknown parents,
  // cycles, too many tenants or levels, children whose quotas exceed their parent's, and sharing by
  // quota without any quota.
  static Result<TenantTree> build(const TenantList& list);

  // Fails if the quotas exceed the cluster's GPUs with headroom. Callers check this once for each
  // pair of tree and cluster.
  MaybeError check(std::int64_t total_gpus) const;

  std::size_t size() const { return tenants_.size(); }  // At least 1.
  const Tenant& operator[](TenantId id) const { return tenants_[id]; }
  bool leaf(TenantId id) const { return tenants_[id].children.empty(); }
  std::size_t leaves() const;  // Number of tenants that may have jobs.
  // From the tenant itself to its top-level ancestor: all tenants charged for its usage.
  std::span<const TenantId> path_to_root(TenantId id) const { return tenants_[id].path; }
  const std::vector<TenantId>& top() const { return top_; }  // Ascending.

  std::optional<TenantId> find(std::string_view name) const;
  // Returns the tenant of a job that names `name`; empty means kDefaultTenant. Fails for an unknown
  // name with a suggestion; the caller adds the job's location to the message.
  Result<TenantId> tenant_of_job(std::string_view name) const;

  Sharing sharing() const { return rules_.sharing; }
  std::int32_t reclaim_permille() const { return rules_.reclaim_permille; }

 private:
  explicit TenantTree(const TenantList& list) : source_(list.source), rules_(list.rules) {}
  MaybeError add_names(const TenantList& list);
  MaybeError add_parents(const TenantList& list);
  MaybeError add_paths(const TenantList& list);
  Error endless(TenantId id, const TenantList& list) const;
  void add_quotas();
  MaybeError check_parents() const;
  MaybeError check_sum(const std::vector<TenantId>& beside, std::int64_t limit,
                       const std::string& whose) const;
  std::vector<std::string_view> names() const;
  Error refuse(int line, std::string_view field, std::string_view why) const;

  std::string source_;
  TenantRules rules_;
  IdVector<TenantId, Tenant> tenants_;
  std::vector<TenantId> top_;
  std::map<std::string, TenantId, std::less<>> by_name_;
};

// Total demand of a tenant's jobs: GPUs times run time, in GPU-microseconds; never negative.
struct TenantDemand {
  std::string_view name;  // Empty: kDefaultTenant.
  std::int64_t gpu_us = 0;
};

// Creates quotas for a workload without any: the cluster's GPUs with headroom in proportion to
// demand, at least 1 and at most total_gpus per tenant. Without headroom, their sum is total_gpus
// (docs/reference/formats.md, "Tenants"). Entries with the
// same name are added, so one entry per job is allowed. Ids follow the first appearance. An empty
// list gives one tenant, kDefaultTenant. Fails if there are more tenants than GPUs.
Result<TenantTree> infer_quotas(std::span<const TenantDemand> demand, std::int64_t total_gpus,
                                TenantRules rules = {});

}  // namespace muster
