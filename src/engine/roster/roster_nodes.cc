// The roster's nodes: drained and unusable nodes, and resources used by external jobs.

#include <fmt/format.h>

#include <utility>

#include "base/text/text.h"
#include "engine/roster/roster.h"

namespace muster {

namespace {

NodeCondition to_condition(const NodeStateInput& input) {
  NodeCondition reported;
  reported.usable = input.usable;
  if (!input.usable) reported.why = input.why.empty() ? "it cannot be used" : input.why;
  reported.taken = {input.taken.gpus, input.taken.cpu_milli, input.taken.mem_mib, 0};
  return reported;
}

}  // namespace

bool RosterView::is_usable(NodeId node) const {
  const auto found = conditions_.find(node);
  return found == conditions_.end() || found->second.usable;
}

bool RosterView::is_shut(NodeId node) const {
  return is_drained(node) || quarantines_.contains(node) || !is_usable(node);
}

void Roster::open_unless_shut(NodeId node, bool refutes) {
  if (!is_shut(node)) events_.push_back(NodeOpened{node, refutes});
}

bool RosterView::knows(const NodeStateInput& input) const {
  const std::optional<NodeId> node = find_node(input.node);
  if (!node) return true;
  const auto found = conditions_.find(*node);
  const NodeCondition known = found == conditions_.end() ? NodeCondition() : found->second;
  const NodeCondition reported = to_condition(input);
  return known.usable == reported.usable && known.why == reported.why &&
         known.taken == reported.taken;
}

bool RosterView::knows(const LeaseNoteInput& input) const {
  const LiveJob* job = find(input.id);
  return job == nullptr || !job->lease || job->lease->number != input.lease ||
         job->lease->says == input.words;
}

void Roster::apply(const DrainInput& input) {
  const std::optional<NodeId> node = find_node(input.node);
  if (!node) return;
  const bool lifted = input.open && quarantines_.erase(*node) > 0;
  const auto known = drain_ends_.find(*node);
  const Instant until = known == drain_ends_.end() ? Instant::never() : known->second;
  const bool same_end = input.open || input.until == until;
  if (!lifted && is_drained(*node) == !input.open && same_end) return;
  drain_ends_.erase(*node);
  if (!input.open) {
    if (!is_drained(*node)) events_.push_back(NodeClosed{*node});
    drained_[node->index()] = 1;
    if (input.until == Instant::never()) {
      return note_of_node(*node, "node-drained", "takes no new jobs");
    }
    drain_ends_[*node] = input.until;
    return note_of_node(*node, "node-drained",
                        "takes no new jobs for " + rough(input.until - now_));
  }
  drained_[node->index()] = 0;
  open_unless_shut(*node);
  note_of_node(*node, "node-opened",
               is_usable(*node)
                   ? "takes jobs again"
                   : "takes jobs again once it can be used: " + conditions_.at(*node).why);
}

void Roster::end_maintenance() {
  for (auto at = drain_ends_.begin(); at != drain_ends_.end();) {
    if (at->second > now_) {
      ++at;
      continue;
    }
    const NodeId node = at->first;
    at = drain_ends_.erase(at);
    drained_[node.index()] = 0;
    open_unless_shut(node);
    note_of_node(node, "maintenance-ended",
                 !is_usable(node)
                     ? "ended its maintenance, but cannot be used: " + conditions_.at(node).why
                 : quarantines_.contains(node) ? "ended its maintenance; stays quarantined"
                                               : "ended its maintenance and takes jobs again");
  }
}

void Roster::apply(const NodeStateInput& input) {
  if (knows(input)) return;
  const NodeId node = *find_node(input.node);
  NodeCondition& here = conditions_[node];
  const NodeCondition before = here;
  here = to_condition(input);
  here.since = here.usable == before.usable ? before.since : now_;
  if (here.taken != before.taken) events_.push_back(NodeTaken{node, here.taken});
  if (!here.usable) {
    if (before.usable) events_.push_back(NodeClosed{node});
    if (here.why != before.why) note_of_node(node, "node-down", "takes no jobs: " + here.why);
    return;
  }
  if (here.taken == Resources()) conditions_.erase(node);
  if (before.usable) return;
  open_unless_shut(node);
  note_of_node(node, "node-back",
               is_drained(node)              ? "can be used again; stays drained"
               : quarantines_.contains(node) ? "can be used again; stays quarantined"
                                             : "takes jobs again");
}

}  // namespace muster
