#include "engine/chain/tenancy.h"

#include <algorithm>

namespace muster {

Tenancy::Tenancy(const TenantTree& tree, std::int32_t total_gpus)
    : tree_(&tree), total_gpus_(total_gpus), accounts_(tree.size()) {
  for (std::size_t i = 0; i < tree.size(); ++i) {
    accounts_[TenantId(i)].part = tree[TenantId(i)].quota;
    deepest_ = std::max(deepest_, tree.path_to_root(TenantId(i)).size());
  }
}

void Tenancy::want(TenantId tenant, std::int32_t gpus) {
  for (const TenantId each : tree_->path_to_root(tenant)) accounts_[each].wanted += gpus;
}

void Tenancy::begin() {
  for (std::size_t i = 0; i < accounts_.size(); ++i) accounts_[TenantId(i)].used = 0;
  by_user_.clear();
}

void Tenancy::charge(TenantId tenant, UserId user, std::int32_t gpus) {
  for (const TenantId each : tree_->path_to_root(tenant)) accounts_[each].used += gpus;
  if (by_user()) by_user_[{tenant, user}] += gpus;
}

std::int64_t Tenancy::weight(TenantId tenant) const {
  return tree_->sharing() == Sharing::kWeight ? (*tree_)[tenant].weight_milli : 1;
}

void Tenancy::share_out() {
  if (tree_->sharing() != Sharing::kQuota) divide(tree_->top(), total_gpus_);
}

// Each tenant gets GPUs in proportion to its weight, but at most what it holds and requests. The
// rest goes to the other tenants in the same way. GPUs that cannot be divided go to the first
// tenants in the list.
void Tenancy::divide(const std::vector<TenantId>& beside, std::int64_t gpus) {
  std::vector<TenantId> unsatisfied;
  const auto demand = [&](TenantId id) { return accounts_[id].used + accounts_[id].wanted; };
  for (const TenantId id : beside) {
    accounts_[id].part = 0;
    if (demand(id) > 0) unsatisfied.push_back(id);
  }
  std::int64_t left = gpus;
  while (!unsatisfied.empty() && left > 0) {
    std::int64_t weights = 0;
    for (const TenantId id : unsatisfied) weights += weight(id);
    const std::int64_t round = left;
    bool satisfied = false;
    for (const TenantId id : unsatisfied) {
      const std::int64_t fair = round * weight(id) / weights;
      const std::int64_t lacking = demand(id) - accounts_[id].part;
      if (lacking > fair) continue;
      accounts_[id].part += lacking;
      left -= lacking;
      satisfied = true;
    }
    const auto full = [&](TenantId id) { return accounts_[id].part == demand(id); };
    if (satisfied) {
      std::erase_if(unsatisfied, full);
      continue;
    }
    for (const TenantId id : unsatisfied) {
      const std::int64_t fair = round * weight(id) / weights;
      accounts_[id].part += fair;
      left -= fair;
    }
    for (const TenantId id : unsatisfied) {
      if (left == 0) break;
      ++accounts_[id].part;
      --left;
    }
    break;
  }
  for (const TenantId id : beside) {
    if (!(*tree_)[id].children.empty()) divide((*tree_)[id].children, accounts_[id].part);
  }
}

std::size_t Tenancy::distance(TenantId tenant, std::int32_t gpus) const {
  if (within(tenant, gpus)) return 0;
  const auto path = tree_->path_to_root(tenant);
  std::size_t levels = 0;  // Counted from the top.
  for (std::size_t i = path.size(); i-- > 0 && gpus <= room(path[i]);) ++levels;
  return deepest_ - levels;
}

std::size_t Tenancy::levels_within(TenantId tenant, std::size_t distance) const {
  return distance == 0 ? tree_->path_to_root(tenant).size() : deepest_ - distance;
}

void Tenancy::charge_lender(TenantId tenant, std::size_t distance, std::int32_t gpus) {
  const auto path = tree_->path_to_root(tenant);
  const std::size_t levels = levels_within(tenant, distance);
  for (std::size_t i = path.size() - levels; i < path.size(); ++i) accounts_[path[i]].used += gpus;
}

bool Tenancy::outranks(TenantId a, std::size_t distance_a, TenantId b,
                       std::size_t distance_b) const {
  const std::size_t levels_a = levels_within(a, distance_a);
  const std::size_t levels_b = levels_within(b, distance_b);
  if (a == b) return distance_a == 0 && distance_b != 0;
  const auto path_a = tree_->path_to_root(a);
  const auto path_b = tree_->path_to_root(b);
  std::size_t common = 0;
  while (common < path_a.size() && common < path_b.size() &&
         path_a[path_a.size() - 1 - common] == path_b[path_b.size() - 1 - common]) {
    ++common;
  }
  return levels_a > common && levels_b <= common;
}

std::int64_t Tenancy::used_by(TenantId tenant, UserId user) const {
  const auto found = by_user_.find({tenant, user});
  return found == by_user_.end() ? 0 : found->second;
}

int Tenancy::compare_turns(TenantId a, UserId user_a, TenantId b, UserId user_b) const {
  if (tree_->sharing() == Sharing::kQuota) return 0;
  const auto sign = [](std::int64_t left, std::int64_t right) {
    return left < right ? -1 : static_cast<int>(left > right);
  };
  const auto path_a = tree_->path_to_root(a);
  const auto path_b = tree_->path_to_root(b);
  // Compares from the top down to the level where the paths separate.
  std::size_t level = 0;
  while (level < path_a.size() && level < path_b.size()) {
    const TenantId up_a = path_a[path_a.size() - 1 - level];
    const TenantId up_b = path_b[path_b.size() - 1 - level];
    if (up_a != up_b) {
      return sign(accounts_[up_a].used * weight(up_b), accounts_[up_b].used * weight(up_a));
    }
    ++level;
  }
  if (!by_user() || a != b) return 0;
  return sign(used_by(a, user_a), used_by(b, user_b));
}

bool Tenancy::may_reclaim(std::int32_t free_gpus) const {
  return (total_gpus_ - free_gpus) * 1000 >= total_gpus_ * tree_->reclaim_permille();
}

}  // namespace muster
