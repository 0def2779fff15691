#include "failure/retry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/text.h"

namespace muster {

namespace {

using Next = Verdict::Next;
using Blames = Verdict::Blames;
constexpr int kMostFixed = 100;

Verdict stop(std::string_view why, Blames blames = Blames::kNobody) {
  return {Next::kStop, Duration(), blames, why};
}

bool on_other_servers(const FailedAttempt& a, const FailedAttempt& b) {
  if (a.servers.empty() || b.servers.empty()) return false;  // Nobody knows.
  return std::none_of(a.servers.begin(), a.servers.end(), [&](NodeId server) {
    return std::find(b.servers.begin(), b.servers.end(), server) != b.servers.end();
  });
}

// The same reason on entirely other servers: then it is not the servers.
bool follows_the_job(const FailedAttempt& failed, std::span<const FailedAttempt> earlier) {
  return std::any_of(earlier.begin(), earlier.end(), [&](const FailedAttempt& other) {
    return other.reason == failed.reason && on_other_servers(other, failed);
  });
}

int count_of(Nature nature, std::span<const FailedAttempt> attempts) {
  return static_cast<int>(std::count_if(attempts.begin(), attempts.end(), [&](const auto& attempt) {
    return info_of(attempt.reason).nature == nature;
  }));
}

Verdict suspect(const FailedAttempt& failed, std::span<const FailedAttempt> earlier,
                bool known_bad) {
  if (known_bad) return stop("its like has failed before by its own fault");
  if (follows_the_job(failed, earlier)) {
    return stop("it failed alike on other servers", Blames::kUser);
  }
  if (count_of(Nature::kSuspect, earlier) > 0) return stop("another server did not help");
  return {Next::kRetryElsewhere, Duration(), Blames::kServer, "perhaps the server's fault"};
}

Verdict passing(std::span<const FailedAttempt> earlier) {
  const int before = count_of(Nature::kPassing, earlier);
  if (before >= RetryPolicy::kMostRetries) return stop("it does not pass");
  return {Next::kRetry, RetryPolicy::kFirstWait * (std::int64_t{1} << before), Blames::kNobody,
          "storage or network, which may recover"};
}

Verdict of_the_server(const FailedAttempt& failed, std::span<const FailedAttempt> earlier) {
  if (follows_the_job(failed, earlier)) {
    return stop("it failed alike on other servers", Blames::kUser);
  }
  if (count_of(Nature::kServer, earlier) >= RetryPolicy::kMostRetries) {
    return stop("no server will do");
  }
  return {Next::kRetryElsewhere, Duration(), Blames::kServer, "the server's fault"};
}

Verdict by_reason(const FailedAttempt& failed, std::span<const FailedAttempt> earlier,
                  bool known_bad) {
  switch (info_of(failed.reason).nature) {
    case Nature::kDeterministic:
      return stop("no retry can fix it", Blames::kUser);
    case Nature::kSuspect:
      return suspect(failed, earlier, known_bad);
    case Nature::kPassing:
      return passing(earlier);
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
  switch (kind_) {
    case Kind::kNone:
      return "none";
    case Kind::kFixed:
      return fmt::format("fixed:{}", retries_);
    case Kind::kAdaptive:
      return "adaptive";
  }
  return "";
}

Verdict RetryPolicy::decide(const FailedAttempt& failed, std::span<const FailedAttempt> earlier,
                            bool known_bad) const {
  if (info_of(failed.reason).nature == Nature::kScheduler) {
    return {Next::kRetry, Duration(), Blames::kNobody, "it was preempted"};
  }
  if (kind_ == Kind::kAdaptive) return by_reason(failed, earlier, known_bad);
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
