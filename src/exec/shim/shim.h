#pragma once

// Runs one part of a lease on its node, from spec.json to exit.json. This is the program
// muster-shim without its command line. Single-threaded except for LeaseFence. Starts and kills
// processes only through JobProcesses. See docs/adr/0012-shims.md.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/files.h"
#include "base/types/result.h"
#include "exec/lease/control.h"
#include "exec/lease/report.h"
#include "exec/lease/spec.h"
#include "exec/shim/job_processes.h"
#include "exec/shim/lease_fence.h"
#include "exec/shim/rank_output.h"

namespace muster {

class Shim {
 public:
  // Locks the directory until the process ends, and reads the spec. Fails if another shim has the
  // lock or a shim was started here before. A lease therefore runs at most once.
  static Result<Shim> claim(const std::string& directory);

  // Prepares the run and writes started.json. On success the file is durable, and no instruction of
  // the job has run yet.
  MaybeError prepare(const MakeProcesses& make);
  MaybeError open_descriptors();
  MaybeError watch(int fd) const;  // Makes loop() wake when it is readable.
  MaybeError record_start();

  // Runs the job to its end and writes exit.json.
  MaybeError run();

 private:
  Shim(Fd directory, Fd lock, LaunchSpec spec);

  void start_ranks();
  void loop();
  std::int64_t next_deadline() const;
  std::int64_t fence_at() const;  // When a remote lease without contact ends.
  void take_signals();
  void take_events();
  void take_end(const RankEnd& end, const std::string& circumstance);
  void act_on_time(std::int64_t now_us);

  std::string answer(std::string_view line);
  MaybeError resize(Limits limits);
  void obey(const RemoteOrder& order);
  std::string status_json() const;

  void end_with(EndCause cause, std::string words);
  void stop(std::int64_t grace_ms);
  void kill_everything();
  bool ranks_over() const;  // No rank runs, and none will start.
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
  std::unique_ptr<JobProcesses> processes_;
  std::optional<RankOutput> output_;
  int ran_ = 0;  // Number of ranks that were started.
  bool start_failed_ = false;
  bool out_of_memory_ = false;  // The kernel has killed a process for its memory.
  bool over_ = false;           // No process of the job is left.

  ClockPair start_;
  std::optional<EndCause> cause_;
  std::string words_;
  bool forced_ = false;
  int error_number_ = 0;
  std::vector<RankEnd> ends_;
  bool left_killed_ = false;  // Processes that the ranks left behind were ordered to be killed.

  // Deadlines in boot time, in microseconds; kNever if not set.
  static constexpr std::int64_t kNever = INT64_MAX;
  std::int64_t limit_at_ = kNever;
  std::int64_t kill_at_ = kNever;
  std::int64_t progress_at_ = kNever;
};

}  // namespace muster
