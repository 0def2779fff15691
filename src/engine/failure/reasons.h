#pragma once

// Why attempts fail: the 22 reasons of the Philly study, with how often and how soon. The fault
// model draws from this table, the retry policy judges by it, reports print its names.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
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

// Who is to blame, as the study groups them. A reason may be in two groups or in none.
enum class Bucket : std::uint8_t { kInfrastructure, kEngine, kUser, kUnknown };

// What a failure says about the next attempt.
enum class Nature : std::uint8_t {
  kDeterministic,  // The program or its inputs are wrong: no retry can fix it.
  kSuspect,        // The program or the machine; one look at another server tells.
  kPassing,        // Storage or network: it goes away with time.
  kServer,         // Points at the server, which others should avoid as well.
  kScheduler,      // Our own doing, and no failure of the job.
};

// Number of GPUs of a job, in the classes of the study.
enum class SizeClass : std::uint8_t { kOne, kTwoToFour, kMore };
inline constexpr std::size_t kSizeClassCount = 3;
SizeClass size_class(std::int32_t gpus);

struct ReasonInfo {
  Reason reason;
  std::string_view name;          // For people.
  std::string_view key;           // For files and options: lower case, dashes.
  std::array<Bucket, 2> buckets;  // Twice the same where there is one.
  Nature nature;
  // Does not show on one GPU: at least 85% of its trials had more, or it is about peers.
  bool size_dependent;
  std::int32_t trials;   // Attempts that failed so.
  std::int32_t jobs;     // Jobs that had such an attempt.
  double p50, p90, p95;  // Run time to failure of an attempt, minutes.
  std::array<std::int32_t, kSizeClassCount> trials_by_size;

  bool deterministic() const { return nature == Nature::kDeterministic; }
  bool points_at_server() const { return nature == Nature::kServer; }
  // The one group to count it in where there must be one: the user before the engine before the
  // infrastructure, since what the user can mend is worth telling first.
  Bucket bucket() const;
};

// All reasons; row i is that of Reason(i).
std::span<const ReasonInfo> reasons();
const ReasonInfo& info_of(Reason reason);
// By key; empty if there is none such.
std::optional<Reason> find_reason(std::string_view key);
std::string_view name_of(Bucket bucket);

}  // namespace muster
