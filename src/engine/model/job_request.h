#pragma once

// A user's job submission: the scheduling request (GPUs, model) and the launch details (command,
// environment). Readers create it from job files, flags, batch scripts and API JSON. The journal
// stores it as JSON; request_json() and read_request() are inverse functions.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

// A job array: one job per index first, first + step, ... up to and including last.
struct ArrayRange {
  std::int32_t first = 0;
  std::int32_t last = 0;
  std::int32_t step = 1;
  std::int32_t at_once = 0;  // Maximum number of concurrently scheduled jobs; 0: no limit.

  std::size_t size() const { return static_cast<std::size_t>((last - first) / step + 1); }
  friend bool operator==(const ArrayRange&, const ArrayRange&) = default;
};

// CPUs in thousandths and memory in MiB; the same units as Resources.
struct CpuAmount {
  std::int64_t milli = 0;
  friend auto operator<=>(const CpuAmount&, const CpuAmount&) = default;
};
struct MemAmount {
  std::int64_t mib = 0;
  friend auto operator<=>(const MemAmount&, const MemAmount&) = default;
};

// How Muster handles a job whose nodes are unreachable. The job stays assigned to them for
// `keep_for` and may reconnect. After that it is requeued or fails. The agent on an unreachable
// node stops the job earlier, after `stop_on_agent_after`, so that the job never runs twice.
struct OnLost {
  enum class Then : std::uint8_t { kRequeue, kFail };
  std::optional<Duration> keep_for;             // Default: 600 s.
  std::optional<Then> then;                     // Default: kRequeue.
  std::optional<Duration> stop_on_agent_after;  // Default: 4/5 of keep_for.

  Duration kept_for() const { return keep_for.value_or(Duration::seconds(600)); }
  // Below keep_for by default, so that the agent stops the job before it can start elsewhere.
  Duration stops_after() const {
    return stop_on_agent_after.value_or(Duration::micros(kept_for().us() / 5 * 4));
  }
  bool fails() const { return then == Then::kFail; }
  friend bool operator==(const OnLost&, const OnLost&) = default;
};

// Number of processes that Muster starts: one per node or one per GPU.
enum class LaunchPer : std::uint8_t { kNode, kGpu };

struct JobRequest {
  std::string name;  // Label, also used to learn from earlier jobs. complete_request() fills it in.
  std::string tenant;                // Empty: kDefaultTenant.
  std::vector<std::string> command;  // argv; at least one word.
  std::map<std::string, std::string> env;
  std::string cwd = "/";  // Absolute.

  std::int32_t gpus = 1;
  // Minimum GPUs of an elastic job; `fewest` and `most` are both 0 otherwise.
  std::int32_t fewest = 0;
  std::int32_t most = 0;               // Maximum GPUs of an elastic job.
  std::optional<CpuAmount> cpus;       // Minimum for the whole job; none: the mechanism decides.
  std::optional<MemAmount> mem;        // Minimum for the whole job; none: the mechanism decides.
  std::optional<std::int32_t> spread;  // Maximum number of nodes; none: no limit.
  std::string gpu_type;                // Empty: any.
  std::string model;                   // Profile for planning CPU and memory; empty: unknown.
  LaunchPer launch_per = LaunchPer::kNode;

  Duration estimate;                    // Estimated run time; zero: none given.
  Duration time_limit;                  // Total run time over all leases; zero: no limit.
  std::optional<Duration> grace;        // Time from SIGTERM to SIGKILL; none: the daemon's default.
  std::int32_t priority = 0;            // Within the tenant; higher runs first.
  std::optional<std::int32_t> retries;  // None: the daemon's retry rule.
  OnLost on_lost;
  Duration prerun;  // Length of a trial run on one GPU before the gang starts; zero: no trial.
  bool hold = false;
  std::vector<std::uint64_t> after_ok;   // Jobs that must succeed before this one starts.
  std::vector<std::uint64_t> after_any;  // Jobs that must finish first, in any final state.
  std::optional<ArrayRange> array;

  friend bool operator==(const JobRequest&, const JobRequest&) = default;
};

inline constexpr std::size_t kMaxRequestBytes = 512U << 10U;  // Size of the JSON.
inline constexpr std::size_t kMaxCommandWords = 4'096;
inline constexpr std::size_t kMaxArrayJobs = 10'000;
inline constexpr std::size_t kMaxDependencies = 1'000;
inline constexpr std::int32_t kMaxPriority = 1'000;  // The minimum is -kMaxPriority.
inline constexpr std::int32_t kMaxRequestGpus = 65'536;
inline constexpr CpuAmount kMaxRequestCpus{1'000'000'000};
inline constexpr MemAmount kMaxRequestMem{std::int64_t{1} << 30U};  // 1,024 T.
inline constexpr std::int32_t kMaxRequestRetries = 100;
inline constexpr std::size_t kMaxVariables = 4'096;
// Linux limit for one command word or one NAME=value, including the final zero byte.
inline constexpr std::size_t kMaxWordBytes = 128U << 10U;
inline constexpr std::size_t kMaxNameBytes = 128;
// A longer grace period would let a stopped job block its GPUs for other jobs.
inline constexpr Duration kMaxGrace = Duration::seconds(3'600);
inline constexpr Duration kMinKept = Duration::seconds(1);
inline constexpr Duration kMinStopAfter = Duration::micros(100'000);

// Returns nullopt, or an error "field: reason" if the request is invalid on its own. Whether the
// cluster can run it is checked by the manager. Every reader calls this last. After success all
// text is UTF-8 without zero bytes, and the JSON is at most kMaxRequestBytes long.
MaybeError check_request(const JobRequest& request);

// Returns a valid job name made from `word`. Each invalid character becomes '_'.
std::string name_from(std::string_view word);

// Fills in defaults that depend on other fields: the name from the command, and `fewest` or `most`
// from `gpus` if only the other is given. Every reader calls this before check_request().
void complete_request(JobRequest& request);

// Returns one JSON object on one line, with only the fields that differ from their defaults.
// Durations are exact numbers of seconds, so reading them back gives the same values.
std::string request_json(const JobRequest& request);

// Parses an API body or a journal entry, then completes and checks it. A duration is a number of
// seconds or text such as "90s", "1.5h" or "250ms". Rejects unknown keys (with a suggestion), wrong
// types, duplicate keys, and input that is too deep or too large. The error is one printable line.
Result<JobRequest> read_request(std::string_view json);

// Parses "64G", "1.5T", "500M", "4096K" and rounds up to MiB. Units are powers of 1,024; "B" or
// "iB" may follow. A number without a unit uses `bare_unit`, or is an error if `bare_unit` is
// empty.
Result<MemAmount> parse_mem(std::string_view text, std::string_view bare_unit = "");
std::string mem_text(MemAmount mem);  // "64G", "1536M"; inverse of parse_mem().
// Parses "4" or "0.5", with at most three decimals.
Result<CpuAmount> parse_cpus(std::string_view text);
std::string cpus_text(CpuAmount cpus);

// Parses "0-9", "0-9:2" (every second index), "0-9%3" (three jobs at a time) or "7" (one index).
Result<ArrayRange> parse_array(std::string_view text);
std::string array_text(const ArrayRange& array);

}  // namespace muster
