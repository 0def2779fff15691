#pragma once

// Runs leases: on this machine (machine.h) or on a cluster (slurm.h). The hands own one, give it
// orders and ask it for news; they know no more of it than this. For one thread. Orders are
// idempotent: a lease runs at most once, however often its start is ordered and whoever died in
// between. A lease is its parts, one a server, each with a record directory named by lease_name().

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/types/result.h"
#include "exec/cgroup/cgroup.h"
#include "exec/lease/report.h"
#include "exec/lease/spec.h"

namespace muster {

struct ExecEvent {
  enum class Kind { kStarted, kEnded, kLost, kNote };
  Kind kind = Kind::kStarted;
  std::string lease;  // "j12.e3"
  std::int64_t job = 0;
  std::int64_t epoch = 0;
  int node_rank = 0;
  std::optional<StartedFacts> started;  // Of kStarted.
  std::optional<ExitReport> ended;      // Of kEnded.
  // Of kLost: why. Nothing of the lease is left by then, or what is left can do no harm. Of kNote:
  // what people should know of the lease, which goes on.
  std::string why;
};

// What is known of a server beside what it has.
struct ServerNews {
  std::string name;
  bool usable = true;  // For new leases.
  std::string why;     // Not usable: one line for people.
  // Held there by others than us.
  std::int32_t gpus = 0;
  std::int64_t cpu_milli = 0;
  std::int64_t mem_mib = 0;
  friend bool operator==(const ServerNews&, const ServerNews&) = default;
};

// A server to schedule on.
struct ServerFacts {
  std::string name;
  std::string rack;
  std::string gpu_type;
  std::int32_t gpus = 0;
  std::int64_t cpu_milli = 0;
  std::int64_t mem_mib = 0;
  bool gpus_virtual = false;
  bool full_isolation = false;
  std::vector<std::string> words;  // For people.
  friend bool operator==(const ServerFacts&, const ServerFacts&) = default;
};

// How busy what leases hold is.
struct PartUse {
  std::int64_t job = 0;
  std::int64_t epoch = 0;
  int node_rank = 0;
  double cpu_s = 0;            // So far.
  std::int64_t cpu_milli = 0;  // Of what it is allowed now.
};
struct MachineUse {
  std::vector<double> gpus;  // As GpuWatch::use().
  std::vector<PartUse> parts;
};

class Executor {
 public:
  virtual ~Executor() = default;

  // All parts of a lease, by node_rank. On disk and ordered when it returns, each part that is not
  // refused; the events tell the rest. An order repeated is fine.
  virtual std::vector<Refusal> start(std::span<const LaunchSpec> parts) = 0;

  // Of a lease an earlier daemon ordered: what became of each part.
  enum class TakenUp {
    kOurs,      // Running, over or lost: events tell.
    kNever,     // It never started. May be started, by the spec as it is given back.
    kGone,      // It had started and nothing is known of it; nothing of it is left.
    kAskAgain,  // Not to be known just now.
  };
  // `was_up`: it is known to have started. `stopping`: it is not to start any more.
  virtual std::vector<TakenUp> take_up(std::span<LaunchSpec> parts, bool was_up, bool stopping) = 0;

  // Of one part. A refusal: not now, try again.
  virtual Refusal stop(const std::string& part, std::optional<std::int64_t> grace_ms) = 0;
  virtual Refusal kill(const std::string& part) = 0;
  // What was done otherwise than ordered, in words; empty if nothing.
  virtual Result<std::string> resize(const std::string& part, Limits limits) = 0;

  // Deletes the record of a part that is over; false if there is none such.
  virtual bool forget(const std::string& part) = 0;

  // Ends every lease of ours that is neither over nor among these (job, epoch): nobody knows it
  // any more. Called once, before the first order. Gives a line for each.
  using Name = std::pair<std::int64_t, std::int64_t>;
  virtual std::vector<std::string> end_strangers(std::span<const Name> known) = 0;

  // How to run a command on a server, as a command on this machine.
  virtual std::vector<std::string> command_on(const std::string& server,
                                              std::vector<std::string> command) const = 0;

  virtual int fd() const = 0;                     // Readable when poll() has something to do.
  virtual std::vector<ExecEvent> poll() = 0;      // Never waits for long.
  virtual std::vector<ServerNews> servers() = 0;  // News since the last call.
  // The servers themselves, if they are others than at the last call.
  virtual std::optional<std::vector<ServerFacts>> changed_servers() = 0;
  virtual std::vector<std::string> troubles() = 0;  // Lines for the log since the last call.
  // How busy things are now; nothing if that cannot be seen from here.
  virtual std::optional<MachineUse> use() { return std::nullopt; }
};

}  // namespace muster
