#include "engine/mechanism/packing.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace muster {

namespace {

constexpr double kWorthIt = 1e-6;  // Smaller gains are rounding.
// A job that runs must gain its server this much speed to be moved: it loses about a minute of work
// by it, a tenth of what it does in a few rounds.
constexpr double kMoveCost = 0.05;
constexpr std::size_t kPartners = 24;  // Servers each server tries to trade with.
constexpr int kPasses = 6;
constexpr std::size_t kMostShakes = 96;

}  // namespace

Packing::Packing(const Cluster& cluster, const Books& books, std::span<Ask> asks,
                 ServerSolver& solver)
    : cluster_(cluster), asks_(asks), solver_(solver), pooled_(books.pooled()) {
  const std::size_t nodes = cluster.topology().node_count();
  servers_.resize(pooled_ ? 1 : nodes);
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    servers_[s].node = NodeId(s);
    servers_[s].cpu_milli = books.room(NodeId(s)).cpu_milli;
    servers_[s].mem_mib = books.room(NodeId(s)).mem_mib;
    servers_[s].free_gpus = books.free_gpus(NodeId(s));
    servers_[s].for_rights = books.room(NodeId(s));
  }
  particular_ =
      std::any_of(asks.begin(), asks.end(), [](const Ask& ask) { return ask.spec->has_least(); });
  for (std::size_t n = 0; n < nodes; ++n) usable_.push_back(books.free_slots(NodeId(n)));
  for (std::uint32_t i = 0; i < asks.size(); ++i) {
    const Placement& given = asks[i].given;
    if (given.empty()) continue;
    if (pooled_ || given.size() == 1) {
      Server& server = servers_[pooled_ ? 0 : given[0].node.index()];
      server.jobs.push_back(i);
      server.free_gpus -= asks[i].spec->gpus;
      continue;
    }
    // It takes the least that keeps it at its share's speed, the same on all its servers.
    spanning_.push_back(i);
    const Choice& least = solver_.choices(solver_.kind(*asks[i].spec, given[0].node)).front();
    for (Share& share : asks[i].given) {
      const Resources fair = at_least(cluster.fair(share.node), asks[i].spec->least);
      const bool alike = cluster.topology().uniform();
      share.cpu_milli = share.gpus() * (alike ? least.cpu_milli : fair.cpu_milli);
      share.mem_mib = share.gpus() * (alike ? least.mem_mib : fair.mem_mib);
      Server& server = servers_[share.node.index()];
      server.cpu_milli -= share.cpu_milli;
      server.mem_mib -= share.mem_mib;
      server.free_gpus -= share.gpus();
      server.for_rights.cpu_milli -= fair.cpu_milli * share.gpus();
      server.for_rights.mem_mib -= fair.mem_mib * share.gpus();
    }
  }
  for (Server& server : servers_) reckon(server);
  most_trials_ = 2000 + 200 * servers_.size();
}

void Packing::reckon(Server& server) {
  server.speed = speed_with(server, {}, {});
  server.best = 0;
  for (const std::uint32_t i : server.jobs) {
    server.best += solver_.choices(kind_on(i, server)).back().speed;
  }
}

double Packing::speed_with(const Server& server, std::span<const std::uint32_t> without,
                           std::span<const std::uint32_t> with) {
  if (particular_ && !rights_fit(server, without, with)) return -1.0;
  kinds_.clear();
  for (const std::uint32_t i : server.jobs) {
    if (std::find(without.begin(), without.end(), i) == without.end()) {
      kinds_.push_back(kind_on(i, server));
    }
  }
  for (const std::uint32_t i : with) kinds_.push_back(kind_on(i, server));
  std::sort(kinds_.begin(), kinds_.end());
  const ServerSolver::Answer& answer = solver_.solve(server.cpu_milli, server.mem_mib, kinds_);
  return answer.fits ? answer.speed : -1.0;
}

// Whether each could have what it has a right to, should somebody want back what is above that.
// Without this a job that asks for much could sit on what others do not use just now.
bool Packing::rights_fit(const Server& server, std::span<const std::uint32_t> without,
                         std::span<const std::uint32_t> with) const {
  Books::Room room = server.for_rights;
  const auto charge = [&](std::uint32_t i) {
    const JobSpec& spec = *asks_[i].spec;
    const Resources right = at_least(cluster_.fair(server.node), spec.least) * spec.gpus;
    room.cpu_milli -= right.cpu_milli;
    room.mem_mib -= right.mem_mib;
  };
  for (const std::uint32_t i : server.jobs) {
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

std::vector<std::uint32_t> Packing::samples(const Server& server) {
  std::vector<std::uint32_t> picked;
  std::vector<JobKind> seen;
  for (const bool running : {false, true}) {
    for (const std::uint32_t i : server.jobs) {
      if ((asks_[i].held != nullptr) != running) continue;
      const JobKind kind = kind_on(i, server);
      if (std::find(seen.begin(), seen.end(), kind) != seen.end()) continue;
      seen.push_back(kind);
      picked.push_back(i);
    }
  }
  return picked;
}

std::vector<std::uint32_t> Packing::bundle(const Server& server, std::int32_t want, Pick pick) {
  std::vector<std::pair<std::int64_t, std::uint32_t>> order;
  for (const std::uint32_t i : server.jobs) {
    if (asks_[i].spec->gpus >= want) continue;
    const std::int64_t appetite = solver_.appetite(kind_on(i, server)) / asks_[i].spec->gpus;
    order.emplace_back(pick == Pick::kModest ? appetite : -appetite, i);
  }
  std::sort(order.begin(), order.end());
  if (pick == Pick::kMixed) {  // Every other one first.
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

void Packing::consider(const Server& a, const Server& b, std::vector<std::uint32_t> from_a,
                       std::vector<std::uint32_t> from_b, Exchange& best) {
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

bool Packing::exchange_best(Server& a, Server& b) {
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
  const auto send = [this](Server& from, Server& to, const std::vector<std::uint32_t>& jobs) {
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

double Packing::move_cost(std::uint32_t ask, const Server& server) const {
  const Placement* held = asks_[ask].held;
  return held != nullptr && held->front().node != server.node ? kMoveCost : 0.0;
}

bool Packing::reshuffle(std::span<const std::uint32_t> picked, Random& random) {
  std::vector<Server> before;
  std::vector<std::tuple<std::int32_t, std::uint64_t, std::uint32_t>> order;
  double was = 0;
  for (const std::uint32_t s : picked) {
    Server& server = servers_[s];
    before.push_back(server);
    was += server.speed;
    for (const std::uint32_t i : server.jobs) {
      was -= move_cost(i, server);
      order.emplace_back(-asks_[i].spec->gpus, random.next(), i);
    }
    server.free_gpus += gpus(server.jobs);
    server.jobs.clear();
    server.speed = 0;
  }
  std::sort(order.begin(), order.end());  // Large gangs first, otherwise by lot.
  double is = 0;
  bool all_fit = true;
  for (const auto& [size, lot, i] : order) {
    Server* best = nullptr;
    double best_gain = 0;
    for (std::size_t k = 0; k < picked.size(); ++k) {
      Server& server = servers_[picked[(k + lot) % picked.size()]];  // Ties fall by lot.
      if (server.free_gpus < -size || !may_go(i, server)) continue;
      ++trials_;
      const std::uint32_t newcomer[] = {i};
      const double speed = speed_with(server, {}, newcomer);
      if (speed < 0) continue;
      const double gain = speed - server.speed - move_cost(i, server);
      if (best == nullptr || gain > best_gain + kWorthIt) {
        best = &server;
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
    is += best_gain;
  }
  if (all_fit && is > was + kWorthIt) {
    for (const std::uint32_t s : picked) reckon(servers_[s]);
    return true;
  }
  for (std::size_t k = 0; k < picked.size(); ++k) servers_[picked[k]] = std::move(before[k]);
  return false;
}

void Packing::shake() {
  if (servers_.size() < 2) return;
  std::size_t fresh = 0;
  for (const Ask& ask : asks_) fresh += !ask.given.empty() && ask.held == nullptr ? 1 : 0;
  if (fresh == 0) return;  // Nobody new: what is there was shaken before.
  Random random(servers_.size());
  const std::size_t tries = std::min<std::size_t>(kMostShakes, 8 + 4 * fresh);
  std::vector<std::uint32_t> order(servers_.size());
  std::iota(order.begin(), order.end(), 0u);
  for (std::size_t n = 0; n < tries; ++n) {
    // One of those that miss the most, and any two others.
    std::sort(order.begin(), order.end(), [this](std::uint32_t x, std::uint32_t y) {
      const double a = servers_[x].missing();
      const double b = servers_[y].missing();
      return a != b ? a > b : x < y;
    });
    if (servers_[order[0]].missing() <= kWorthIt) return;
    std::vector<std::uint32_t> picked = {
        order[random.below(std::min<std::size_t>(4, order.size()))]};
    while (picked.size() < std::min<std::size_t>(3, servers_.size())) {
      const std::uint32_t other = order[random.below(order.size())];
      if (std::find(picked.begin(), picked.end(), other) == picked.end()) picked.push_back(other);
    }
    if (reshuffle(picked, random)) trade();
  }
}

void Packing::trade() {
  std::vector<std::uint32_t> order(servers_.size());
  std::iota(order.begin(), order.end(), 0u);
  for (int pass = 0; pass < kPasses; ++pass) {
    // Those that miss the most trade with those that miss the least.
    std::sort(order.begin(), order.end(), [this](std::uint32_t x, std::uint32_t y) {
      const double a = servers_[x].missing();
      const double b = servers_[y].missing();
      return a != b ? a > b : x < y;
    });
    bool better = false;
    for (std::size_t i = 0; i < order.size(); ++i) {
      Server& a = servers_[order[i]];
      std::size_t tried = 0;
      for (std::size_t j = order.size(); j-- > 0 && tried < kPartners;) {
        if (a.missing() <= kWorthIt || trials_ > most_trials_) break;
        if (order[j] == order[i]) continue;
        ++tried;
        while (exchange_best(a, servers_[order[j]])) better = true;
      }
    }
    if (!better || trials_ > most_trials_) return;
  }
}

bool Packing::feasible() const {
  return std::all_of(servers_.begin(), servers_.end(),
                     [](const Server& server) { return server.speed >= 0; });
}

}  // namespace muster
