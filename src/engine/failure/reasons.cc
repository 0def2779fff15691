#include "engine/failure/reasons.h"

#include <algorithm>

#include "base/types/check.h"
#include "base/types/enum_names.h"

namespace muster {

namespace {

using enum RetryClass;
using Buckets = std::array<Bucket, 2>;
constexpr Buckets kIf = {Bucket::kInfrastructure, Bucket::kInfrastructure};
constexpr Buckets kAe = {Bucket::kEngine, Bucket::kEngine};
constexpr Buckets kU = {Bucket::kUser, Bucket::kUser};
constexpr Buckets kIfU = {Bucket::kInfrastructure, Bucket::kUser};
constexpr Buckets kAeU = {Bucket::kEngine, Bucket::kUser};
constexpr Buckets kNone = {Bucket::kUnknown, Bucket::kUnknown};

// From the table of failures in Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for
// DNN Training Workloads" (ATC 2019): 39,776 failed attempts of 96,260 jobs in 75 days. The values
// are secondhand: the trials are from public notes on the paper, the rest from memory, checked by
// the sums. It is not certain that incorrect inputs also count as infrastructure. The retry class
// and the dependence on size are our interpretation. Columns: reason, name, key; groups, retry
// class, size-dependent, trials, jobs, minutes to failure (p50, p90, p95), trials on 1, on 2 to 4
// and on more GPUs.
// clang-format off
constexpr std::array<ReasonInfo, kReasonCount> kReasons = {{
    {Reason::kCpuOutOfMemory, "CPU out of memory", "cpu-out-of-memory",
     kAeU,  kDeterministic, false, 12076, 2803,   13.45,    17.73,    33.97, {11465,  235,  376}},
    {Reason::kIncorrectInputs, "Incorrect inputs", "incorrect-inputs",
     kIfU,  kDeterministic, false,  9690, 4936,    1.87,   404.83,  2095.73, { 5844, 2638, 1208}},
    {Reason::kSemanticError, "Semantic error", "semantic-error",
     kAeU,  kDeterministic, false,  2943, 2049,    2.72,   376.00,  1436.88, { 1603,  494,  846}},
    {Reason::kCoreDump, "Core dump", "core-dump",
     kAeU,  kSuspect,       false,  2912, 1784,    0.85,    72.75,   431.65, { 1936,  496,  480}},
    {Reason::kInvalidMemoryAccess, "Invalid mem access", "invalid-memory-access",
     kAeU,  kSuspect,       false,  2602, 1235,    1.03,   403.50,  1357.38, {  712,  774, 1116}},
    {Reason::kCheckpointError, "Model ckpt error", "checkpoint-error",
     kIf,   kPassing,       false,  1995,  948,  181.67,  3728.93,  8196.02, {  743,  384,  868}},
    {Reason::kCudaFailure, "CUDA failure", "cuda-failure",
     kAe,   kSuspect,       true,   1484,  571,    1.32,    19.87,    82.17, {  133, 1153,  198}},
    {Reason::kSyntaxError, "Syntax error", "syntax-error",
     kU,    kDeterministic, false,  1132,  883,    0.58,     5.02,    12.00, {  780,  184,  168}},
    {Reason::kTraceback, "Traceback from crash", "traceback",
     kAeU,  kSuspect,       false,   777,  271,    1.02,   894.33,  1394.07, {  356,  277,  144}},
    {Reason::kMpiError, "MPI error", "mpi-error",
     kIf,   kPassing,       true,    634,  166,    1.62,  3015.27,  5143.98, {  456,   54,  124}},
    {Reason::kGpuOutOfMemory, "GPU out of memory", "gpu-out-of-memory",
     kAe,   kDeterministic, false,   487,  261,   18.53,   353.62,  2740.28, {  237,   70,  180}},
    {Reason::kMpiRuntimeFailure, "MPI runtime failure", "mpi-runtime-failure",
     kIf,   kPassing,       true,    478,  420, 1389.48, 13778.60, 18090.88, {  240,  141,   97}},
    {Reason::kPermissionError, "Permission error", "permission-error",
     kU,    kDeterministic, false,   299,  151,    1.00,     8.15,    15.85, {   56,  202,   41}},
    {Reason::kImportError, "Import error", "import-error",
     kIfU,  kDeterministic, false,   148,  148,    0.67,     4.58,    10.73, {  108,   30,   10}},
    {Reason::kPreempted, "Job preempted", "job-preempted",
     kIf,   kScheduler,     false,   147,   95,  559.08,  2682.85,  5892.23, {   25,   95,   27}},
    {Reason::kCudaInitFailed, "CUDA init failed", "cuda-init-failed",
     kAe,   kNode,        true,    141,   69,    1.08,     2.18,     4.63, {   16,   66,   59}},
    {Reason::kModelDiverged, "Model diverged", "model-diverged",
     kU,    kDeterministic, false,    84,   30,    1.48,    44.37,    76.53, {   78,    5,    1}},
    {Reason::kCudaVersionMismatch, "CUDA ver. mismatch", "cuda-version-mismatch",
     kAe,   kDeterministic, true,     49,   49,    0.83,     1.65,     1.67, {    1,    1,   47}},
    {Reason::kGpuEccError, "GPU ECC error", "gpu-ecc-error",
     kIf,   kNode,        true,     10,   10,   26.82,   671.92,  2035.02, {    1,    5,    4}},
    {Reason::kOutputNodeError, "Output node error", "output-node-error",
     kU,    kDeterministic, false,     3,    3,    0.85,     0.95,     0.95, {    3,    0,    0}},
    {Reason::kCannotLoadLibraries, "Cannot load libs", "cannot-load-libraries",
     kAe,   kDeterministic, false,     1,    1,    0.12,     0.12,     0.12, {    1,    0,    0}},
    {Reason::kNoSignature, "No signature", "no-signature",
     kNone, kSuspect,       false,  1684,  698,    1.87,    28.00,    95.17, { 1235,  294,  155}},
}};
// clang-format on

}  // namespace

SizeClass size_class(std::int32_t gpus) {
  MUSTER_CHECK(gpus >= 1);
  if (gpus == 1) return SizeClass::kOne;
  return gpus <= 4 ? SizeClass::kTwoToFour : SizeClass::kMore;
}

Bucket ReasonInfo::bucket() const {
  for (const Bucket first : {Bucket::kUser, Bucket::kEngine, Bucket::kInfrastructure}) {
    if (buckets[0] == first || buckets[1] == first) return first;
  }
  return Bucket::kUnknown;
}

std::span<const ReasonInfo> reasons() { return kReasons; }

const ReasonInfo& info_of(Reason reason) {
  const auto row = static_cast<std::size_t>(reason);
  MUSTER_CHECK(row < kReasonCount);
  return kReasons[row];
}

std::optional<Reason> find_reason(std::string_view key) {
  for (const ReasonInfo& info : kReasons) {
    if (info.key == key) return info.reason;
  }
  return std::nullopt;
}

std::string words_of(Reason reason) {
  if (reason == Reason::kNoSignature) return "unknown cause";
  std::string words(info_of(reason).key);
  std::replace(words.begin(), words.end(), '-', ' ');
  for (const std::string_view acronym : {"cpu", "gpu", "cuda", "mpi", "ecc"}) {
    const std::size_t at = words.find(acronym);
    if (at == std::string::npos) continue;
    for (std::size_t i = at; i < at + acronym.size(); ++i) {
      words[i] = static_cast<char>(words[i] - 'a' + 'A');
    }
  }
  return words;
}

std::string_view name_of(Bucket bucket) {
  constexpr EnumNames<Bucket, Bucket::kUnknown> kNames(
      {"infrastructure", "AI engine", "user", "unknown"});
  return kNames[bucket];
}

}  // namespace muster
