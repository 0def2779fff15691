// Plans with tenants: which borrowed GPUs to reclaim for a job that is entitled to them.

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "base/types/saturate.h"
#include "engine/chain/composed_planner.h"

namespace muster {

namespace {

// The minimum number of borrowers that free enough GPUs, and among these sets the cheapest one.
// Dynamic programming over all sets is fast, because the number of GPUs is small.
struct Choice {
  std::vector<JobId> jobs;
  std::int64_t cost = 0;
};

struct Borrower {
  NodeId node;
  std::int32_t gpus;
  std::int64_t cost;
  JobId job;
};

bool largest_first(const Borrower& a, const Borrower& b) {
  return std::tuple(-a.gpus, a.cost, a.job) < std::tuple(-b.gpus, b.cost, b.job);
}

std::optional<Choice> cheapest_of_fewest(std::span<Borrower> borrowers, std::int32_t need) {
  std::sort(borrowers.begin(), borrowers.end(), largest_first);
  std::size_t count = 0;
  for (std::int32_t room = 0; room < need; ++count) {
    if (count == borrowers.size()) return std::nullopt;
    room += borrowers[count].gpus;
  }
  constexpr std::size_t kNoLink = std::numeric_limits<std::size_t>::max();
  constexpr std::int64_t kUnreachable = std::numeric_limits<std::int64_t>::max();
  struct Link {
    std::size_t borrower;
    std::size_t rest;
  };
  struct Best {
    std::int64_t cost = kUnreachable;
    std::size_t link = kNoLink;
  };
  std::vector<Link> links;
  const auto wide = static_cast<std::size_t>(need) + 1;
  std::vector<Best> best((count + 1) * wide);
  best[0].cost = 0;
  for (std::size_t i = 0; i < borrowers.size(); ++i) {
    for (std::size_t count_used = count; count_used-- > 0;) {
      for (std::size_t gpus = 0; gpus < wide; ++gpus) {
        const Best from = best[count_used * wide + gpus];
        if (from.cost == kUnreachable) continue;
        const std::int64_t cost = saturating_add(from.cost, borrowers[i].cost);
        const std::size_t more = gpus + static_cast<std::size_t>(borrowers[i].gpus);
        Best& to = best[(count_used + 1) * wide + std::min(wide - 1, more)];
        if (cost >= to.cost) continue;
        to = {cost, links.size()};
        links.push_back({i, from.link});
      }
    }
  }
  Choice choice;
  choice.cost = best.back().cost;
  for (std::size_t at = best.back().link; at != kNoLink; at = links[at].rest) {
    choice.jobs.push_back(borrowers[links[at].borrower].job);
  }
  std::sort(choice.jobs.begin(), choice.jobs.end());
  return choice;
}

}  // namespace

// Stops jobs on borrowed GPUs for one job that is entitled to them.
class ComposedPlanner::Eviction {
 public:
  Eviction(ComposedPlanner& chain, const View& view, Draft& draft, JobId job)
      : planner_(chain), view_(view), draft_(draft), job_(job) {}
  bool by_count();
  bool on_one_node();
  bool on_several();

 private:
  bool may_evict(JobId lent) const;
  std::int64_t work_at_risk(JobId job) const;
  std::vector<Borrower> borrowers() const;

  ComposedPlanner& planner_;
  const View& view_;
  Draft& draft_;
  JobId job_;
};

bool ComposedPlanner::Eviction::may_evict(JobId lent) const {
  const JobSpec& spec = view_.spec(job_);
  return !planner_.is_protected(view_, lent) &&
         planner_.tenancy_->outranks(spec.tenant,
                                     planner_.tenancy_->distance(spec.tenant, spec.gpus),
                                     view_.spec(lent).tenant, planner_.borrowed_[lent]);
}

std::int64_t ComposedPlanner::Eviction::work_at_risk(JobId job) const {
  const Duration held = view_.now() - view_.held_since(job);
  const Duration assumed =
      planner_.options_.checkpoint_interval == Duration()
          ? Duration()
          : Duration::micros(held.us() % planner_.options_.checkpoint_interval.us());
  return saturating_multiply(view_.unsaved(job).value_or(assumed).us(), view_.spec(job).gpus);
}

std::vector<Borrower> ComposedPlanner::Eviction::borrowers() const {
  std::vector<Borrower> borrowers;
  for (const JobId each : planner_.lent_) {
    if (!may_evict(each)) continue;
    borrowers.push_back({NodeId(), view_.spec(each).gpus, work_at_risk(each), each});
  }
  return borrowers;
}

// Needs no places, because adaptive mechanisms find them later.
bool ComposedPlanner::Eviction::by_count() {
  std::vector<Borrower> borrowers = this->borrowers();
  const std::int32_t need = view_.spec(job_).gpus - planner_.budget_;
  if (need <= 0) return false;  // It lacks CPU or memory, not GPUs.
  const auto choice = cheapest_of_fewest(borrowers, need);
  if (!choice) return false;
  const Draft::Mark mark = draft_.mark();
  const std::int32_t before = planner_.budget_;
  for (const JobId each : choice->jobs) {
    draft_.stop(each);
    planner_.budget_ += view_.spec(each).gpus;
  }
  if (planner_.take(view_, draft_, job_)) return true;
  draft_.rollback(mark);
  planner_.budget_ = before;
  return false;
}

// Stops as few borrowers as the job needs, the largest first. Then borrowers whose GPUs are still
// free keep them, the most expensive first.
bool ComposedPlanner::Eviction::on_several() {
  std::vector<Borrower> borrowers = this->borrowers();
  std::sort(borrowers.begin(), borrowers.end(), largest_first);
  const Draft::Mark mark = draft_.mark();
  const auto fits_without = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) draft_.stop(borrowers[i].job);
    Ask ask = planner_.ask_for(view_, job_);
    planner_.mechanism_->place(*planner_.cluster_, *planner_.placer_, draft_.ledger(), ask);
    draft_.rollback(mark);
    return !ask.given.empty();
  };
  if (borrowers.empty() || !fits_without(borrowers.size())) return false;
  std::size_t too_few = 0;
  std::size_t enough = borrowers.size();
  while (enough - too_few > 1) {
    const std::size_t middle = too_few + (enough - too_few) / 2;
    (fits_without(middle) ? enough : too_few) = middle;
  }
  borrowers.resize(enough);
  std::vector<Placement> held;
  for (const Borrower& borrower : borrowers) {
    held.push_back(*draft_.placement(borrower.job));
    draft_.stop(borrower.job);
  }
  if (!planner_.take(view_, draft_, job_)) {
    draft_.rollback(mark);
    return false;
  }
  std::vector<std::size_t> costliest(borrowers.size());
  for (std::size_t i = 0; i < costliest.size(); ++i) costliest[i] = i;
  std::sort(costliest.begin(), costliest.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(-borrowers[a].cost, borrowers[a].job) <
           std::tuple(-borrowers[b].cost, borrowers[b].job);
  });
  for (const std::size_t i : costliest) draft_.start(borrowers[i].job, held[i]);
  return true;
}

// For a job that fits on one node: chooses the node that needs the fewest evictions, and among
// equal ones the cheapest.
bool ComposedPlanner::Eviction::on_one_node() {
  const JobSpec& spec = view_.spec(job_);
  std::vector<Borrower> borrowers;
  for (const JobId each : planner_.lent_) {
    if (!may_evict(each)) continue;
    const std::int64_t cost = work_at_risk(each);
    for (const Share& share : *draft_.placement(each)) {
      borrowers.push_back({share.node, share.gpus(), cost, each});
    }
  }
  std::sort(borrowers.begin(), borrowers.end(), [](const Borrower& a, const Borrower& b) {
    return std::tuple(a.node, a.job) < std::tuple(b.node, b.job);
  });
  std::vector<Choice> choices;
  for (std::size_t begin = 0; begin < borrowers.size();) {
    const NodeId node = borrowers[begin].node;
    std::size_t end = begin;
    while (end < borrowers.size() && borrowers[end].node == node) ++end;
    const Node& host = planner_.cluster_->topology().node(node);
    const std::int32_t need = spec.gpus - draft_.ledger().free_gpus(node);
    if (need > 0 && host.capacity.gpus >= spec.gpus &&
        (!spec.gpu_type || *spec.gpu_type == host.gpu_type) &&
        !is_among(view_.avoided(job_), node)) {
      auto choice = cheapest_of_fewest(std::span(borrowers).subspan(begin, end - begin), need);
      if (choice) choices.push_back(std::move(*choice));
    }
    begin = end;
  }
  std::stable_sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
    return std::tuple(a.jobs.size(), a.cost) < std::tuple(b.jobs.size(), b.cost);
  });
  constexpr std::size_t kTries = 4;  // The placement may reject a node for its own reasons.
  for (std::size_t i = 0; i < std::min(kTries, choices.size()); ++i) {
    const Draft::Mark mark = draft_.mark();
    for (const JobId each : choices[i].jobs) draft_.stop(each);
    if (planner_.take(view_, draft_, job_)) return true;
    draft_.rollback(mark);
  }
  return false;
}

bool ComposedPlanner::reclaim_for(const View& view, Draft& draft, JobId job) {
  if (take(view, draft, job)) return true;  // On GPUs left over from an earlier eviction.
  Eviction eviction(*this, view, draft, job);
  const bool done =
      adaptive_ ? eviction.by_count() : eviction.on_one_node() || eviction.on_several();
  if (!done) return false;
  for (const JobId each : lent_) {
    if (draft.placement(each) != nullptr) continue;
    tenancy_->refund(view.spec(each));
    stops_.push_back(each);
  }
  return true;
}

}  // namespace muster
