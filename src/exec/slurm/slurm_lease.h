#pragma once

// A lease as the Slurm executor keeps it: parts, one a server, and groups of equal parts, one batch
// job each. And the tag by which such a job is known as ours, whatever its number.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exec/lease/report.h"
#include "exec/lease/spec.h"
#include "exec/lease/wish.h"
#include "exec/slurm/slurm.h"

namespace muster {

struct SlurmPart {
  LaunchSpec spec;
  std::string name;  // Of its record: "j12.e3.n1".
  std::string node;
  int group = 0;
  bool started = false;
  bool over = false;             // And told so.
  Wish wish;                     // As last written.
  std::int64_t unasked_at = 0;   // It has stopped and we did not say so, since then.
  std::int64_t row_over_at = 0;  // Slurm says that it is over, since then.
  std::int64_t retired_at = 0;   // It may not go on, since then.
  std::int64_t cut_at = 0;       // When its server, over there, was last seen not to answer.
  std::string retired_why;
};

struct SlurmGroup {
  enum class Step : std::uint8_t {
    kNew,         // To be submitted.
    kSubmitting,  // Under way.
    kUnsure,      // It was, and perhaps acknowledged: squeue will tell what came of it.
    kHeld,        // There, and not yet to run.
    kReleased,
  };
  Step step = Step::kNew;
  std::vector<std::size_t> parts;  // Of the lease, as are the nodes: in the same order.
  std::vector<std::string> nodes;
  std::int64_t cpus = 1;  // Of each.
  std::int64_t mem_mib = 0;
  std::int32_t gpus = 0;
  SlurmId id = 0;          // 0: not known.
  std::int64_t since = 0;  // Of the step.
  std::int64_t again = 0;  // Not to be submitted before.
  std::int64_t refused_since = 0;
  std::string state;                   // As Slurm said last; empty: nothing yet.
  std::string said;                    // The last note on it.
  std::int64_t running_since = 0;      // In Slurm, while some part has not begun.
  std::int64_t unreachable_since = 0;  // One of its nodes does not answer.
  std::int64_t unusable_since = 0;     // It waits for one that takes no jobs.

  void go(Step next, std::int64_t now) {
    step = next;
    since = now;
  }
};

struct SlurmLease {
  std::string name;  // "j12.e3"
  std::vector<SlurmPart> parts;
  std::vector<SlurmGroup> groups;
  std::int64_t up_since = 0;         // All of it; 0: not yet.
  bool restarting = false;           // To have other CPUs or memory.
  std::optional<Limits> wants_more;  // Of a part, than Slurm has given it.
};

std::string slurm_name(const LaunchSpec& first);  // Of the lease it is a part of: "j12.e3".
std::string slurm_node(const LaunchSpec& spec);   // Where it is to run; empty: it does not say.

// How long after it was retired a part may still go on where nobody reaches it: its shim ends it
// when it has heard nothing for so long (exec/shim/fence.h), with the last resort after that.
std::int64_t fence_wait_us(const LaunchSpec& spec);

// "muster:INSTANCE:j12.e3:0"
struct SlurmTag {
  std::string lease;
  int group = 0;
};
std::string tag_of(std::string_view instance, const std::string& lease, int group);
std::optional<SlurmTag> read_tag(std::string_view instance, std::string_view comment);

// The job of these rows of squeue that is not over; null if all are.
const SlurmJob* live_row(const std::vector<SlurmJob>& rows);

// Parts with equal needs together, in the order of their first. CPUs are whole: less than asked by
// what is beyond, but one at least.
std::vector<SlurmGroup> groups_of(std::vector<SlurmPart>& parts);

}  // namespace muster
