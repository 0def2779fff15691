#pragma once

// What a user asks Muster to run, in full: what the scheduler needs (how many GPUs, of which model)
// and what only the start of the job needs (command, environment). Readers make it from a job file,
// flags, a batch script or the API's JSON. The journal keeps it as JSON: request_json() and
// read_request() are inverse to each other.

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

// Several jobs of one request: indices first, first + step, ... up to last.
struct ArrayRange {
  std::int32_t first = 0;
  std::int32_t last = 0;
  std::int32_t step = 1;
  std::int32_t at_once = 0;  // How many of them may be with the scheduler at a time; 0: all.

  std::size_t size() const { return static_cast<std::size_t>((last - first) / step + 1); }
  friend bool operator==(const ArrayRange&, const ArrayRange&) = default;
};

// CPUs in thousandths, and memory in MiB, as Resources has them.
struct CpuAmount {
  std::int64_t milli = 0;
  friend auto operator<=>(const CpuAmount&, const CpuAmount&) = default;
};
struct MemAmount {
  std::int64_t mib = 0;
  friend auto operator<=>(const MemAmount&, const MemAmount&) = default;
};

// What becomes of a job whose servers cannot be reached. Until `keep_for` is over they may come
// back with it; only then it runs elsewhere or fails. What is left of it on such a server stops by
// itself before that, so that it never runs twice.
struct OnLost {
  enum class Then : std::uint8_t { kRequeue, kFail };
  std::optional<Duration> keep_for;
  std::optional<Then> then;
  std::optional<Duration> stop_on_agent_after;

  Duration kept_for() const { return keep_for.value_or(Duration::seconds(600)); }
  // Four fifths of it, so eight minutes of ten, if nothing else is said.
  Duration stops_after() const {
    return stop_on_agent_after.value_or(Duration::micros(kept_for().us() / 5 * 4));
  }
  bool fails() const { return then == Then::kFail; }
  friend bool operator==(const OnLost&, const OnLost&) = default;
};

enum class LaunchPer : std::uint8_t { kNode, kGpu };

struct JobRequest {
  std::string name;    // For people and for learning from earlier jobs; never empty once read.
  std::string tenant;  // Empty: the user's own.
  std::vector<std::string> command;  // argv; at least one word.
  std::map<std::string, std::string> env;
  std::string cwd = "/";  // Absolute.

  std::int32_t gpus = 1;
  std::int32_t fewest = 0;  // As JobSpec: of an elastic job; both 0 otherwise.
  std::int32_t most = 0;
  std::optional<CpuAmount> cpus;       // Of the whole job, at the least; none: as it comes.
  std::optional<MemAmount> mem;        // The same.
  std::optional<std::int32_t> spread;  // On so many servers at most; none: on any number.
  std::string gpu_type;                // Empty: any.
  std::string model;                   // The profile to plan CPU and memory by; empty: unknown.
  LaunchPer launch_per = LaunchPer::kNode;

  Duration estimate;                    // Believed run time; zero: none given.
  Duration time_limit;                  // Of all its leases together; zero: none.
  std::optional<Duration> grace;        // Between SIGTERM and SIGKILL; the daemon's if none.
  std::int32_t priority = 0;            // Among the jobs of a tenant, higher first.
  std::optional<std::int32_t> retries;  // The daemon's rule if none.
  OnLost on_lost;
  Duration prerun;  // How long to try it on one GPU before the gang starts; zero: not at all.
  bool hold = false;
  std::vector<std::uint64_t> after_ok;   // Jobs that must have ended well before.
  std::vector<std::uint64_t> after_any;  // Jobs that must have ended, however.
  std::optional<ArrayRange> array;

  friend bool operator==(const JobRequest&, const JobRequest&) = default;
};

inline constexpr std::size_t kMostRequestBytes = 512U << 10U;  // Of its JSON.
inline constexpr std::size_t kMostCommandWords = 4'096;
inline constexpr std::size_t kMostArrayJobs = 10'000;
inline constexpr std::size_t kMostDependencies = 1'000;
inline constexpr std::int32_t kMostPriority = 1'000;  // And the least is its negative.
inline constexpr std::int32_t kMostRequestGpus = 65'536;
inline constexpr CpuAmount kMostRequestCpus{1'000'000'000};
inline constexpr MemAmount kMostRequestMem{std::int64_t{1} << 30U};  // 1,024 T.
inline constexpr std::int32_t kMostRequestRetries = 100;
inline constexpr std::size_t kMostVariables = 4'096;
// Of one word of the command or one NAME=value, with its final zero: more the kernel does not take.
inline constexpr std::size_t kMostWordBytes = 128U << 10U;
inline constexpr std::size_t kMostNameBytes = 128;
// A job that may take longer to go could hold its GPUs against everybody.
inline constexpr Duration kMostGrace = Duration::seconds(3'600);
inline constexpr Duration kLeastKept = Duration::seconds(1);
inline constexpr Duration kLeastStopAfter = Duration::micros(100'000);

// What is wrong with it in itself, as "field: why", or nothing. Every reader asks this last;
// whether the cluster can run it is for the manager to say. All text of a checked request is UTF-8
// without zero bytes, and its JSON is within kMostRequestBytes.
Refusal check_request(const JobRequest& request);

// A name that passes the check, made from any word: what has no place in one becomes '_'.
std::string name_from(std::string_view word);

// Fills in what follows from the rest: the name from the command, and the other end of `fewest` and
// `most` where only one was given. Every reader does this before the check.
void complete_request(JobRequest& request);

// One JSON object on one line, only what differs from the default. Durations are numbers of
// seconds with as many decimals as needed, so none is changed by being written and read.
std::string request_json(const JobRequest& request);

// From an API body or the journal. A duration is a number of seconds, or text such as "90s", "1.5h"
// or "250ms". Refuses unknown keys with the nearest known one, wrong types, repeated keys, depth
// and size beyond the bounds, in one line of printable text. Completed and checked.
Result<JobRequest> read_request(std::string_view json);

// "64G", "1.5T", "500M", "4096K": sizes people write are powers of 1,024, with or without a B
// behind; rounded up to whole MiB. A bare number is refused, unless it is said what it counts.
Result<MemAmount> parse_mem(std::string_view text, std::string_view bare_unit = "");
std::string mem_text(MemAmount mem);  // "64G", "1536M": parse_mem() gives it back.
// To thousandths: "4", "0.5".
Result<CpuAmount> parse_cpus(std::string_view text);
std::string cpus_text(CpuAmount cpus);

// "0-9", "0-9:2" (every second), "0-9%3" (three at a time), "7" (just this one).
Result<ArrayRange> parse_array(std::string_view text);
std::string array_text(const ArrayRange& array);

}  // namespace muster
