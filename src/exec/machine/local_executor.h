#pragma once

// Runs parts of leases on this machine, each with its own muster-shim process, which survives the
// daemon. The owner polls fd(): MachineExecutor for the manager, measure.h for a profiled job. For
// one thread. Orders are idempotent: a lease runs at most once, even if its start is ordered again
// after a crash.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"
#include "exec/lease/executor.h"
#include "exec/lease/lease_directory.h"
#include "exec/lease/shim_client.h"
#include "exec/lease/spec.h"
#include "exec/machine/shim_starter.h"

namespace muster {

class LocalExecutor {
 public:
  struct Settings {
    std::string leases;  // Directory of all records; created if missing.
    std::string shim;    // Path of muster-shim.
    Duration answer_wait = Duration::micros(500'000);  // Response timeout of a shim.
  };
  static Result<LocalExecutor> open(Settings settings);
  // With another way to start shims; ignores Settings::shim.
  static Result<LocalExecutor> open(Settings settings, std::unique_ptr<ShimStarter> starter);

  // Starts a part. On success its record is durable, and poll() reports its progress. The order can
  // be repeated.
  MaybeError start(const LaunchSpec& spec);

  // Re-adopts a lease of an earlier daemon. poll() also reports kRunning, kEnded and kLost. A
  // kNeverStarted lease is not adopted: start() or abandon() it.
  Result<Found::What> adopt(const std::string& lease);
  // Makes sure that a lease that never started cannot start.
  MaybeError abandon(const std::string& lease);
  // Sorted names of all records, and of the records without exit.json.
  Result<std::vector<std::string>> records() const { return record_names(settings_.leases); }
  Result<std::vector<std::string>> unfinished() const {
    return unfinished_records(settings_.leases);
  }
  Result<LaunchSpec> spec(const std::string& lease) const;  // The spec on disk.
  // Deletes the record of a finished lease. Returns false if there is no such record.
  bool forget(const std::string& lease);

  MaybeError resize(const std::string& lease, Limits limits);
  MaybeError stop(const std::string& lease, std::optional<std::int64_t> grace_ms = {});
  // Kills the lease also if its shim is stopped, hung or only claims to kill it: then first the
  // processes of the job, and the shim last, because it holds their process tree together. The
  // lease then ends as kLost. The caller repeats the order until the lease has ended.
  MaybeError kill(const std::string& lease);
  Result<ShimStatus> status(const std::string& lease) const;

  // CPU usage of the running leases whose shims respond. All unresponsive shims together delay this
  // call by at most one answer_wait.
  std::vector<PartUse> use() const;

  // Kills the remaining processes of a lease, as sweep() in lease_directory.h does. Spares the
  // processes of other active leases.
  bool sweep(const LaunchSpec& spec, std::int64_t since, bool patient) const;

  bool has(const std::string& lease) const { return leases_.contains(lease); }  // Is active.

  int fd() const { return epoll_.get(); }  // Readable when poll() has something to do.
  std::vector<ExecEvent> poll();           // Never blocks.

 private:
  struct Lease {
    LaunchSpec spec;
    Fd directory;
    Fd process;      // Pidfd of the shim; closed if it ended or is unknown.
    pid_t shim = 0;  // Valid while `process` is open.
    Fd words;        // Error output of the shim; closed when the job starts.
    std::string said;
    bool child = false;     // We must reap it.
    bool started = false;   // kStarted was reported, so it must not start again.
    bool sweeping = false;  // Lost: its remaining processes are being killed.
    int sweeps = 0;
    int kills = 0;           // How often the shim accepted a kill.
    std::int64_t since = 0;  // Start of the shim in ticks; 0 if unknown.
    std::string why;
  };

  LocalExecutor(Settings settings, std::unique_ptr<ShimStarter> starter)
      : settings_(std::move(settings)), starter_(std::move(starter)) {}
  MaybeError spawn(const std::string& name, Lease& lease);
  // Moves the lease into leases_ if it is running or lost.
  Result<Found::What> adopt(const std::string& name, Lease& lease);
  Lease* find(const std::string& name);
  void watch(const Fd& fd) const;
  void wake();
  bool kill_job(const Lease& lease) const;

  void receive(const std::string& name, Lease& lease);
  void bury(const std::string& name);
  void give_up(const std::string& name, const Lease& lease);
  void settle_the_rest();
  void tell(ExecEvent::Kind kind, const std::string& name, const Lease& lease, Found found);

  Settings settings_;
  std::unique_ptr<ShimStarter> starter_;
  Fd epoll_;
  Fd timer_;  // Fires when events are pending, and repeatedly while leases are swept.
  std::map<std::string, Lease> leases_;
  std::vector<ExecEvent> events_;
};

}  // namespace muster
