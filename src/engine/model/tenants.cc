#include "engine/model/tenants.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/text.h"
#include "base/types/check.h"
#include "base/types/saturate.h"

namespace muster {

namespace {

__extension__ typedef __int128 Wide;  // GPU-microseconds times GPUs do not fit in 64 bits.

constexpr std::array<std::string_view, 3> kSharingNames = {"quota", "weight", "fair"};

std::string counted_gpus(std::int64_t count) {
  return fmt::format("{} GPU{}", count, count == 1 ? "" : "s");
}

// Divides the GPUs in proportion to demand, with at least 1 each and none left over. In a tie, the
// first in the list gets the GPU.
std::vector<std::int64_t> apportion(const std::vector<std::int64_t>& demand, std::int64_t gpus) {
  std::vector<std::size_t> order(demand.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return demand[a] < demand[b]; });
  std::vector<std::int64_t> quota(demand.size(), 1);
  Wide left = gpus;
  Wide asked = 0;
  for (const std::int64_t amount : demand) asked += amount;
  // Entries with a share below 1 GPU get 1, and the others divide the rest. Their shares shrink, so
  // the next smallest may now be below 1 too; the largest never is.
  std::size_t next = 0;
  while (next < order.size() && left * demand[order[next]] < asked) {
    left -= 1;
    asked -= demand[order[next++]];
  }
  MUSTER_CHECK(asked > 0);
  struct Part {
    std::size_t index;
    Wide remainder;
  };
  std::vector<Part> parts;
  Wide given = 0;
  for (; next < order.size(); ++next) {
    const Wide share = left * demand[order[next]];
    quota[order[next]] = static_cast<std::int64_t>(share / asked);
    given += share / asked;
    parts.push_back({order[next], share % asked});
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.remainder != b.remainder ? a.remainder > b.remainder : a.index < b.index;
  });
  for (std::size_t i = 0; given < left; ++i, ++given) ++quota[parts[i].index];
  return quota;
}

}  // namespace

std::string_view name_of(Sharing sharing) {
  return kSharingNames[static_cast<std::size_t>(sharing)];
}

std::optional<Sharing> sharing_called(std::string_view name) {
  const auto found = std::find(kSharingNames.begin(), kSharingNames.end(), name);
  if (found == kSharingNames.end()) return std::nullopt;
  return static_cast<Sharing>(found - kSharingNames.begin());
}

std::span<const std::string_view> sharing_names() { return kSharingNames; }

Result<TenantTree> TenantTree::build(const TenantList& list) {
  MUSTER_CHECK(!list.tenants.empty());
  MUSTER_CHECK(list.rules.reclaim_permille >= 0 && list.rules.reclaim_permille <= 1000);
  TenantTree tree(list);
  if (MaybeError refusal = tree.add_names(list)) return *refusal;
  if (MaybeError refusal = tree.add_parents(list)) return *refusal;
  if (MaybeError refusal = tree.add_paths(list)) return *refusal;
  tree.add_quotas();
  if (MaybeError refusal = tree.check_parents()) return *refusal;
  const auto has_none = [&](TenantId id) { return tree[id].quota == 0; };
  if (tree.sharing() == Sharing::kQuota &&
      std::all_of(tree.top_.begin(), tree.top_.end(), has_none)) {
    return tree.refuse(
        list.line, "tenants",
        "shared by quota, but no tenant has a quota; set quotas, or share by weight or "
        "fair");
  }
  return tree;
}

MaybeError TenantTree::add_names(const TenantList& list) {
  for (const TenantSpec& spec : list.tenants) {
    MUSTER_CHECK(!spec.name.empty());
    MUSTER_CHECK(spec.quota.value_or(0) >= 0 && spec.quota.value_or(0) <= kMaxQuota);
    MUSTER_CHECK(spec.weight_milli >= 1 && spec.weight_milli <= kMaxWeightMilli);
    if (tenants_.size() == kMaxTenants) {
      return refuse(spec.name_line, "tenants", fmt::format("more than {}", kMaxTenants));
    }
    const TenantId id(tenants_.size());
    const auto [first, added] = by_name_.emplace(spec.name, id);
    if (!added) {
      const int line = list.tenants[first->second.index()].name_line;
      return refuse(spec.name_line, "name",
                    "tenant named twice: " + in_quotes(spec.name) +
                        (line > 0 ? fmt::format("; first on line {}", line) : ""));
    }
    Tenant tenant;
    tenant.name = spec.name;
    tenant.quota = spec.quota.value_or(0);
    tenant.quota_stated = spec.quota.has_value();
    tenant.weight_milli = spec.weight_milli;
    tenant.quota_line = spec.quota_line;
    tenants_.push_back(std::move(tenant));
  }
  return std::nullopt;
}

MaybeError TenantTree::add_parents(const TenantList& list) {
  for (std::size_t i = 0; i < list.tenants.size(); ++i) {
    const TenantSpec& spec = list.tenants[i];
    if (spec.parent.empty()) {
      top_.emplace_back(i);
      continue;
    }
    const std::optional<TenantId> parent = find(spec.parent);
    if (!parent) {
      return refuse(spec.parent_line, "parent",
                    "unknown tenant: " + in_quotes(spec.parent) + suggestion(spec.parent, names()));
    }
    tenants_[TenantId(i)].parent = parent;
    tenants_[*parent].children.emplace_back(i);
  }
  return std::nullopt;
}

MaybeError TenantTree::add_paths(const TenantList& list) {
  for (std::size_t i = 0; i < tenants_.size(); ++i) {
    Tenant& tenant = tenants_[TenantId(i)];
    for (std::optional<TenantId> at = TenantId(i); at; at = tenants_[*at].parent) {
      if (tenant.path.size() == kMaxTenantLevels) return endless(TenantId(i), list);
      tenant.path.push_back(*at);
    }
  }
  return std::nullopt;
}

// The path to the root is too long: the tenant is too deep or there is a cycle.
Error TenantTree::endless(TenantId id, const TenantList& list) const {
  std::optional<TenantId> at = id;
  std::size_t levels = 0;
  for (; at && levels <= tenants_.size(); ++levels) at = tenants_[*at].parent;
  if (!at) {
    return refuse(list.tenants[id.index()].parent_line, "parent",
                  fmt::format("tenant {}: {} levels deep; at most {}", in_quotes(tenants_[id].name),
                              levels, kMaxTenantLevels));
  }
  // After this many steps `at` is on the cycle. The message starts with its first listed tenant.
  const TenantId start = *at;
  TenantId first = start;
  for (TenantId step = *tenants_[start].parent; step != start; step = *tenants_[step].parent) {
    first = std::min(first, step);
  }
  std::string cycle = tenants_[first].name;
  std::size_t length = 0;
  for (TenantId step = first; length == 0 || step != first; ++length) {
    step = *tenants_[step].parent;
    // Long cycles are abbreviated.
    if (length < kMaxTenantLevels) cycle += " -> " + tenants_[step].name;
  }
  if (length > kMaxTenantLevels) cycle += fmt::format(" -> ... -> {}", tenants_[first].name);
  return refuse(
      list.tenants[first.index()].parent_line, "parent",
      fmt::format("tenant {}: is its own ancestor: {}", in_quotes(tenants_[first].name), cycle));
}

void TenantTree::add_quotas() {
  // From the deepest level up, so that each child's quota is final before it is added to its
  // parent's.
  for (std::size_t level = kMaxTenantLevels; level > 1; --level) {
    for (const Tenant& tenant : tenants_) {
      if (tenant.path.size() != level) continue;
      Tenant& parent = tenants_[*tenant.parent];
      if (!parent.quota_stated) parent.quota += tenant.quota;
    }
  }
}

MaybeError TenantTree::check_parents() const {
  for (const Tenant& tenant : tenants_) {
    MaybeError refusal =
        check_sum(tenant.children, tenant.quota,
                  fmt::format("the {} of {}", tenant.quota, in_quotes(tenant.name)));
    if (refusal) return refusal;
  }
  return std::nullopt;
}

MaybeError TenantTree::check(std::int64_t total_gpus) const {
  if (rules_.headroom_permille == 1000) {
    return check_sum(top_, total_gpus, fmt::format("the cluster's {}", total_gpus));
  }
  const std::int64_t limit = total_gpus * rules_.headroom_permille / 1000;
  return check_sum(top_, limit, fmt::format("the {} that the headroom allows", limit));
}

MaybeError TenantTree::check_sum(const std::vector<TenantId>& beside, std::int64_t limit,
                                 const std::string& whose) const {
  std::int64_t left = limit;
  for (const TenantId id : beside) {
    const Tenant& tenant = tenants_[id];
    if (tenant.quota > left) {
      return refuse(tenant.quota_line, "quota",
                    fmt::format("tenant {}: {}{}, more than {}{}", in_quotes(tenant.name),
                                counted_gpus(tenant.quota),
                                tenant.quota_stated ? "" : " (sum of its children)",
                                left == limit ? "" : fmt::format("the {} left of ", left), whose));
    }
    left -= tenant.quota;
  }
  return std::nullopt;
}

std::size_t TenantTree::leaves() const {
  return static_cast<std::size_t>(
      std::count_if(tenants_.begin(), tenants_.end(),
                    [](const Tenant& tenant) { return tenant.children.empty(); }));
}

std::optional<TenantId> TenantTree::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

Result<TenantId> TenantTree::tenant_of_job(std::string_view name) const {
  if (const std::optional<TenantId> id = find(tenant_or_default(name))) return *id;
  if (name.empty())
    return Error{fmt::format("no tenant given, and there is no tenant named '{}'", kDefaultTenant)};
  return Error{"unknown tenant: " + in_quotes(name) + suggestion(name, names())};
}

std::vector<std::string_view> TenantTree::names() const {
  std::vector<std::string_view> all;
  all.reserve(tenants_.size());
  for (const Tenant& tenant : tenants_) all.push_back(tenant.name);
  return all;
}

Error TenantTree::refuse(int line, std::string_view field, std::string_view why) const {
  const std::string place = line > 0 ? fmt::format("{}:{}", source_, line) : source_;
  return Error{fmt::format("{}{}{}: {}", place, place.empty() ? "" : ": ", field, why)};
}

Result<TenantTree> infer_quotas(std::span<const TenantDemand> demand, std::int64_t total_gpus,
                                TenantRules rules) {
  TenantList list;
  list.rules = rules;
  std::vector<std::int64_t> amounts;
  std::map<std::string_view, std::size_t> places;
  const auto add = [&](std::string_view given_name, std::int64_t gpu_us) {
    MUSTER_CHECK(gpu_us >= 0);
    const std::string_view name = tenant_or_default(given_name);
    const auto [place, is_new] = places.emplace(name, amounts.size());
    if (is_new) {
      amounts.push_back(0);
      list.tenants.emplace_back();
      list.tenants.back().name = name;
    }
    amounts[place->second] = saturating_add(amounts[place->second], gpu_us);
  };
  for (const TenantDemand& entry : demand) add(entry.name, entry.gpu_us);
  if (demand.empty()) add(kDefaultTenant, 0);
  if (std::cmp_greater(amounts.size(), total_gpus)) {
    return Error{
        fmt::format("tenants: {} tenants but only {}, too few for a quota of 1 each; set "
                    "quotas with --tenants",
                    amounts.size(), counted_gpus(total_gpus))};
  }
  // Without any demand, all tenants get equal quotas.
  const auto idle = [](std::int64_t amount) { return amount == 0; };
  if (std::all_of(amounts.begin(), amounts.end(), idle)) amounts.assign(amounts.size(), 1);
  const std::vector<std::int64_t> quotas =
      apportion(amounts, total_gpus * rules.headroom_permille / 1000);
  for (std::size_t i = 0; i < quotas.size(); ++i) {
    list.tenants[i].quota = std::min(quotas[i], total_gpus);
  }
  return TenantTree::build(list);
}

}  // namespace muster
