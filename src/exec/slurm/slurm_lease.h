#pragma once

// A lease of the Slurm executor. It has one part per node. Parts with equal resources form a group,
// which is one batch job. A tag in the comment of the job identifies it. Times are boot time in
// microseconds; 0 means never.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exec/lease/remote_order.h"
#include "exec/lease/report.h"
#include "exec/lease/spec.h"
#include "exec/slurm/slurm.h"

namespace muster {

struct SlurmPart {
  LaunchSpec spec;
  std::string name;  // Name of the record: "j12.e3.n1".
  std::string node;
  int group = 0;
  bool started = false;
  bool over = false;             // It has ended, and the event was reported.
  RemoteOrder order;             // The last order written to disk.
  std::int64_t unasked_at = 0;   // When it was found stopped without our order.
  std::int64_t row_over_at = 0;  // When Slurm reported its end.
  std::int64_t retired_at = 0;   // When it was ordered to end for good.
  std::int64_t cut_at = 0;       // When its node last did not respond.
  std::string retired_why;
};

struct SlurmGroup {
  enum class Step : std::uint8_t {
    kNew,         // Not submitted yet.
    kSubmitting,  // sbatch is running.
    kUnsure,      // Submitted, but the result is unknown until squeue shows it.
    kHeld,        // Submitted and held.
    kReleased,    // Released to run.
  };
  Step step = Step::kNew;
  std::vector<std::size_t> parts;  // Indices in SlurmLease::parts.
  std::vector<std::string> nodes;  // In the order of `parts`.
  std::int64_t cpus = 1;           // Per node, like mem_mib and gpus.
  std::int64_t mem_mib = 0;
  std::int32_t gpus = 0;
  SlurmId id = 0;          // 0 if unknown.
  std::int64_t since = 0;  // Start of the current step.
  std::int64_t again = 0;  // Earliest time of the next submit.
  std::int64_t refused_since = 0;
  std::string state;                   // Last state that Slurm reported; empty if none.
  std::string said;                    // The last note about it.
  std::int64_t running_since = 0;      // Start in Slurm, while some part has not started.
  std::int64_t unreachable_since = 0;  // When a node stopped responding.
  std::int64_t unusable_since = 0;     // Since when it waits for an unusable node.

  void go(Step next, std::int64_t now) {
    step = next;
    since = now;
  }
};

struct SlurmLease {
  std::string name;  // "j12.e3"
  std::vector<SlurmPart> parts;
  std::vector<SlurmGroup> groups;
  std::int64_t up_since = 0;         // When all parts had started.
  bool restarting = false;           // With other CPUs or memory.
  std::optional<Limits> wants_more;  // Limits above the allocation in Slurm.
};

std::string slurm_name(const LaunchSpec& first);  // Name of the lease: "j12.e3".
std::string slurm_node(const LaunchSpec& spec);   // Node of the part; empty if not set.

// Returns how long a retired part can keep running on an unreachable node. Its shim ends it after
// that time without contact (exec/shim/lease_fence.h).
std::int64_t fence_wait_us(const LaunchSpec& spec);

// The comment of a Slurm job of this manager: "muster:INSTANCE:j12.e3:0".
struct SlurmTag {
  std::string lease;
  int group = 0;
};
std::string tag_of(std::string_view instance, const std::string& lease, int group);
std::optional<SlurmTag> read_tag(std::string_view instance, std::string_view comment);

// Returns the first active job of the rows, or null.
const SlurmJob* live_row(const std::vector<SlurmJob>& rows);

// Groups the parts by their resources, in the order of the first part, and sets SlurmPart::group.
// CPUs are rounded down to whole CPUs, at least one.
std::vector<SlurmGroup> groups_of(std::vector<SlurmPart>& parts);

}  // namespace muster
