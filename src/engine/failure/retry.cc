#include "engine/failure/retry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/text.h"
#include "base/types/check.h"

namespace muster {

namespace {

using Next = Verdict::Next;
using Blames = Verdict::Blames;
constexpr int kMaxFixed = 100;

using Earlier = std::span<const FailedAttempt>;

Verdict stop(std::string why, Blames blames = Blames::kNobody) {
  return {Next::kStop, Duration(), blames, std::move(why)};
}

bool on_other_nodes(const FailedAttempt& a, const FailedAttempt& b) {
  if (a.nodes.empty() || b.nodes.empty()) return false;  // Unknown.
  return std::none_of(a.nodes.begin(), a.nodes.end(), [&](NodeId node) {
    return std::find(b.nodes.begin(), b.nodes.end(), node) != b.nodes.end();
  });
}

// The same reason on entirely different nodes means that the nodes are not the cause.
bool follows_the_job(const FailedAttempt& failed, Earlier earlier) {
  return std::any_of(earlier.begin(), earlier.end(), [&](const FailedAttempt& other) {
    return other.reason == failed.reason && on_other_nodes(other, failed);
  });
}

int count_of(RetryClass nature, Earlier attempts) {
  return static_cast<int>(std::count_if(attempts.begin(), attempts.end(), [&](const auto& attempt) {
    return attempt.nature() == nature;
  }));
}

Verdict deterministic(const FailedAttempt& failed) {
  // If the signature names another cause, this program and similar jobs are not blamed.
  const bool users = !failed.told || failed.told->bucket == Bucket::kUser;
  const bool never = info_of(failed.reason).deterministic();
  return stop(never ? "no retry can fix it" : "a retry would not help",
              users ? Blames::kUser : Blames::kNobody);
}

// The message for a suspect failure after its retry, on the nodes that were available.
std::string failed_again(const FailedAttempt& failed, Earlier earlier) {
  const FailedAttempt* last = nullptr;
  for (const FailedAttempt& each : earlier) {
    if (each.nature() == RetryClass::kSuspect) last = &each;
  }
  if (last->nodes.empty() || failed.nodes.empty()) return "it failed again";
  if (on_other_nodes(*last, failed)) return "it also failed on another node";
  return last->nodes == failed.nodes ? "it failed again on the same node"
                                     : "it failed again on one of the same nodes";
}

Verdict suspect(const FailedAttempt& failed, Earlier earlier, bool known_bad) {
  if (known_bad) return stop("earlier jobs of this user and name failed by their own fault");
  if (follows_the_job(failed, earlier)) {
    return stop("it failed the same way on other nodes", Blames::kUser);
  }
  if (count_of(RetryClass::kSuspect, earlier) > 0) return stop(failed_again(failed, earlier));
  return {Next::kRetryElsewhere, Duration(), Blames::kNode, "possibly a fault of the node"};
}

Verdict passing(const FailedAttempt& failed, Earlier earlier) {
  const int before = count_of(RetryClass::kPassing, earlier);
  if (before >= RetryPolicy::kMaxRetries) {
    return stop(fmt::format("still failing after {} retries", before));
  }
  const bool immediate = failed.told && failed.told->reaction == Reaction::kRetry;
  return {Next::kRetry,
          immediate ? Duration() : RetryPolicy::kFirstWait * (std::int64_t{1} << before),
          Blames::kNobody, failed.told ? "" : "storage or network may recover"};
}

// Counts the nodes of all failures of class kServer, including this one.
std::string failed_where(const FailedAttempt& failed, Earlier earlier) {
  std::vector<NodeId> nodes = failed.nodes;
  for (const FailedAttempt& each : earlier) {
    if (each.nature() != RetryClass::kNode) continue;
    nodes.insert(nodes.end(), each.nodes.begin(), each.nodes.end());
  }
  std::sort(nodes.begin(), nodes.end());
  const auto distinct = std::unique(nodes.begin(), nodes.end()) - nodes.begin();
  if (distinct > 1) return fmt::format("failed on {} nodes", distinct);
  return fmt::format("failed {} times on the same node", 1 + count_of(RetryClass::kNode, earlier));
}

Verdict of_the_node(const FailedAttempt& failed, Earlier earlier) {
  if (follows_the_job(failed, earlier)) {
    return stop("it failed the same way on other nodes", Blames::kUser);
  }
  if (count_of(RetryClass::kNode, earlier) >= RetryPolicy::kMaxRetries) {
    return stop(failed_where(failed, earlier));
  }
  return {Next::kRetryElsewhere, Duration(), Blames::kNode, "a fault of the node"};
}

Verdict by_nature(const FailedAttempt& failed, Earlier earlier, bool known_bad) {
  switch (failed.nature()) {
    case RetryClass::kDeterministic:
      return deterministic(failed);
    case RetryClass::kSuspect:
      return suspect(failed, earlier, known_bad);
    case RetryClass::kPassing:
      return passing(failed, earlier);
    case RetryClass::kNode:
      return of_the_node(failed, earlier);
    case RetryClass::kScheduler:
      break;  // decide() handles it.
  }
  MUSTER_CHECK(false);
  return {};
}

}  // namespace

RetryPolicy RetryPolicy::fixed(int retries) {
  MUSTER_CHECK(retries >= 1 && retries <= kMaxFixed);
  return {Kind::kFixed, retries};
}

std::string RetryPolicy::text() const {
  if (kind_ == Kind::kFixed) return fmt::format("fixed:{}", retries_);
  return kind_ == Kind::kNone ? "none" : "adaptive";
}

Verdict RetryPolicy::decide(const FailedAttempt& failed, std::span<const FailedAttempt> earlier,
                            bool known_bad) const {
  if (failed.nature() == RetryClass::kScheduler) {
    return {Next::kRetry, Duration(), Blames::kNobody, "it was preempted"};
  }
  if (kind_ == Kind::kAdaptive) return by_nature(failed, earlier, known_bad);
  if (kind_ == Kind::kNone) return stop("retries are disabled");
  const int before = static_cast<int>(earlier.size()) - count_of(RetryClass::kScheduler, earlier);
  if (before >= retries_) return stop("no retries left");
  return {Next::kRetry, Duration(), Blames::kNobody, "the policy retries every failure"};
}

Result<RetryPolicy> parse_retry_policy(std::string_view text) {
  if (text == "none") return RetryPolicy::none();
  if (text == "adaptive") return RetryPolicy::adaptive();
  if (text.starts_with("fixed:")) {
    const std::string_view number = text.substr(6);
    const Result<std::int64_t> retries = parse_int(number);
    if (!retries.ok()) return Error{"--retry fixed: " + retries.error().message};
    if (retries.value() < 1 || retries.value() > kMaxFixed) {
      return Error{"--retry fixed: not between 1 and 100: " + in_quotes(number)};
    }
    return RetryPolicy::fixed(static_cast<int>(retries.value()));
  }
  constexpr std::array<std::string_view, 3> kNames = {"none", "fixed:N", "adaptive"};
  return Error{"--retry: unknown policy " + in_quotes(text) + suggestion(text, kNames)};
}

}  // namespace muster
