#pragma once

// Runs parts of leases on this machine, each by a muster-shim of its own that outlives us. Whoever
// owns it watches fd(): machine.h for the manager, measure/ for a job of its own. Not for several
// threads. Orders are idempotent: a lease runs at most once, however often its start is ordered and
// whoever died in between.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"
#include "exec/lease/client.h"
#include "exec/lease/executor.h"
#include "exec/lease/record.h"
#include "exec/lease/spec.h"

namespace muster {

class LocalExecutor {
 public:
  struct Settings {
    std::string leases;  // The directory of all record directories; made if missing.
    std::string shim;    // The program muster-shim.
    Duration answer_wait = Duration::micros(500'000);  // What a shim has for an answer.
  };
  static Result<LocalExecutor> open(Settings settings);

  // On disk and ordered when it returns; the events tell the rest. An order repeated is fine.
  Refusal start(const LaunchSpec& spec);

  // Takes up a lease somebody else started, after a restart. kRunning, kEnded and kLost come as
  // events too; a kNeverStarted lease is not taken up: order it again, or abandon it.
  Result<Found::What> adopt(const std::string& lease);
  // A lease that never started never will.
  Refusal abandon(const std::string& lease);
  // Names of all record directories, sorted; and of those whose lease is not known to be over.
  Result<std::vector<std::string>> records() const { return record_names(settings_.leases); }
  Result<std::vector<std::string>> unfinished() const {
    return unfinished_records(settings_.leases);
  }
  Result<LaunchSpec> spec(const std::string& lease) const;  // As it was written down.
  // Deletes the record of a lease that is over; false if there is none such.
  bool forget(const std::string& lease);

  Refusal resize(const std::string& lease, Limits limits);
  Refusal stop(const std::string& lease, std::optional<std::int64_t> grace_ms = {});
  // Works on a shim that does not answer too: then the lease comes to an end as kLost.
  Refusal kill(const std::string& lease);
  Result<ShimStatus> status(const std::string& lease) const;

  // Of the leases that run, as far as their shims answer: all that are frozen together are waited
  // for as long as one is elsewhere.
  std::vector<PartUse> use() const;

  bool has(const std::string& lease) const { return leases_.contains(lease); }  // Not over.

  int fd() const { return epoll_.get(); }  // Readable when poll() has something to do.
  std::vector<ExecEvent> poll();           // Never waits.

 private:
  struct Lease {
    LaunchSpec spec;
    Fd directory;
    Fd process;  // A pidfd; none when its shim is gone or not known.
    Fd words;    // What the shim says before it has started; its end means it has.
    std::string said;
    bool child = false;     // Ours to reap.
    bool started = false;   // We have told so: whatever its record says, it is not to start again.
    bool sweeping = false;  // Lost: what is left of it is being killed.
    int sweeps = 0;
    std::int64_t since = 0;  // The shim's start in ticks, where known.
    std::string why;
  };

  explicit LocalExecutor(Settings settings) : settings_(std::move(settings)) {}
  Refusal spawn(const std::string& name, Lease& lease);
  // Moves from the lease if it is running or lost.
  Result<Found::What> take_up(const std::string& name, Lease& lease);
  Lease* find(const std::string& name);
  void watch(const Fd& fd) const;
  void wake();

  void hear(const std::string& name, Lease& lease);
  void bury(const std::string& name);
  void give_up(const std::string& name, const Lease& lease);
  void settle_the_rest();
  void tell(ExecEvent::Kind kind, const std::string& name, const Lease& lease, Found found);

  Settings settings_;
  Fd epoll_;
  Fd timer_;  // Due now when events wait, and again while something is being swept.
  std::map<std::string, Lease> leases_;
  std::vector<ExecEvent> events_;
};

}  // namespace muster
