#pragma once

// The 22 failure reasons of the Philly study, with their frequencies and times to failure. The
// fault model draws from this table, the retry policy uses its retry classes, and reports print its
// names.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace muster {

enum class Reason : std::uint8_t {  // In the order of the study's table.
  kCpuOutOfMemory,
  kIncorrectInputs,
  kSemanticError,
  kCoreDump,
  kInvalidMemoryAccess,
  kCheckpointError,
  kCudaFailure,
  kSyntaxError,
  kTraceback,
  kMpiError,
  kGpuOutOfMemory,
  kMpiRuntimeFailure,
  kPermissionError,
  kImportError,
  kPreempted,
  kCudaInitFailed,
  kModelDiverged,
  kCudaVersionMismatch,
  kGpuEccError,
  kOutputNodeError,
  kCannotLoadLibraries,
  kNoSignature,
};
inline constexpr std::size_t kReasonCount = 22;

// The cause of a failure, as the study groups them. A reason may be in two groups or in none.
enum class Bucket : std::uint8_t { kInfrastructure, kEngine, kUser, kUnknown };

// The consequence of a failure for the next attempt.
enum class RetryClass : std::uint8_t {
  kDeterministic,  // The program or its inputs are wrong: no retry can fix it.
  kSuspect,        // The program or the node: one attempt on another node will show.
  kPassing,        // Storage or network: it passes with time.
  kNode,           // The node is the cause, so other jobs should also avoid it.
  kScheduler,      // The scheduler stopped the job: not a failure of the job.
};

// Number of GPUs of a job, in the classes of the study.
enum class SizeClass : std::uint8_t { kOne, kTwoToFour, kMore };
inline constexpr std::size_t kSizeClassCount = 3;
SizeClass size_class(std::int32_t gpus);

struct ReasonInfo {
  Reason reason;
  std::string_view name;          // Human-readable.
  std::string_view key;           // For files and options: lower case, dashes.
  std::array<Bucket, 2> buckets;  // Two equal values if there is only one group.
  RetryClass nature;
  // Does not occur on one GPU: at least 85% of its trials had more, or it is about peers.
  bool size_dependent;
  std::int32_t trials;   // Number of attempts that failed for this reason.
  std::int32_t jobs;     // Number of jobs with such an attempt.
  double p50, p90, p95;  // Percentiles of the run time to failure of an attempt, in minutes.
  std::array<std::int32_t, kSizeClassCount> trials_by_size;

  bool deterministic() const { return nature == RetryClass::kDeterministic; }
  bool points_at_node() const { return nature == RetryClass::kNode; }
  // Returns the group to count it in if only one is allowed: user before engine before
  // infrastructure. Problems that the user can fix are the most useful to report.
  Bucket bucket() const;
};

// Returns all reasons; row i is Reason(i).
std::span<const ReasonInfo> reasons();
const ReasonInfo& info_of(Reason reason);
// Returns the reason with this key, or nullopt.
std::optional<Reason> find_reason(std::string_view key);
// Returns the reason for a sentence: "core dump", "GPU out of memory", "unknown cause".
std::string words_of(Reason reason);
std::string_view name_of(Bucket bucket);

}  // namespace muster
