#include "engine/failure/reaction.h"

#include <array>

#include "engine/failure/retry.h"

namespace muster {

namespace {

struct ReactionWords {
  std::string_view key;
  std::string_view sentence;
};
constexpr std::array<ReactionWords, kReactionCount> kReactions = {{
    {"stop", "not try it again: no retry can fix it"},
    {"retry", "start it again at once"},
    {"retry-elsewhere", "try it again on other servers"},
    {"back-off", "try it again after a while, since it may pass"},
}};
constexpr std::array<Bucket, 4> kBuckets = {Bucket::kUser, Bucket::kEngine, Bucket::kInfrastructure,
                                            Bucket::kUnknown};

}  // namespace

Reaction reaction_to(Reason reason) {
  const Verdict verdict = RetryPolicy::adaptive().decide({reason, {}}, {});
  switch (verdict.next) {
    case Verdict::Next::kStop:
      return Reaction::kStop;
    case Verdict::Next::kRetry:
      return verdict.wait == Duration() ? Reaction::kRetry : Reaction::kBackOff;
    case Verdict::Next::kRetryElsewhere:
      break;
  }
  return Reaction::kRetryElsewhere;
}

std::string_view key_of(Reaction reaction) {
  return kReactions[static_cast<std::size_t>(reaction)].key;
}

std::string_view sentence_of(Reaction reaction) {
  return kReactions[static_cast<std::size_t>(reaction)].sentence;
}

std::optional<Reaction> find_reaction(std::string_view key) {
  for (std::size_t i = 0; i < kReactions.size(); ++i) {
    if (kReactions[i].key == key) return static_cast<Reaction>(i);
  }
  return std::nullopt;
}

std::string_view key_of(Bucket bucket) {
  return bucket == Bucket::kEngine ? "engine" : name_of(bucket);
}

std::optional<Bucket> find_bucket(std::string_view key) {
  for (const Bucket bucket : kBuckets) {
    if (key_of(bucket) == key) return bucket;
  }
  return std::nullopt;
}

Nature nature_of(Reason reason, const std::optional<Told>& told) {
  const Nature usual = info_of(reason).nature;
  if (!told) return usual;
  switch (told->reaction) {
    case Reaction::kStop:
      return Nature::kDeterministic;
    case Reaction::kRetry:  // Also of a line that says "preempted": we know when we did that.
    case Reaction::kBackOff:
      return Nature::kPassing;
    case Reaction::kRetryElsewhere:
      break;
  }
  const bool servers = usual == Nature::kServer || told->bucket == Bucket::kInfrastructure;
  return servers ? Nature::kServer : Nature::kSuspect;
}

}  // namespace muster
