#pragma once

// One lease on one node, from the record directory's spec.json to its exit.json: the whole of the
// program muster-shim but its command line. docs/adr/0012-shims.md has the contract.

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
#include "exec/lease/log_file.h"
#include "exec/lease/report.h"
#include "exec/lease/spec.h"
#include "exec/shim/fence.h"
#include "exec/shim/ranks.h"
#include "exec/shim/throttle.h"

namespace muster {

// RLIMIT_DATA of a job without a group, a backstop well above its memory: the watch over the whole
// tree is what holds it to that, and can tell so.
inline std::int64_t data_limit_bytes(Limits limits) {
  return ((limits.mem_mib + std::max<std::int64_t>(limits.mem_mib, 4096)) << 20);
}

class Shim {
 public:
  // Takes the directory's lock, for as long as the process lives, and reads the spec. Refuses if
  // another shim has the lock or any shim ever started here: a lease runs at most once.
  static Result<Shim> claim(const std::string& directory);

  // Writes started.json; when this returns well, it is on disk, and no instruction of the job
  // has run yet.
  Refusal prepare();
  Refusal open_descriptors();
  Refusal record_start();

  // Runs the job to its end and writes exit.json.
  Refusal run();

 private:
  Shim(Fd directory, Fd lock, LaunchSpec spec);

  void start_ranks();
  std::int64_t data_limit() const;  // 0: none.
  void loop();
  std::int64_t next_deadline() const;
  std::int64_t fence_at() const;  // When a remote lease that hears nothing ends.
  void take_output(std::size_t most);
  void take_signals();
  void take_ends();
  void act_on_time(std::int64_t now_us);
  void hold_to_limits(std::int64_t now_us);

  std::string answer(std::string_view line);
  Refusal resize(Limits limits);
  void obey(const Wish& wish);
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
  std::string path_;  // Of the directory, absolute.
  Fd events_, signals_, timer_, output_, input_;
  std::optional<ControlServer> control_;
  std::int64_t heard_us_ = 0;     // When the record of a remote lease was last read.
  std::unique_ptr<Fence> fence_;  // Of a remote lease, while it runs.
  std::optional<ControlGroup> group_;
  std::optional<Throttle> throttle_;  // Without a group.
  std::string reduced_why_;
  std::optional<LogFile> log_;
  Ranks ranks_;

  TwoClocks start_;
  std::optional<EndCause> cause_;
  std::string words_;
  bool forced_ = false;
  int error_number_ = 0;
  std::vector<RankEnd> ends_;
  std::int64_t mem_peak_bytes_ = 0;
  bool paused_ = false;

  // Instants of boot time in microseconds; kNever when they do not apply.
  static constexpr std::int64_t kNever = INT64_MAX;
  std::int64_t limit_at_ = kNever;
  std::int64_t kill_at_ = kNever;
  std::int64_t throttle_at_ = kNever;
  std::int64_t sweep_at_ = kNever;
};

}  // namespace muster
