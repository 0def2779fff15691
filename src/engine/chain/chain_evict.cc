// Chain with tenants: whose GPUs are taken back when somebody has a right to them.

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "base/types/saturate.h"
#include "engine/chain/chain.h"

namespace muster {

namespace {

// The fewest guests that make room together, and of those the cheapest. GPUs are few, so all ways
// can be compared: `best` knows the cheapest of so many guests with so many GPUs or more.
struct Choice {
  std::vector<JobId> jobs;
  std::int64_t cost = 0;
};

struct Guest {
  NodeId node;
  std::int32_t gpus;
  std::int64_t cost;
  JobId job;
};

bool largest_first(const Guest& a, const Guest& b) {
  return std::tuple(-a.gpus, a.cost, a.job) < std::tuple(-b.gpus, b.cost, b.job);
}

std::optional<Choice> cheapest_of_fewest(std::span<Guest> guests, std::int32_t need) {
  std::sort(guests.begin(), guests.end(), largest_first);
  std::size_t count = 0;
  for (std::int32_t room = 0; room < need; ++count) {
    if (count == guests.size()) return std::nullopt;
    room += guests[count].gpus;
  }
  constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();
  constexpr std::int64_t kTooMuch = std::numeric_limits<std::int64_t>::max();
  struct Link {
    std::size_t guest;
    std::size_t rest;
  };
  struct Best {
    std::int64_t cost = kTooMuch;
    std::size_t link = kNobody;
  };
  std::vector<Link> links;
  const auto wide = static_cast<std::size_t>(need) + 1;
  std::vector<Best> best((count + 1) * wide);
  best[0].cost = 0;
  for (std::size_t i = 0; i < guests.size(); ++i) {
    for (std::size_t many = count; many-- > 0;) {
      for (std::size_t gpus = 0; gpus < wide; ++gpus) {
        const Best from = best[many * wide + gpus];
        if (from.cost == kTooMuch) continue;
        const std::int64_t cost = saturating_add(from.cost, guests[i].cost);
        const std::size_t more = gpus + static_cast<std::size_t>(guests[i].gpus);
        Best& to = best[(many + 1) * wide + std::min(wide - 1, more)];
        if (cost >= to.cost) continue;
        to = {cost, links.size()};
        links.push_back({i, from.link});
      }
    }
  }
  Choice choice;
  choice.cost = best.back().cost;
  for (std::size_t at = best.back().link; at != kNobody; at = links[at].rest) {
    choice.jobs.push_back(guests[links[at].guest].job);
  }
  std::sort(choice.jobs.begin(), choice.jobs.end());
  return choice;
}

}  // namespace

// Stops jobs on borrowed GPUs for one job that has a right to them.
class Chain::Eviction {
 public:
  Eviction(Chain& chain, const View& view, Draft& draft, JobId job)
      : chain_(chain), view_(view), draft_(draft), job_(job) {}
  bool by_count();
  bool on_one_server();
  bool on_several();

 private:
  bool may_evict(JobId lent) const;
  std::int64_t work_at_risk(JobId job) const;
  std::vector<Guest> guests() const;

  Chain& chain_;
  const View& view_;
  Draft& draft_;
  JobId job_;
};

bool Chain::Eviction::may_evict(JobId lent) const {
  const JobSpec& spec = view_.spec(job_);
  return !chain_.is_protected(view_, lent) &&
         chain_.tenancy_->outranks(spec.tenant, chain_.tenancy_->distance(spec.tenant, spec.gpus),
                                   view_.spec(lent).tenant, chain_.borrowed_[lent]);
}

std::int64_t Chain::Eviction::work_at_risk(JobId job) const {
  const Duration held = view_.now() - view_.held_since(job);
  const Duration supposed =
      chain_.options_.checkpoint_interval == Duration()
          ? Duration()
          : Duration::micros(held.us() % chain_.options_.checkpoint_interval.us());
  return saturating_multiply(view_.unsaved(job).value_or(supposed).us(), view_.spec(job).gpus);
}

std::vector<Guest> Chain::Eviction::guests() const {
  std::vector<Guest> guests;
  for (const JobId each : chain_.lent_) {
    if (!may_evict(each)) continue;
    guests.push_back({NodeId(), view_.spec(each).gpus, work_at_risk(each), each});
  }
  return guests;
}

// Adaptive mechanisms find the places later.
bool Chain::Eviction::by_count() {
  std::vector<Guest> guests = this->guests();
  const std::int32_t need = view_.spec(job_).gpus - chain_.budget_;
  if (need <= 0) return false;  // It is not GPUs that it lacks.
  const auto choice = cheapest_of_fewest(guests, need);
  if (!choice) return false;
  const Draft::Mark mark = draft_.mark();
  const std::int32_t before = chain_.budget_;
  for (const JobId each : choice->jobs) {
    draft_.stop(each);
    chain_.budget_ += view_.spec(each).gpus;
  }
  if (chain_.take(view_, draft_, job_)) return true;
  draft_.rollback(mark);
  chain_.budget_ = before;
  return false;
}

// As few of all that is lent as let the job start, the largest first; of those who is not in the
// way after all stays, the costliest first.
bool Chain::Eviction::on_several() {
  std::vector<Guest> guests = this->guests();
  std::sort(guests.begin(), guests.end(), largest_first);
  const Draft::Mark mark = draft_.mark();
  const auto fits_without = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) draft_.stop(guests[i].job);
    Ask ask = chain_.ask_for(view_, job_);
    chain_.mechanism_->place(*chain_.cluster_, *chain_.placer_, draft_.books(), ask);
    draft_.rollback(mark);
    return !ask.given.empty();
  };
  if (guests.empty() || !fits_without(guests.size())) return false;
  std::size_t too_few = 0;
  std::size_t enough = guests.size();
  while (enough - too_few > 1) {
    const std::size_t middle = too_few + (enough - too_few) / 2;
    (fits_without(middle) ? enough : too_few) = middle;
  }
  guests.resize(enough);
  std::vector<Placement> held;
  for (const Guest& guest : guests) {
    held.push_back(*draft_.placement(guest.job));
    draft_.stop(guest.job);
  }
  if (!chain_.take(view_, draft_, job_)) {
    draft_.rollback(mark);
    return false;
  }
  std::vector<std::size_t> costliest(guests.size());
  for (std::size_t i = 0; i < costliest.size(); ++i) costliest[i] = i;
  std::sort(costliest.begin(), costliest.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(-guests[a].cost, guests[a].job) < std::tuple(-guests[b].cost, guests[b].job);
  });
  for (const std::size_t i : costliest) draft_.start(guests[i].job, held[i]);
  return true;
}

// The server on which the fewest, and of those the cheapest, evictions make room for a job that one
// server can hold.
bool Chain::Eviction::on_one_server() {
  const JobSpec& spec = view_.spec(job_);
  std::vector<Guest> guests;
  for (const JobId each : chain_.lent_) {
    if (!may_evict(each)) continue;
    const std::int64_t cost = work_at_risk(each);
    for (const Share& share : *draft_.placement(each)) {
      guests.push_back({share.node, share.gpus(), cost, each});
    }
  }
  std::sort(guests.begin(), guests.end(), [](const Guest& a, const Guest& b) {
    return std::tuple(a.node, a.job) < std::tuple(b.node, b.job);
  });
  std::vector<Choice> choices;
  for (std::size_t begin = 0; begin < guests.size();) {
    const NodeId node = guests[begin].node;
    std::size_t end = begin;
    while (end < guests.size() && guests[end].node == node) ++end;
    const Node& server = chain_.cluster_->topology().node(node);
    const std::int32_t need = spec.gpus - draft_.books().free_gpus(node);
    if (need > 0 && server.capacity.gpus >= spec.gpus &&
        (!spec.gpu_type || *spec.gpu_type == server.gpu_type) &&
        !is_among(view_.avoided(job_), node)) {
      auto choice = cheapest_of_fewest(std::span(guests).subspan(begin, end - begin), need);
      if (choice) choices.push_back(std::move(*choice));
    }
    begin = end;
  }
  std::stable_sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
    return std::tuple(a.jobs.size(), a.cost) < std::tuple(b.jobs.size(), b.cost);
  });
  constexpr std::size_t kTries = 4;  // A placement may have reasons of its own to refuse a server.
  for (std::size_t i = 0; i < std::min(kTries, choices.size()); ++i) {
    const Draft::Mark mark = draft_.mark();
    for (const JobId each : choices[i].jobs) draft_.stop(each);
    if (chain_.take(view_, draft_, job_)) return true;
    draft_.rollback(mark);
  }
  return false;
}

bool Chain::reclaim_for(const View& view, Draft& draft, JobId job) {
  if (take(view, draft, job)) return true;  // On what is left of an earlier eviction.
  Eviction eviction(*this, view, draft, job);
  const bool done =
      adaptive_ ? eviction.by_count() : eviction.on_one_server() || eviction.on_several();
  if (!done) return false;
  for (const JobId each : lent_) {
    if (draft.placement(each) != nullptr) continue;
    tenancy_->refund(view.spec(each));
    stops_.push_back(each);
  }
  return true;
}

}  // namespace muster
