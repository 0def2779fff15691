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
    {"stop", "not retry it: no retry can fix it"},
    {"retry", "restart it immediately"},
    {"retry-elsewhere", "retry it on other nodes"},
    {"back-off", "retry it after a delay, because the cause may pass"},
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

RetryClass nature_of(Reason reason, const std::optional<SignatureReaction>& told) {
  const RetryClass usual = info_of(reason).nature;
  if (!told) return usual;
  switch (told->reaction) {
    case Reaction::kStop:
      return RetryClass::kDeterministic;
    // kRetry applies even if the log line reports a preemption: the engine records those itself.
    case Reaction::kRetry:
    case Reaction::kBackOff:
      return RetryClass::kPassing;
    case Reaction::kRetryElsewhere:
      break;
  }
  const bool nodes = usual == RetryClass::kNode || told->bucket == Bucket::kInfrastructure;
  return nodes ? RetryClass::kNode : RetryClass::kSuspect;
}

}  // namespace muster
