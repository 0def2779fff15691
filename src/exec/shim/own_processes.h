#pragma once

// The processes of a lease as children of the shim, which has the same user. With a control group
// if possible. Otherwise it watches the memory and limits the CPU rate of the process tree.

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/os/files.h"
#include "exec/shim/job_processes.h"
#include "exec/shim/ranks.h"
#include "exec/shim/throttle.h"

namespace muster {

class OwnProcesses final : public JobProcesses {
 public:
  // Blocks SIGCHLD in the calling thread, and makes the process the parent of orphans.
  static Result<std::unique_ptr<JobProcesses>> make(const LaunchSpec& spec,
                                                    const std::string& progress);
  ~OwnProcesses() override;  // Removes the control group.

  std::string isolation() const override {
    return group_ ? std::string(group_->kind()) : "reduced";
  }
  std::string isolation_why() const override { return reduced_why_; }
  void start(std::span<const int> outputs) override;
  void signal(int number) override { ranks_.signal(number); }
  void kill() override;
  MaybeError resize(Limits limits) override;
  std::vector<ProcessEvent> take(std::int64_t now_us) override;
  int fd() const override { return ended_.get(); }
  std::int64_t deadline_us() const override;
  ProcessUse use() const override;
  void account(ExitReport& report) const override;

 private:
  OwnProcesses(const LaunchSpec& spec, std::string progress)
      : spec_(spec),
        progress_(std::move(progress)),
        limits_{.cpu_milli = spec.cpu_milli, .mem_mib = spec.mem_mib} {}

  void limit();  // Creates the control group or the throttle.
  std::string restrict_job();
  std::int64_t data_limit() const;  // 0: no limit.
  void kill_all() const;
  void reap();
  void hold_to_limits(std::int64_t now_us);
  void pause(bool run, const std::vector<pid_t>& tree);
  bool all_gone() const;

  LaunchSpec spec_;
  std::string progress_;
  Limits limits_;
  Fd ended_;  // A signalfd of SIGCHLD.
  std::optional<ControlGroup> group_;
  std::optional<Throttle> throttle_;  // Only without a control group.
  std::string reduced_why_;
  Ranks ranks_;
  std::vector<ProcessEvent> events_;
  std::int64_t mem_peak_bytes_ = 0;
  bool paused_ = false;
  bool started_ = false;
  bool killing_ = false;
  bool over_ = false;                  // kOver was reported.
  std::int64_t throttle_at_ = kNever;  // In boot time, like kill_at_.
  std::int64_t kill_at_ = kNever;      // Next repetition of kill().
};

}  // namespace muster
