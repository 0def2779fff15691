// The roster's nodes: drained and unusable nodes, and resources used by external jobs.

#include <fmt/format.h>

#include <utility>

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
  if (!lifted && is_drained(*node) == !input.open) return;
  drained_[node->index()] = input.open ? 0 : 1;
  if (!input.open) {
    events_.push_back(NodeClosed{*node});
    return note_of_node(*node, "node-drained", "takes no new jobs");
  }
  open_unless_shut(*node);
  note_of_node(*node, "node-opened",
               is_usable(*node)
                   ? "takes jobs again"
                   : "takes jobs again once it can be used: " + conditions_.at(*node).why);
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
