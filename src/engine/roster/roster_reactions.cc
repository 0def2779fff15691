// The roster's reactions to failures. Each reaction is a note with its reason.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/text/text.h"
#include "engine/roster/roster.h"

namespace muster {

namespace {

constexpr std::size_t kMaxNoteWords = 119;
constexpr Duration kFirstLossWait = Duration::seconds(1);
constexpr Duration kLongestQuarantine = Duration::seconds(86'400);
constexpr const char* kFailedTest = "failed node test";

const char* s_of(std::int64_t count) { return count == 1 ? "" : "s"; }

// "measured: Xid 79 twice within 2 min", "reported by 2 users of 2 tenants: ..."
std::string quarantine_text(const Charge& charge) {
  const std::string within = rough(std::max(charge.within, Duration::seconds(1)));
  if (charge.grade == EvidenceGrade::kMeasured) {
    return fmt::format("measured: {} within {}", charge.what, within);
  }
  std::string by = fmt::format("reported by {} user{}", charge.users, s_of(charge.users));
  if (charge.tenants.size() > 1) by += fmt::format(" of {} tenants", charge.tenants.size());
  const std::string_view reason = info_of(charge.reason).key;
  if (!charge.young) {
    return fmt::format("{}: {}, {} attempt{} within {}", by, reason, charge.failures,
                       s_of(charge.failures), within);
  }
  return fmt::format("{}: {} early failure{} within {}, last: {}", by, charge.failures,
                     s_of(charge.failures), within, reason);
}

// The failure and the reaction, as much of it as fits in one line.
std::string first_line(const std::string& says, const std::string& what, const std::string& next,
                       const std::string& why) {
  const std::string because = why.empty() ? "" : ": " + why;
  if (says.empty()) return brief(fmt::format("{}; {}{}", what, next, because));
  const std::string shortest = "; " + next;
  for (const std::string& tail :
       {fmt::format(": {}; {}{}", what, next, because), shortest + because}) {
    if (says.size() + tail.size() <= kMaxNoteWords) return says + tail;
  }
  if (says.size() + shortest.size() <= kMaxNoteWords) return says + shortest;
  return says.substr(0, kMaxNoteWords - 3 - std::min(shortest.size(), kMaxNoteWords / 2)) + "..." +
         shortest.substr(0, kMaxNoteWords / 2);
}

std::string memory_text(std::int64_t mib) {
  return mib < 1024 ? fmt::format("{} MiB", mib)
                    : fmt::format("{:.4g} GiB", static_cast<double>(mib) / 1024);
}

}  // namespace

std::string brief(std::string words) {
  if (words.size() > kMaxNoteWords) words = words.substr(0, kMaxNoteWords - 3) + "...";
  return words;
}

// Call before the engine's actions, which may end the jobs.
void Roster::tell_reactions() {
  for (const Quarantine& each : engine_->quarantines()) begin_quarantine(each);
  for (const FailureDecision& each : engine_->reactions()) {
    const auto found = jobs_.find(live_of_[each.job.index()]);
    if (found != jobs_.end() && found->second.row == each.job) tell(each, found->second);
  }
}

void Roster::tell(const FailureDecision& reaction, LiveJob& job) {
  const Verdict& verdict = reaction.verdict;
  std::vector<std::string> names;
  for (const NodeId node : reaction.avoided) {
    names.push_back(world_->settings.topology.node(node).name);
  }
  std::string next = "not retried";
  if (verdict.next == Verdict::Next::kRetry) {
    next = verdict.wait > Duration() ? "retried in " + rough(verdict.wait) : "retried";
  } else if (verdict.again()) {
    next = names.empty() ? "retried on the same nodes, no other node can take it"
                         : "retried elsewhere, not on " + first_few(names);
  }
  const std::string what =
      fmt::format("{} on attempt {}", words_of(reaction.reason), job.lease_base + reaction.epoch);
  const std::string& why = verdict.why.empty() ? job.why : verdict.why;
  // Without a retry, the note about its end contains this.
  if (verdict.again()) {
    note(job, "retried", brief(fmt::format("{}; {}: {}", what, next, why)));
    begin_wait(job, verdict.wait);
  }
  job.why = first_line(job.why, what, next, verdict.why);
}

// Text for a job that its memory limit killed: the limit and its origin.
std::string Roster::over_memory(const Placement& placement) const {
  const Share& share = placement.front();
  const bool alike = std::all_of(placement.begin(), placement.end(), [&](const Share& other) {
    return other.mem_mib == share.mem_mib && other.gpus() == share.gpus();
  });
  if (!alike) return "the job exceeded its memory limit on one of its nodes";
  const Resources& all = world_->settings.topology.node(share.node).capacity;
  std::string words =
      fmt::format("the job exceeded its memory limit of {}", memory_text(share.mem_mib));
  const std::int64_t off = share.mem_mib * all.gpus - all.mem_mib * share.gpus();
  if (std::abs(off) <= all.gpus) {  // Tolerance for rounding down.
    words += fmt::format(" (share of {} of {} GPU{})", share.gpus(), all.gpus, s_of(all.gpus));
  }
  if (placement.size() > 1) words += fmt::format(" on one of its {} nodes", placement.size());
  return words;
}

// Its processes are gone for an unknown reason; this does not count as a failure of the job.
void Roster::lose_lease(LiveJob& job, Epoch epoch) {
  const Duration wait = kFirstLossWait * (std::int64_t{1} << (job.losses - 1));
  job.why = fmt::format("its processes were lost; retried in {}", rough(wait));
  note(job, "lost", job.why);
  begin_wait(job, wait);
  events_.push_back(LeaseLost{*job.row, epoch, wait});
}

void Roster::begin_quarantine(const Quarantine& quarantine) {
  const Duration period = world_->settings.quarantine;
  NodeQuarantine& here = quarantines_[quarantine.node];
  here = {};
  here.grade = quarantine.charge.grade;
  here.why = quarantine_text(quarantine.charge);
  here.since = now_;
  here.until = now_ + period;
  here.period = period;
  note_of_node(quarantine.node, "node-quarantined",
               fmt::format("is quarantined for {}: {}", rough(period), here.why));
}

void Roster::order_test(NodeId node, const char* why) {
  Order order;
  order.kind = Order::Kind::kTest;
  order.node = world_->settings.topology.node(node).name;
  orders_.push_back(std::move(order));
  note_of_node(node, "node-tested", why);
}

// Call after the engine has decided about the evidence of the step.
void Roster::test_nodes() {
  for (const NodeId node : std::exchange(measured_, {})) {
    if (is_shut(node) || !checks_.insert(node).second) continue;
    order_test(node, "is being tested because of a measured event");
  }
  for (auto& [node, quarantine] : quarantines_) {
    if (quarantine.testing || quarantine.until > now_ || !is_usable(node)) continue;
    quarantine.testing = true;
    order_test(node, "is being tested to end its quarantine");
  }
}

void Roster::apply(const NodeEvidenceInput& input) {
  const std::optional<NodeId> node = find_node(input.node);
  if (!node) return;
  events_.push_back(NodeEvidence{*node, input.what});
  measured_.insert(*node);
  note_of_node(*node, "node-evidence", brief("has a measured event: " + input.what));
}

// The test of a schedulable node has ended.
void Roster::end_check(NodeId node, const NodeTestInput& input) {
  if (input.ok) return note_of_node(node, "node-test-passed", "passed its test");
  events_.push_back(NodeEvidence{node, kFailedTest});
  note_of_node(node, "node-test-failed", brief("failed its test: " + input.words));
}

void Roster::apply(const NodeTestInput& input) {
  const std::optional<NodeId> node = find_node(input.node);
  if (!node) return;
  const bool was_check = checks_.erase(*node) > 0;
  const auto found = quarantines_.find(*node);
  if (found == quarantines_.end() && was_check) return end_check(*node, input);
  if (found == quarantines_.end() || !found->second.testing) return;
  if (input.ok) {
    const bool refutes = found->second.grade == EvidenceGrade::kReported;
    quarantines_.erase(found);
    open_unless_shut(*node, refutes);
    note_of_node(*node, "node-returned",
                 is_drained(*node) ? "passed its test; stays drained"
                 : is_usable(*node)
                     ? "passed its test and takes jobs again"
                     : "passed its test, but cannot be used: " + conditions_.at(*node).why);
    return;
  }
  NodeQuarantine& quarantine = found->second;
  quarantine.testing = false;
  quarantine.test = input.words;
  quarantine.grade = EvidenceGrade::kMeasured;
  quarantine.period = std::min(quarantine.period * 2, kLongestQuarantine);
  quarantine.until = now_ + quarantine.period;
  note_of_node(*node, "node-test-failed",
               fmt::format("stays quarantined for {} because its test failed: {}",
                           rough(quarantine.period), input.words));
}

// Call after the actions of a step: jobs that have a lease by then keep running.
void Roster::hold_siblings() {
  for (const LiveId id : std::exchange(last_straws_, {})) {
    const LiveJob& failed = jobs_.at(id);
    const Siblings siblings = siblings_of(failed);
    const std::string why = fmt::format(
        "the last {} jobs {} failed the same way: {}", SiblingWatch::kMaxAlike,
        failed.array != 0 ? "of its array" : "with its name", words_of(*failed.failed_by));
    std::int64_t held = 0;
    for (auto& [other, job] : jobs_) {
      if (job.end || job.held || job.cancelled || job.lease || job.leases_used > 0) continue;
      if (job.user != failed.user || job.array != failed.array) continue;
      if (siblings_of(job) != siblings) continue;
      job.held = true;
      job.held_why = why;
      ++held;
      touch(other);
      if (!job.row) continue;
      withdraw(job);
      leave(job);
    }
    if (held == 0) continue;
    if (const auto line = lines_.find(failed.array); line != lines_.end()) {
      std::erase_if(line->second.waiting, [this](LiveId each) { return jobs_.at(each).held; });
    }
    note(failed, "siblings-held",
         brief(fmt::format("{} job{} held: {}; release them to continue", held,
                           held == 1 ? " is" : "s are", why)));
  }
}

}  // namespace muster
