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
constexpr int kMostFixed = 100;

using Earlier = std::span<const FailedAttempt>;

Verdict stop(std::string why, Blames blames = Blames::kNobody) {
  return {Next::kStop, Duration(), blames, std::move(why)};
}

bool on_other_servers(const FailedAttempt& a, const FailedAttempt& b) {
  if (a.servers.empty() || b.servers.empty()) return false;  // Nobody knows.
  return std::none_of(a.servers.begin(), a.servers.end(), [&](NodeId server) {
    return std::find(b.servers.begin(), b.servers.end(), server) != b.servers.end();
  });
}

// The same reason on entirely other servers: then it is not the servers.
bool follows_the_job(const FailedAttempt& failed, Earlier earlier) {
  return std::any_of(earlier.begin(), earlier.end(), [&](const FailedAttempt& other) {
    return other.reason == failed.reason && on_other_servers(other, failed);
  });
}

int count_of(Nature nature, Earlier attempts) {
  return static_cast<int>(std::count_if(attempts.begin(), attempts.end(), [&](const auto& attempt) {
    return attempt.nature() == nature;
  }));
}

Verdict deterministic(const FailedAttempt& failed) {
  // What a signature lays at another door is not the program's own fault, nor its siblings'.
  const bool users = !failed.told || failed.told->bucket == Bucket::kUser;
  const bool never = info_of(failed.reason).deterministic();
  return stop(never ? "no retry can fix it" : "a retry would not help",
              users ? Blames::kUser : Blames::kNobody);
}

// Of a suspect that was tried once more, on the servers that were to be had.
std::string failed_again(const FailedAttempt& failed, Earlier earlier) {
  const FailedAttempt* last = nullptr;
  for (const FailedAttempt& each : earlier) {
    if (each.nature() == Nature::kSuspect) last = &each;
  }
  if (last->servers.empty() || failed.servers.empty()) return "it failed again";
  if (on_other_servers(*last, failed)) return "it failed on another server too";
  return last->servers == failed.servers ? "it failed again on the same server"
                                         : "it failed again on a server in common";
}

Verdict suspect(const FailedAttempt& failed, Earlier earlier, bool known_bad) {
  if (known_bad) return stop("its like has failed before by its own fault");
  if (follows_the_job(failed, earlier)) {
    return stop("it failed the same way on other servers", Blames::kUser);
  }
  if (count_of(Nature::kSuspect, earlier) > 0) return stop(failed_again(failed, earlier));
  return {Next::kRetryElsewhere, Duration(), Blames::kServer, "perhaps the server's fault"};
}

Verdict passing(const FailedAttempt& failed, Earlier earlier) {
  const int before = count_of(Nature::kPassing, earlier);
  if (before >= RetryPolicy::kMostRetries) {
    return stop(fmt::format("still failing after {} retries", before));
  }
  const bool at_once = failed.told && failed.told->reaction == Reaction::kRetry;
  return {Next::kRetry,
          at_once ? Duration() : RetryPolicy::kFirstWait * (std::int64_t{1} << before),
          Blames::kNobody, failed.told ? "" : "storage or network, which may recover"};
}

// How many servers it failed on that were to blame, this one among them.
std::string failed_where(const FailedAttempt& failed, Earlier earlier) {
  std::vector<NodeId> servers = failed.servers;
  for (const FailedAttempt& each : earlier) {
    if (each.nature() != Nature::kServer) continue;
    servers.insert(servers.end(), each.servers.begin(), each.servers.end());
  }
  std::sort(servers.begin(), servers.end());
  const auto distinct = std::unique(servers.begin(), servers.end()) - servers.begin();
  if (distinct > 1) return fmt::format("failed on {} servers", distinct);
  return fmt::format("failed {} times on the same server", 1 + count_of(Nature::kServer, earlier));
}

Verdict of_the_server(const FailedAttempt& failed, Earlier earlier) {
  if (follows_the_job(failed, earlier)) {
    return stop("it failed the same way on other servers", Blames::kUser);
  }
  if (count_of(Nature::kServer, earlier) >= RetryPolicy::kMostRetries) {
    return stop(failed_where(failed, earlier));
  }
  return {Next::kRetryElsewhere, Duration(), Blames::kServer, "the server's fault"};
}

Verdict by_nature(const FailedAttempt& failed, Earlier earlier, bool known_bad) {
  switch (failed.nature()) {
    case Nature::kDeterministic:
      return deterministic(failed);
    case Nature::kSuspect:
      return suspect(failed, earlier, known_bad);
    case Nature::kPassing:
      return passing(failed, earlier);
    case Nature::kServer:
      return of_the_server(failed, earlier);
    case Nature::kScheduler:
      break;  // Never comes here.
  }
  MUSTER_CHECK(false);
  return {};
}

}  // namespace

RetryPolicy RetryPolicy::fixed(int retries) {
  MUSTER_CHECK(retries >= 1 && retries <= kMostFixed);
  return {Kind::kFixed, retries};
}

std::string RetryPolicy::text() const {
  if (kind_ == Kind::kFixed) return fmt::format("fixed:{}", retries_);
  return kind_ == Kind::kNone ? "none" : "adaptive";
}

Verdict RetryPolicy::decide(const FailedAttempt& failed, std::span<const FailedAttempt> earlier,
                            bool known_bad) const {
  if (failed.nature() == Nature::kScheduler) {
    return {Next::kRetry, Duration(), Blames::kNobody, "it was preempted"};
  }
  if (kind_ == Kind::kAdaptive) return by_nature(failed, earlier, known_bad);
  if (kind_ == Kind::kNone) return stop("nothing is retried");
  const int before = static_cast<int>(earlier.size()) - count_of(Nature::kScheduler, earlier);
  if (before >= retries_) return stop("tried often enough");
  return {Next::kRetry, Duration(), Blames::kNobody, "whatever the reason"};
}

Result<RetryPolicy> parse_retry_policy(std::string_view text) {
  if (text == "none") return RetryPolicy::none();
  if (text == "adaptive") return RetryPolicy::adaptive();
  if (text.starts_with("fixed:")) {
    const std::string_view number = text.substr(6);
    const Result<std::int64_t> retries = parse_int(number);
    if (!retries.ok()) return Error{"--retry fixed: " + retries.error().message};
    if (retries.value() < 1 || retries.value() > kMostFixed) {
      return Error{"--retry fixed: not between 1 and 100: " + in_quotes(number)};
    }
    return RetryPolicy::fixed(static_cast<int>(retries.value()));
  }
  constexpr std::array<std::string_view, 3> kNames = {"none", "fixed:N", "adaptive"};
  return Error{"--retry: unknown policy " + in_quotes(text) + suggestion(text, kNames)};
}

}  // namespace muster
