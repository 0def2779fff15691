#pragma once

// Runs one part of a lease on its node, from spec.json to exit.json. This is the program
// muster-shim without its command line. Single-threaded except for LeaseFence. See
// docs/adr/0012-shims.md.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/files.h"
#include "base/types/result.h"
#include "exec/cgroup/cgroup.h"
#include "exec/lease/control.h"
#include "exec/lease/report.h"
#include "exec/lease/spec.h"
#include "exec/shim/lease_fence.h"
#include "exec/shim/rank_output.h"
#include "exec/shim/ranks.h"
#include "exec/shim/throttle.h"

namespace muster {

// RLIMIT_DATA of a job without a control group, well above its memory limit. It is only a backstop:
// the shim enforces the limit by monitoring the process tree.
inline std::int64_t data_limit_bytes(Limits limits) {
  return ((limits.mem_mib + std::max<std::int64_t>(limits.mem_mib, 4096)) << 20);
}

class Shim {
 public:
  // Locks the directory until the process ends, and reads the spec. Fails if another shim has the
  // lock or a shim was started here before. A lease therefore runs at most once.
  static Result<Shim> claim(const std::string& directory);

  // Prepares the run and writes started.json. On success the file is durable, and no instruction of
  // the job has run yet.
  MaybeError prepare();
  MaybeError open_descriptors();
  MaybeError record_start();

  // Runs the job to its end and writes exit.json.
  MaybeError run();

 private:
  Shim(Fd directory, Fd lock, LaunchSpec spec);

  void start_ranks();
  std::int64_t data_limit() const;  // 0: no limit.
  void loop();
  std::int64_t next_deadline() const;
  std::int64_t fence_at() const;  // When a remote lease without contact ends.
  void take_signals();
  void take_ends();
  void act_on_time(std::int64_t now_us);
  void hold_to_limits(std::int64_t now_us);

  std::string answer(std::string_view line);
  MaybeError resize(Limits limits);
  void obey(const RemoteOrder& order);
  std::string status_json() const;

  void end_with(EndCause cause, std::string words);
  void stop(std::int64_t grace_ms);
  void kill_everything();
  void pause(bool run, const std::vector<pid_t>& tree);
  bool over() const;
  ExitReport report();

  Fd directory_;
  Fd lock_;
  LaunchSpec spec_;
  Limits limits_;
  std::string path_;  // Absolute path of the directory.
  Fd events_, signals_, timer_;
  std::optional<ControlServer> control_;
  std::int64_t heard_us_ = 0;          // Last read of a remote lease's record.
  std::unique_ptr<LeaseFence> fence_;  // For a remote lease, while it runs.
  std::optional<ControlGroup> group_;
  std::optional<Throttle> throttle_;  // Only without a control group.
  std::string reduced_why_;
  std::optional<RankOutput> output_;
  Ranks ranks_;

  ClockPair start_;
  std::optional<EndCause> cause_;
  std::string words_;
  bool forced_ = false;
  int error_number_ = 0;
  std::vector<RankEnd> ends_;
  std::int64_t mem_peak_bytes_ = 0;
  bool paused_ = false;

  // Deadlines in boot time, in microseconds; kNever if not set.
  static constexpr std::int64_t kNever = INT64_MAX;
  std::int64_t limit_at_ = kNever;
  std::int64_t kill_at_ = kNever;
  std::int64_t throttle_at_ = kNever;
  std::int64_t sweep_at_ = kNever;
};

}  // namespace muster
