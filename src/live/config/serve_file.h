#pragma once

// Reads how the live manager is to run: the file of `muster serve` (docs/config.md). The command
// reads it once, before anything is started. Every key may be left out; what is here is checked in
// itself, and names of schedulers' parts are for whoever makes them to check.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"
#include "engine/model/tenants.h"

namespace muster {

// A server to schedule on, all of them played by this machine.
struct ServeNode {
  std::string name;  // Once in a file.
  std::int32_t gpus = 1;
  std::int64_t cpu_milli = 0;  // 0: its part of what the machine has.
  std::int64_t mem_mib = 0;    // 0: the same.
  std::string gpu_type = "gpu";
  std::string rack;  // Empty: one for all that name none.
};

struct ServeScheduler {
  // Empty parts are the preset's, or else those `muster sim` takes when it is told nothing.
  std::string preset;
  std::string policy;
  std::string mechanism;
  std::string placement;
  std::optional<Duration> round;  // None: the preset's. Zero: plans whenever something happens.
  Duration checkpoint_interval = Duration::seconds(300);  // How often jobs are taken to save.
  Duration min_run = Duration::seconds(300);  // Left out in the file: the checkpoint_interval.
  Duration quantum = Duration::seconds(300);
  std::string estimates = "history";  // Or "user", or "progress".
  std::string retry = "adaptive";     // As parse_retry_policy() reads it.
};

struct TcpAddress {
  std::string host;        // An address or a name; of IPv6 without the brackets.
  std::uint16_t port = 0;  // 0: any that is free.
  friend bool operator==(const TcpAddress&, const TcpAddress&) = default;
};

struct ServeListen {
  std::string socket;  // Empty: where it always is, muster.sock in $MUSTER_HOME.
  std::optional<TcpAddress> tcp;
  bool browsers = true;     // Whether, without `tcp`, there is an address on loopback for browsers.
  std::string certificate;  // With the key, or neither: no TLS.
  std::string key;
  std::string tokens;  // The file of who may call by TCP; always there if `tcp` is.
  std::int32_t max_connections = 256;
  std::vector<std::string>
      names;  // By which it may be called over TCP; for TLS there need be none.
};

// What to know of a Slurm cluster; the names may be empty.
struct ServeSlurm {
  std::string partition;  // Empty: the default one.
  std::string reservation;
  std::string account;
  std::string qos;
  std::map<std::string, std::string> racks;         // By server, before what Slurm's topology says.
  Duration every = Duration::seconds(1);            // Between two looks at it.
  Duration timeout = Duration::seconds(15);         // Of one of its commands.
  Duration restart_after = Duration::seconds(600);  // To give a lease more than it began with.
};

struct ServeFile {
  std::string executor = "local";  // Which they are: executor_names() in live/config/site.h.
  ServeSlurm slurm;
  std::int32_t virtual_gpus = 4;  // Where the machine has no real ones.
  std::vector<ServeNode> nodes;   // Empty: this machine as it is.
  ServeScheduler scheduler;
  std::optional<TenantTree> tenants;  // Not held against the cluster: ask TenantTree::check().
  std::string profiles;               // A file; empty: the built-in ones.
  Duration grace = Duration::seconds(30);
  Duration retention = Duration::seconds(30 * 86'400);  // Of what is kept about jobs that ended.
  std::int64_t log_cap_bytes = 16 << 20;                // Of one file of output.
  std::int32_t log_files = 3;                           // Older ones kept beside it.
  std::int32_t most_queued = 100'000;
  std::int32_t most_queued_per_user = 50'000;
  ServeListen listen;
  std::vector<std::string> operators;  // Beside the user the manager runs as.
  bool others = false;                 // Whether other users may use the socket.
  std::string cgroup = "/muster";      // Empty: no control groups.
  Duration progress_every = Duration::seconds(2);
  Duration quarantine = Duration::seconds(600);  // Of a server that fails jobs, until it is tested.
  bool profile = true;  // Whether the speed of jobs is found out, where the mechanism goes by it.
  std::vector<std::string> node_test;  // The command; empty: the usual one.
};

// A file that is not there is as good as an empty one, unless it `must_exist` because somebody
// named it. Relative paths in it begin where it stands.
// `executors`: the names that `executor` may have; empty: any.
Result<ServeFile> read_serve_file(const std::string& path, bool must_exist = false,
                                  std::span<const std::string_view> executors = {});

// The same from memory; `name` stands for the file, in messages and for relative paths.
Result<ServeFile> parse_serve_file(std::string_view text, const std::string& name,
                                   std::span<const std::string_view> executors = {});

}  // namespace muster
