#include "api/port/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text/columns.h"
#include "base/text/wording.h"
#include "base/types/check.h"

namespace muster {

namespace {

using Levels = std::vector<double>;  // Mean number of GPUs per time step.

struct TenantSums {
  Levels used, over, idle, lent;
  std::vector<char> worked;
  double lent_now = 0;
};

struct Change {
  Instant at;
  std::int64_t gpus = 0;
};

class Sums {
 public:
  explicit Sums(const UsageFacts& facts);

  const TenantSums& of(std::size_t tenant) const { return sums_[tenant]; }
  double borrowed_now(std::size_t tenant) const;
  std::int64_t used_now(std::size_t tenant) const { return used_now_[tenant]; }
  Instant begin_of(std::size_t step) const;
  // Negative: no tenant used GPUs in this step.
  double fairness(std::size_t step) const;

 private:
  void find_parents();
  void charge();
  void add_level(std::size_t tenant, TimeWindow part, std::int64_t level);
  void mark_work();
  void lend();
  struct Parts {  // Lent GPUs as a fraction of all GPUs beyond quotas, and of all unused quota.
    double taken = 0, given = 0;
  };
  // Computes the fractions from total GPUs beyond quotas and total unused quota.
  Parts parts_of(double over, double idle) const;
  // GPUs beyond the tenant's quota if it uses `level` GPUs.
  std::int64_t beyond(std::size_t tenant, std::int64_t level) const;
  // Unused GPUs of its quota if it uses `level` GPUs.
  std::int64_t unused(std::size_t tenant, std::int64_t level) const;
  // Visits the tenant and all its ancestors.
  template <class Visit>
  void for_path(std::uint32_t tenant, Visit visit) const;
  std::size_t step_at(Instant at) const;

  const UsageFacts& facts_;
  bool quotas_ = false;
  double unassigned_ = 0;  // GPUs outside all quotas.
  std::vector<char> leaf_;
  std::vector<TenantSums> sums_;
  std::vector<std::int64_t> used_now_;
};

Sums::Sums(const UsageFacts& facts) : facts_(facts) {
  MUSTER_CHECK(facts.points > 0 && facts.window.begin < facts.window.end);
  const std::size_t tenants = facts.tenants.size();
  leaf_.assign(tenants, 1);
  used_now_.assign(tenants, 0);
  sums_.resize(tenants);
  for (std::size_t i = 0; i < tenants; ++i) {
    const UsageTenant& tenant = facts.tenants[i];
    for (Levels* levels : {&sums_[i].used, &sums_[i].over, &sums_[i].idle, &sums_[i].lent}) {
      levels->assign(facts.points, 0);
    }
    sums_[i].worked.assign(facts.points, 0);
    quotas_ = quotas_ || tenant.quota > 0;
    if (tenant.parent) leaf_[*tenant.parent] = 0;
    for_path(static_cast<std::uint32_t>(i),
             [&](std::uint32_t above) { used_now_[above] += tenant.used_now; });
  }
  unassigned_ = static_cast<double>(facts.gpus);
  for (std::size_t i = 0; i < tenants; ++i) {
    if (leaf_[i] != 0) unassigned_ -= static_cast<double>(facts.tenants[i].quota);
  }
  unassigned_ = std::max(0.0, unassigned_);
  charge();
  mark_work();
  lend();
}

template <class Visit>
void Sums::for_path(std::uint32_t tenant, Visit visit) const {
  for (std::optional<std::uint32_t> at = tenant; at; at = facts_.tenants[*at].parent) visit(*at);
}

Instant Sums::begin_of(std::size_t step) const {
  const std::int64_t length = (facts_.window.end - facts_.window.begin).us();
  const auto points = static_cast<std::int64_t>(facts_.points);
  const auto at = static_cast<std::int64_t>(step);
  return facts_.window.begin +
         Duration::micros(length / points * at + length % points * at / points);
}

std::size_t Sums::step_at(Instant at) const {
  const double part = static_cast<double>((at - facts_.window.begin).us()) /
                      static_cast<double>((facts_.window.end - facts_.window.begin).us());
  auto step = std::min(facts_.points - 1,
                       static_cast<std::size_t>(part * static_cast<double>(facts_.points)));
  while (step > 0 && begin_of(step) > at) --step;
  while (step + 1 < facts_.points && begin_of(step + 1) <= at) ++step;
  return step;
}

std::int64_t Sums::beyond(std::size_t tenant, std::int64_t level) const {
  const UsageTenant& whose = facts_.tenants[tenant];
  return quotas_ && whose.quota_known ? std::max<std::int64_t>(0, level - whose.quota) : 0;
}

std::int64_t Sums::unused(std::size_t tenant, std::int64_t level) const {
  return quotas_ ? std::max<std::int64_t>(0, facts_.tenants[tenant].quota - level) : 0;
}

void Sums::add_level(std::size_t tenant, TimeWindow part, std::int64_t level) {
  TenantSums& sums = sums_[tenant];
  for (std::size_t step = step_at(part.begin); part.begin < part.end; ++step) {
    const Instant begin = begin_of(step), end = begin_of(step + 1);
    const Instant until = std::min(end, part.end);
    const double share =
        static_cast<double>((until - part.begin).us()) / static_cast<double>((end - begin).us());
    sums.used[step] += static_cast<double>(level) * share;
    sums.over[step] += static_cast<double>(beyond(tenant, level)) * share;
    sums.idle[step] += static_cast<double>(unused(tenant, level)) * share;
    part.begin = until;
  }
}

void Sums::charge() {
  const TimeWindow& window = facts_.window;
  std::vector<std::vector<Change>> changes(facts_.tenants.size());
  for (const TenantHold& hold : facts_.holds) {
    const Instant begin = std::max(hold.begin, window.begin);
    const Instant end = std::min(hold.end, window.end);
    if (begin >= end) continue;
    for_path(hold.tenant, [&](std::uint32_t tenant) {
      changes[tenant].push_back({begin, hold.gpus});
      changes[tenant].push_back({end, -hold.gpus});
    });
  }
  for (std::size_t i = 0; i < changes.size(); ++i) {
    std::sort(changes[i].begin(), changes[i].end(),
              [](const Change& a, const Change& b) { return a.at < b.at; });
    changes[i].push_back({window.end, 0});
    Instant at = window.begin;
    std::int64_t level = 0;
    for (const Change& change : changes[i]) {
      if (change.at > at) add_level(i, {at, change.at}, level);
      at = change.at;
      level += change.gpus;
    }
  }
}

void Sums::mark_work() {
  std::vector<std::vector<std::int64_t>> begun(facts_.tenants.size());
  for (auto& steps : begun) steps.assign(facts_.points + 1, 0);
  for (const TenantWork& work : facts_.work) {
    if (work.begin >= facts_.window.end || work.end <= facts_.window.begin) continue;
    ++begun[work.tenant][step_at(std::max(work.begin, facts_.window.begin))];
    const Instant last = std::min(work.end, facts_.window.end) - Duration::micros(1);
    --begun[work.tenant][step_at(last) + 1];
  }
  for (std::size_t i = 0; i < begun.size(); ++i) {
    std::int64_t jobs = 0;
    for (std::size_t step = 0; step < facts_.points; ++step) {
      jobs += begun[i][step];
      sums_[i].worked[step] = jobs > 0 ? 1 : 0;
    }
  }
}

Sums::Parts Sums::parts_of(double over, double idle) const {
  const double lent = std::min(idle, over - std::min(over, unassigned_));
  return {over > 0 ? lent / over : 0, idle > 0 ? lent / idle : 0};
}

// A parent lends what its children lend, minus what they borrow.
void Sums::lend() {
  const auto share_out = [this](const auto& over_of, const auto& idle_of, const auto& lent_of) {
    double over = 0, idle = 0;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      if (leaf_[i] == 0) continue;
      over += over_of(i);
      idle += idle_of(i);
    }
    const Parts parts = parts_of(over, idle);
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      if (leaf_[i] == 0) continue;
      const double lent = idle_of(i) * parts.given;
      for_path(static_cast<std::uint32_t>(i), [&](std::uint32_t tenant) {
        lent_of(tenant) += tenant == i ? lent : lent - over_of(i) * parts.taken;
      });
    }
  };
  for (std::size_t step = 0; step < facts_.points; ++step) {
    share_out([&](std::size_t i) { return sums_[i].over[step]; },
              [&](std::size_t i) { return sums_[i].idle[step]; },
              [&](std::size_t i) -> double& { return sums_[i].lent[step]; });
  }
  share_out([&](std::size_t i) { return borrowed_now(i); },
            [&](std::size_t i) { return static_cast<double>(unused(i, used_now_[i])); },
            [&](std::size_t i) -> double& { return sums_[i].lent_now; });
}

double Sums::borrowed_now(std::size_t tenant) const {
  return static_cast<double>(beyond(tenant, used_now_[tenant]));
}

double Sums::fairness(std::size_t step) const {
  double sum = 0, squares = 0, count = 0;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    if (leaf_[i] == 0 || sums_[i].worked[step] == 0) continue;
    const auto quota = static_cast<double>(facts_.tenants[i].quota);
    if (quotas_ && quota <= 0) continue;
    const double x = sums_[i].used[step] / (quotas_ ? quota : 1);
    sum += x;
    squares += x * x;
    count += 1;
  }
  return squares > 0 ? sum * sum / (count * squares) : -1;
}

void append_levels(std::string& out, const char* key, const Levels& levels) {
  out += fmt::format(",\"{}\":", key);
  append_column(out, levels,
                [](std::string& to, double level) { append_level(to, std::max(0.0, level)); });
}

void append_tenant(std::string& out, const UsageFacts& facts, const Sums& sums, std::size_t i) {
  const UsageTenant& tenant = facts.tenants[i];
  out += "{\"name\":" + json_text(tenant.name);
  if (tenant.parent) out += ",\"parent\":" + json_text(facts.tenants[*tenant.parent].name);
  out += fmt::format(",\"quota\":{},\"running\":{},\"queued\":{},\"used_now\":{},\"borrowed_now\":",
                     tenant.quota, tenant.running, tenant.queued, sums.used_now(i));
  append_level(out, sums.borrowed_now(i));
  out += ",\"lent_now\":";
  append_level(out, std::max(0.0, sums.of(i).lent_now));
  append_levels(out, "used", sums.of(i).used);
  append_levels(out, "borrowed", sums.of(i).over);
  append_levels(out, "lent", sums.of(i).lent);
  out += '}';
}

void append_holder(std::string& out, const UsageHolder& holder) {
  out += fmt::format("{{\"tenant\":{},\"job\":{}", json_text(holder.tenant), holder.job);
  if (!holder.user.empty()) out += ",\"user\":" + json_text(holder.user);
  if (!holder.name.empty()) out += ",\"name\":" + json_text(holder.name);
  out += fmt::format(",\"gpus\":{},\"since\":", holder.gpus);
  append_seconds(out, holder.since.us(), 3);
  out += ",\"of\":" + json_text(holder.of) + "}";
}

}  // namespace

std::string usage_json(const UsageFacts& facts) {
  const Sums sums(facts);
  std::string out = "{\"from\":";
  append_seconds(out, facts.window.begin.us(), 3);
  out += ",\"to\":";
  append_seconds(out, facts.window.end.us(), 3);
  out += ",\"times\":[";
  for (std::size_t step = 0; step < facts.points; ++step) {
    if (step > 0) out += ',';
    append_seconds(out, sums.begin_of(step).us(), 3);
  }
  out += fmt::format("],\"gpus\":{},\"tenants\":[", facts.gpus);
  for (std::size_t i = 0; i < facts.tenants.size(); ++i) {
    if (i > 0) out += ',';
    append_tenant(out, facts, sums, i);
  }
  out += "],\"fairness\":[";
  for (std::size_t step = 0; step < facts.points; ++step) {
    if (step > 0) out += ',';
    const double fairness = sums.fairness(step);
    fairness < 0 ? void(out += "null")
                 : append_seconds(out, static_cast<std::int64_t>(fairness * 1e6), 3);
  }
  out += "],\"holders\":";
  append_column(out, facts.holders, append_holder);
  out += ",\"missing\":" + json_text(facts.missing) + "}";
  return out;
}

}  // namespace muster
