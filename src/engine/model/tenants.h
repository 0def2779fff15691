#pragma once

// Who shares the cluster: tenants (virtual clusters) with quotas and weights, some below others.
// config/ reads one from what a user wrote, or infer_quotas() makes one from a workload; both
// before a run. From then on it does not change.

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

inline constexpr std::size_t kMostTenants = 10'000;
inline constexpr std::size_t kMostTenantLevels = 8;
inline constexpr std::int64_t kMostQuota = kMostNodes * static_cast<std::int64_t>(kMostGpusPerNode);
inline constexpr std::int32_t kMostWeightMilli = 1'000'000;

// Whose jobs are those that name nobody.
inline constexpr std::string_view kDefaultTenant = "default";
inline std::string_view tenant_or_default(std::string_view name) {
  return name.empty() ? kDefaultTenant : name;
}

// What decides a tenant's part of what its parent has (at the top: of the cluster).
enum class Sharing : std::uint8_t {
  kQuota,   // Its quota.
  kWeight,  // Its weight, against the weights of those beside it.
  kFair,    // All beside each other have the same.
};
std::string_view name_of(Sharing sharing);                     // "quota", "weight", "fair".
std::optional<Sharing> sharing_called(std::string_view name);  // Empty when there is none.
std::span<const std::string_view> sharing_names();

struct TenantRules {
  Sharing sharing = Sharing::kQuota;
  // How full the cluster must be, in thousandths of its GPUs, before what was lent is taken back.
  std::int32_t reclaim_permille = 900;
};

// A tenant as somebody wrote it down. The lines are for messages; 0 where there are none.
struct TenantSpec {
  std::string name;                   // Not empty.
  std::string parent;                 // Empty: at the top. May be one listed later.
  std::optional<std::int64_t> quota;  // GPUs, 0 to kMostQuota.
  std::int32_t weight_milli = 1000;   // Thousandths, so that sums are exact; 1 to kMostWeightMilli.
  int name_line = 0;
  int parent_line = 0;
  int quota_line = 0;
};

struct TenantList {
  std::string source;  // What messages begin with: a file or an option. May be empty.
  int line = 0;        // Where the list begins.
  TenantRules rules;
  std::vector<TenantSpec> tenants;  // At least one.
};

struct Tenant {
  std::string name;
  std::optional<TenantId> parent;  // Empty at the top.
  std::vector<TenantId> children;  // Ascending.
  std::vector<TenantId> path;      // From itself up to the one at the top.
  // GPUs it is entitled to, those of its children included. Where none is stated, a parent has the
  // sum of its children's and a leaf has 0: it lives on what others lend.
  std::int64_t quota = 0;
  bool quota_stated = false;
  std::int32_t weight_milli = 1000;
  int quota_line = 0;  // Where it was written, for messages; 0: nowhere.
};

// The tenants of one run, numbered in the order they were listed. Above those at the top there is
// only the cluster, which has no number.
class TenantTree {
 public:
  // Refuses, in one line with the field and the line it is on: a name given twice, an unknown
  // parent, a tenant above itself, too many tenants or levels, children whose quotas come to more
  // than their parent's, and sharing by quota where nobody has one.
  static Result<TenantTree> build(const TenantList& list);

  // Refuses quotas that come to more than the cluster has. Whoever brings a tree and a cluster
  // together asks this once.
  Refusal check(std::int64_t total_gpus) const;

  std::size_t size() const { return tenants_.size(); }  // At least 1.
  const Tenant& operator[](TenantId id) const { return tenants_[id]; }
  bool leaf(TenantId id) const { return tenants_[id].children.empty(); }
  // Itself first, the one at the top last: all that are charged for what it uses.
  std::span<const TenantId> path_to_root(TenantId id) const { return tenants_[id].path; }
  const std::vector<TenantId>& top() const { return top_; }  // Ascending.

  std::optional<TenantId> find(std::string_view name) const;
  // Whose a job is that names this tenant, or kDefaultTenant's if it names none. Refuses a name
  // nobody has, with the nearest; the caller says where the job is.
  Result<TenantId> tenant_of_job(std::string_view name) const;

  Sharing sharing() const { return rules_.sharing; }
  std::int32_t reclaim_permille() const { return rules_.reclaim_permille; }

 private:
  explicit TenantTree(const TenantList& list) : source_(list.source), rules_(list.rules) {}
  Refusal add_names(const TenantList& list);
  Refusal add_parents(const TenantList& list);
  Refusal add_paths(const TenantList& list);
  Error endless(TenantId id, const TenantList& list) const;
  void add_quotas();
  Refusal check_parents() const;
  Refusal check_sum(const std::vector<TenantId>& beside, std::int64_t limit,
                    const std::string& whose) const;
  std::vector<std::string_view> names() const;
  Error refuse(int line, std::string_view field, std::string_view why) const;

  std::string source_;
  TenantRules rules_;
  IdVector<TenantId, Tenant> tenants_;
  std::vector<TenantId> top_;
  std::map<std::string, TenantId, std::less<>> by_name_;
};

// What a tenant's jobs ask for: GPUs times run time, in GPU-microseconds; never negative.
struct TenantDemand {
  std::string_view name;  // Empty: kDefaultTenant.
  std::int64_t gpu_us = 0;
};

// Quotas for a workload that comes without any: the GPUs of the cluster in proportion to demand,
// every tenant at least 1 (docs/formats.md, "Tenants"). They sum to total_gpus exactly. Tenants are
// numbered as they first turn up; entries of one name are added up, so an entry a job will do. No
// entry at all is one tenant, kDefaultTenant. Refuses more tenants than GPUs.
Result<TenantTree> infer_quotas(std::span<const TenantDemand> demand, std::int64_t total_gpus,
                                TenantRules rules = {});

}  // namespace muster
