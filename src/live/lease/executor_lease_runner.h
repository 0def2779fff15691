#pragma once

// Lease runner for any executor. Its own thread owns the executor, so that a slow disk or a frozen
// shim never blocks the manager. It retries orders that cannot be executed now. It kills a shim
// that does not stop some time after the end of its grace period, or that does not enforce the time
// limit of its job.

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "exec/diagnose/failure_diagnoser.h"
#include "exec/lease/executor.h"
#include "live/lease/lease_runner.h"
#include "live/lease/node_tests.h"
#include "live/lease/utilization_sampler.h"

namespace muster {

class ExecutorLeaseRunner final : public LeaseRunner {
 public:
  using News = std::function<void(std::vector<Input>)>;
  // If a shim does not enforce the time limit of a lease, the runner kills the lease this long
  // after limit and grace period. Measured from the start of the lease with the boot clock.
  static constexpr Duration kMaxOvertime = Duration::seconds(60);
  // The runner's thread calls all three functions. `news` gets inputs for the roster. `servers`
  // gets all nodes whenever they change. `trouble` gets one line for the log.
  ExecutorLeaseRunner(std::unique_ptr<Executor> executor, FailureDiagnoser doctor, News news,
                      std::function<void(std::vector<NodeDescription>)> nodes,
                      std::function<void(std::string)> trouble, Duration overtime = kMaxOvertime);
  ~ExecutorLeaseRunner() override;  // Leaves all leases running.

  void order(std::vector<LeaseOrder> orders) override;
  std::shared_ptr<const UseSample> use() override;

  // Stops the leases on disk that have not ended and are not in `known`.
  void stop_unknown_leases(std::vector<std::pair<LiveId, std::uint32_t>> known);

 private:
  using Clock = std::chrono::steady_clock;
  struct Part {  // The part of a lease on one node.
    LaunchSpec spec;
    bool ordered = false;  // The executor has accepted it.
    bool up = false;
    std::optional<LeaseOverInput> over;
    ExitReport report;             // Set if `over` is set and the shim left a report.
    std::optional<Limits> limits;  // Limits that must still be set.
    // Next check of the time limit in boot time, in microseconds.
    std::int64_t limit_check_at = INT64_MAX;
    bool is_late = false;  // The shim should have ended it.
  };
  struct Held {
    std::vector<Part> parts;
    bool told_up = false;
    bool stopping = false;
    bool adopt = false;  // The executor has not reported its outcome yet.
    bool was_up = false;
    std::optional<Duration> grace;
    Clock::time_point stop_at;  // No stop is sent earlier.
    Clock::time_point kill_at;
    Clock::time_point start_at;  // No start is tried earlier.
    Clock::time_point give_up_at;
    bool overtime = false;  // Killed because of its time limit.
    std::string isolation;
  };
  using Name = std::pair<LiveId, std::uint32_t>;

  void run();
  void take(LeaseOrder order);
  void work();  // Does everything that is due.
  void try_start(const Name& name, Held& held);
  void order_start(Held& held, const std::vector<LaunchSpec>& specs);
  void try_take_up(const Name& name, Held& held);
  void try_stop(const Name& name, Held& held);
  void try_resize(const Name& name, Held& held);
  // executor_lease_runner_clock.cc
  void begin_limit(Part& part, const std::optional<StartedFacts>& started) const;
  void enforce_limit(Held& held);
  LeaseOverInput end_of(const Held& held, LeaseOverInput over) const;

  void receive(const ExecEvent& event);
  void tell_note(const Name& name, const std::string& words);
  void settle(const Name& name, Held& held);
  void end_unknown_leases(const std::vector<Name>& known);
  void report_changed_nodes();
  void forget(const Name& name);
  void look_at_use();
  int wait_ms() const;

  std::unique_ptr<Executor> executor_;
  FailureDiagnoser doctor_;
  News news_;
  std::function<void(std::vector<NodeDescription>)> nodes_;
  std::function<void(std::string)> trouble_;
  Duration overtime_;
  Fd wake_;
  std::mutex mutex_;
  std::deque<LeaseOrder> inbox_;            // Guarded by mutex_.
  std::optional<std::vector<Name>> known_;  // Guarded by mutex_; see stop_external_jobs().
  bool ending_ = false;                     // Guarded by mutex_.
  bool use_wanted_ = true;  // Guarded by mutex_. The first sample is the base of later ones.
  std::shared_ptr<const UseSample> use_;  // Guarded by mutex_.
  Clock::time_point use_at_;              // Guarded by mutex_.
  UtilizationSampler use_watch_;
  std::map<Name, Held> held_;
  NodeTests tests_;
  std::vector<Name> done_;
  std::vector<Input> told_;
  std::thread thread_;
};

}  // namespace muster
