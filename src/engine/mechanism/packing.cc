#include "engine/mechanism/packing.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace muster {

namespace {

constexpr double kWorthIt = 1e-6;  // Smaller gains are rounding errors.
// Minimum gain for moving a running job. A move costs it about a minute of work, a tenth of its
// work in a few rounds.
constexpr double kMoveCost = 0.05;
// Number of nodes that each node tries to exchange jobs with.
constexpr std::size_t kPartners = 24;
constexpr int kPasses = 6;
constexpr std::size_t kMaxReshuffles = 96;

}  // namespace

Packing::Packing(const Cluster& cluster, const ResourceLedger& ledger, std::span<Ask> asks,
                 NodeSolver& solver)
    : cluster_(cluster), asks_(asks), solver_(solver), pooled_(ledger.pooled()) {
  const std::size_t nodes = cluster.topology().node_count();
  nodes_.resize(pooled_ ? 1 : nodes);
  for (std::size_t s = 0; s < nodes_.size(); ++s) {
    nodes_[s].node = NodeId(s);
    nodes_[s].cpu_milli = ledger.room(NodeId(s)).cpu_milli;
    nodes_[s].mem_mib = ledger.room(NodeId(s)).mem_mib;
    nodes_[s].free_gpus = ledger.free_gpus(NodeId(s));
    nodes_[s].for_rights = ledger.room(NodeId(s));
  }
  particular_ =
      std::any_of(asks.begin(), asks.end(), [](const Ask& ask) { return ask.spec->has_least(); });
  for (std::size_t n = 0; n < nodes; ++n) usable_.push_back(ledger.free_slots(NodeId(n)));
  for (std::uint32_t i = 0; i < asks.size(); ++i) {
    const Placement& given = asks[i].given;
    if (given.empty()) continue;
    if (pooled_ || given.size() == 1) {
      HistoryNode& node = nodes_[pooled_ ? 0 : given[0].node.index()];
      node.jobs.push_back(i);
      node.free_gpus -= asks[i].spec->gpus;
      continue;
    }
    // It takes the minimum for the speed of its share, with the same amount per GPU on all its
    // nodes.
    spanning_.push_back(i);
    const Choice& least = solver_.choices(solver_.kind(*asks[i].spec, given[0].node)).front();
    for (Share& share : asks[i].given) {
      const Resources fair = at_least(cluster.fair(share.node), asks[i].spec->least);
      const bool alike = cluster.topology().uniform();
      share.cpu_milli = share.gpus() * (alike ? least.cpu_milli : fair.cpu_milli);
      share.mem_mib = share.gpus() * (alike ? least.mem_mib : fair.mem_mib);
      HistoryNode& node = nodes_[share.node.index()];
      node.cpu_milli -= share.cpu_milli;
      node.mem_mib -= share.mem_mib;
      node.free_gpus -= share.gpus();
      node.for_rights.cpu_milli -= fair.cpu_milli * share.gpus();
      node.for_rights.mem_mib -= fair.mem_mib * share.gpus();
    }
  }
  for (HistoryNode& node : nodes_) reckon(node);
  most_trials_ = 2000 + 200 * nodes_.size();
}

void Packing::reckon(HistoryNode& node) {
  node.speed = speed_with(node, {}, {});
  node.best = 0;
  for (const std::uint32_t i : node.jobs) {
    node.best += solver_.choices(kind_on(i, node)).back().speed;
  }
}

double Packing::speed_with(const HistoryNode& node, std::span<const std::uint32_t> without,
                           std::span<const std::uint32_t> with) {
  if (particular_ && !rights_fit(node, without, with)) return -1.0;
  kinds_.clear();
  for (const std::uint32_t i : node.jobs) {
    if (std::find(without.begin(), without.end(), i) == without.end()) {
      kinds_.push_back(kind_on(i, node));
    }
  }
  for (const std::uint32_t i : with) kinds_.push_back(kind_on(i, node));
  std::sort(kinds_.begin(), kinds_.end());
  const NodeSolver::Answer& answer = solver_.solve(node.cpu_milli, node.mem_mib, kinds_);
  return answer.fits ? answer.speed : -1.0;
}

// Whether the guaranteed minimums of all jobs fit together. Otherwise a job with a large minimum
// could occupy resources that other jobs are entitled to but do not use now.
bool Packing::rights_fit(const HistoryNode& node, std::span<const std::uint32_t> without,
                         std::span<const std::uint32_t> with) const {
  ResourceLedger::Room room = node.for_rights;
  const auto charge = [&](std::uint32_t i) {
    const JobSpec& spec = *asks_[i].spec;
    const Resources right = at_least(cluster_.fair(node.node), spec.least) * spec.gpus;
    room.cpu_milli -= right.cpu_milli;
    room.mem_mib -= right.mem_mib;
  };
  for (const std::uint32_t i : node.jobs) {
    if (std::find(without.begin(), without.end(), i) == without.end()) charge(i);
  }
  for (const std::uint32_t i : with) charge(i);
  return room.cpu_milli >= 0 && room.mem_mib >= 0;
}

std::int32_t Packing::gpus(std::span<const std::uint32_t> jobs) const {
  std::int32_t sum = 0;
  for (const std::uint32_t i : jobs) sum += asks_[i].spec->gpus;
  return sum;
}

std::vector<std::uint32_t> Packing::samples(const HistoryNode& node) {
  std::vector<std::uint32_t> picked;
  std::vector<JobKind> seen;
  for (const bool running : {false, true}) {
    for (const std::uint32_t i : node.jobs) {
      if ((asks_[i].held != nullptr) != running) continue;
      const JobKind kind = kind_on(i, node);
      if (std::find(seen.begin(), seen.end(), kind) != seen.end()) continue;
      seen.push_back(kind);
      picked.push_back(i);
    }
  }
  return picked;
}

std::vector<std::uint32_t> Packing::bundle(const HistoryNode& node, std::int32_t want, Pick pick) {
  std::vector<std::pair<std::int64_t, std::uint32_t>> order;
  for (const std::uint32_t i : node.jobs) {
    if (asks_[i].spec->gpus >= want) continue;
    const std::int64_t appetite = solver_.appetite(kind_on(i, node)) / asks_[i].spec->gpus;
    order.emplace_back(pick == Pick::kModest ? appetite : -appetite, i);
  }
  std::sort(order.begin(), order.end());
  if (pick == Pick::kMixed) {  // Every second job first.
    std::vector<std::pair<std::int64_t, std::uint32_t>> mixed;
    for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
      for (std::size_t k = first; k < order.size(); k += 2) mixed.push_back(order[k]);
    }
    order = std::move(mixed);
  }
  std::vector<std::uint32_t> picked;
  std::int32_t left = want;
  for (const auto& [appetite, i] : order) {
    if (asks_[i].spec->gpus > left) continue;
    picked.push_back(i);
    left -= asks_[i].spec->gpus;
  }
  if (left > 0) picked.clear();
  return picked;
}

void Packing::consider(const HistoryNode& a, const HistoryNode& b,
                       std::vector<std::uint32_t> from_a, std::vector<std::uint32_t> from_b,
                       Exchange& best) {
  if (from_a.empty() && from_b.empty()) return;
  const std::int32_t out = gpus(from_a);
  const std::int32_t in = gpus(from_b);
  if (in - out > a.free_gpus || out - in > b.free_gpus) return;
  double cost = 0;
  for (const std::uint32_t i : from_a) {
    if (!may_go(i, b)) return;
    if (asks_[i].held != nullptr) cost += kMoveCost;
  }
  for (const std::uint32_t i : from_b) {
    if (!may_go(i, a)) return;
    if (asks_[i].held != nullptr) cost += kMoveCost;
  }
  ++trials_;
  const double at_a = speed_with(a, from_a, from_b);
  if (at_a < 0) return;
  const double at_b = speed_with(b, from_b, from_a);
  if (at_b < 0) return;
  const double gain = at_a + at_b - a.speed - b.speed - cost;
  if (gain > best.gain + kWorthIt) best = {std::move(from_a), std::move(from_b), gain};
}

bool Packing::exchange_best(HistoryNode& a, HistoryNode& b) {
  Exchange best;
  const std::vector<std::uint32_t> mine = samples(a);
  const std::vector<std::uint32_t> theirs = samples(b);
  for (const std::uint32_t i : mine) {
    const std::int32_t size = asks_[i].spec->gpus;
    consider(a, b, {i}, {}, best);
    for (const std::uint32_t j : theirs) {
      if (asks_[j].spec->gpus == size && kind_on(i, a) != kind_on(j, b)) {
        consider(a, b, {i}, {j}, best);
      }
    }
    if (size > 1) {
      for (const Pick pick : {Pick::kModest, Pick::kHungry, Pick::kMixed}) {
        std::vector<std::uint32_t> several = bundle(b, size, pick);
        if (!several.empty()) consider(a, b, {i}, std::move(several), best);
      }
    }
  }
  for (const std::uint32_t j : theirs) {
    const std::int32_t size = asks_[j].spec->gpus;
    consider(a, b, {}, {j}, best);
    if (size <= 1) continue;
    for (const Pick pick : {Pick::kModest, Pick::kHungry, Pick::kMixed}) {
      std::vector<std::uint32_t> several = bundle(a, size, pick);
      if (!several.empty()) consider(a, b, std::move(several), {j}, best);
    }
  }
  if (best.gain <= kWorthIt) return false;
  const auto send = [this](HistoryNode& from, HistoryNode& to,
                           const std::vector<std::uint32_t>& jobs) {
    for (const std::uint32_t i : jobs) {
      std::erase(from.jobs, i);
      to.jobs.push_back(i);
    }
    from.free_gpus += gpus(jobs);
    to.free_gpus -= gpus(jobs);
  };
  send(a, b, best.from_a);
  send(b, a, best.from_b);
  reckon(a);
  reckon(b);
  return true;
}

void Packing::improve() {
  if (pooled_ || !feasible()) return;
  trade();
  shake();
}

double Packing::move_cost(std::uint32_t ask, const HistoryNode& node) const {
  const Placement* held = asks_[ask].held;
  return held != nullptr && held->front().node != node.node ? kMoveCost : 0.0;
}

bool Packing::reshuffle(std::span<const std::uint32_t> picked, Random& random) {
  std::vector<HistoryNode> before;
  std::vector<std::tuple<std::int32_t, std::uint64_t, std::uint32_t>> order;
  double speed_before = 0;
  for (const std::uint32_t s : picked) {
    HistoryNode& node = nodes_[s];
    before.push_back(node);
    speed_before += node.speed;
    for (const std::uint32_t i : node.jobs) {
      speed_before -= move_cost(i, node);
      order.emplace_back(-asks_[i].spec->gpus, random.next(), i);
    }
    node.free_gpus += gpus(node.jobs);
    node.jobs.clear();
    node.speed = 0;
  }
  std::sort(order.begin(), order.end());  // Large gangs first, then in random order.
  double speed_after = 0;
  bool all_fit = true;
  for (const auto& [size, lot, i] : order) {
    HistoryNode* best = nullptr;
    double best_gain = 0;
    for (std::size_t k = 0; k < picked.size(); ++k) {
      HistoryNode& node = nodes_[picked[(k + lot) % picked.size()]];  // Random tie-break.
      if (node.free_gpus < -size || !may_go(i, node)) continue;
      ++trials_;
      const std::uint32_t new_job[] = {i};
      const double speed = speed_with(node, {}, new_job);
      if (speed < 0) continue;
      const double gain = speed - node.speed - move_cost(i, node);
      if (best == nullptr || gain > best_gain + kWorthIt) {
        best = &node;
        best_gain = gain;
      }
    }
    if (best == nullptr) {
      all_fit = false;
      break;
    }
    best->speed += best_gain + move_cost(i, *best);
    best->jobs.push_back(i);
    best->free_gpus += size;
    speed_after += best_gain;
  }
  if (all_fit && speed_after > speed_before + kWorthIt) {
    for (const std::uint32_t s : picked) reckon(nodes_[s]);
    return true;
  }
  for (std::size_t k = 0; k < picked.size(); ++k) nodes_[picked[k]] = std::move(before[k]);
  return false;
}

void Packing::shake() {
  if (nodes_.size() < 2) return;
  std::size_t fresh = 0;
  for (const Ask& ask : asks_) fresh += !ask.given.empty() && ask.held == nullptr ? 1 : 0;
  if (fresh == 0) return;  // No new jobs: an earlier call has optimized the rest.
  Random random(nodes_.size());
  const std::size_t tries = std::min<std::size_t>(kMaxReshuffles, 8 + 4 * fresh);
  std::vector<std::uint32_t> order(nodes_.size());
  std::iota(order.begin(), order.end(), 0u);
  for (std::size_t n = 0; n < tries; ++n) {
    // Choose among the nodes that lack the most speed, plus two random others.
    std::sort(order.begin(), order.end(), [this](std::uint32_t x, std::uint32_t y) {
      const double a = nodes_[x].missing();
      const double b = nodes_[y].missing();
      return a != b ? a > b : x < y;
    });
    if (nodes_[order[0]].missing() <= kWorthIt) return;
    std::vector<std::uint32_t> picked = {
        order[random.below(std::min<std::size_t>(4, order.size()))]};
    while (picked.size() < std::min<std::size_t>(3, nodes_.size())) {
      const std::uint32_t other = order[random.below(order.size())];
      if (std::find(picked.begin(), picked.end(), other) == picked.end()) picked.push_back(other);
    }
    if (reshuffle(picked, random)) trade();
  }
}

void Packing::trade() {
  std::vector<std::uint32_t> order(nodes_.size());
  std::iota(order.begin(), order.end(), 0u);
  for (int pass = 0; pass < kPasses; ++pass) {
    // Nodes that lack the most speed exchange jobs with nodes that lack the least.
    std::sort(order.begin(), order.end(), [this](std::uint32_t x, std::uint32_t y) {
      const double a = nodes_[x].missing();
      const double b = nodes_[y].missing();
      return a != b ? a > b : x < y;
    });
    bool better = false;
    for (std::size_t i = 0; i < order.size(); ++i) {
      HistoryNode& a = nodes_[order[i]];
      std::size_t tried = 0;
      for (std::size_t j = order.size(); j-- > 0 && tried < kPartners;) {
        if (a.missing() <= kWorthIt || trials_ > most_trials_) break;
        if (order[j] == order[i]) continue;
        ++tried;
        while (exchange_best(a, nodes_[order[j]])) better = true;
      }
    }
    if (!better || trials_ > most_trials_) return;
  }
}

bool Packing::feasible() const {
  return std::all_of(nodes_.begin(), nodes_.end(),
                     [](const HistoryNode& node) { return node.speed >= 0; });
}

}  // namespace muster
