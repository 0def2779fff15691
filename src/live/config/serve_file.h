#pragma once

// Reads the configuration file of `muster serve` (docs/reference/configuration.md). The command
// reads it once, before it starts anything. Every key is optional. The reader checks values on
// their own; the scheduler checks the names of its parts later (settings.h).

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
#include "live/access/access_rules.h"

namespace muster {

// A node to schedule on. This machine simulates all nodes of the file.
struct ServeNode {
  std::string name;  // Unique within the file.
  std::int32_t gpus = 1;
  std::int64_t cpu_milli = 0;  // 0: share of the machine by GPU count.
  std::int64_t mem_mib = 0;    // 0: share of the machine by GPU count.
  std::string gpu_type = "gpu";
  std::string rack;  // Empty: the shared default rack.
};

struct ServeScheduler {
  // Empty parts use the preset's parts, or else the defaults of `muster sim`.
  std::string preset;
  std::string policy;
  std::string mechanism;
  std::string placement;
  std::optional<Duration> round;  // None: the preset's. Zero: plan at every event.
  Duration checkpoint_interval = Duration::seconds(300);  // How often jobs are assumed to save.
  Duration min_run = Duration::seconds(300);              // Default: checkpoint_interval.
  Duration quantum = Duration::seconds(300);
  std::string estimates = "history";  // Or "user", or "progress".
  std::string retry = "adaptive";     // In the syntax of parse_retry_policy().
};

struct TcpAddress {
  std::string host;        // Address or name; IPv6 without brackets.
  std::uint16_t port = 0;  // 0: any free port.
  friend bool operator==(const TcpAddress&, const TcpAddress&) = default;
};

struct ServeListen {
  std::string socket;  // Empty: $MUSTER_HOME/muster.sock.
  std::optional<TcpAddress> tcp;
  bool browsers = true;     // Without `tcp`: listen on loopback for browsers.
  std::string certificate;  // Set together with `key`; both empty: no TLS.
  std::string key;
  std::string tokens;  // File of access tokens; never empty if `tcp` is set.
  std::int32_t max_connections = 256;
  // Host names accepted in requests over TCP. Not needed with TLS.
  std::vector<std::string> names;
};

// Settings of a Slurm cluster. The names may be empty.
struct ServeSlurm {
  std::string partition;  // Empty: the default partition.
  std::string reservation;
  std::string account;
  std::string qos;
  std::map<std::string, std::string> racks;  // By node name; overrides Slurm's topology.
  Duration every = Duration::seconds(1);     // Poll interval.
  Duration timeout = Duration::seconds(15);  // Per Slurm command.
  // Minimum run time before a lease is restarted to get more CPUs.
  Duration restart_after = Duration::seconds(600);
};

struct ServeFile {
  std::string digest;              // Digest of the file's text; empty without a file.
  std::string executor = "local";  // See executor_names() in live/config/site.h.
  ServeSlurm slurm;
  std::int32_t virtual_gpus = 4;  // Used if the machine has no real GPUs.
  std::vector<ServeNode> nodes;   // Empty: this machine as one node.
  ServeScheduler scheduler;
  // Not yet checked against the cluster: call TenantTree::check().
  std::optional<TenantTree> tenants;
  std::string profiles;  // Path; empty: the built-in profiles.
  Duration grace = Duration::seconds(30);
  // How long data about finished jobs is kept.
  Duration retention = Duration::seconds(30 * 86'400);
  std::int64_t log_cap_bytes = 16 << 20;  // Maximum size of one output file.
  std::int32_t log_files = 3;             // Number of older output files kept.
  std::int32_t most_queued = 100'000;
  std::int32_t most_queued_per_user = 50'000;
  ServeListen listen;
  AccessConfig access;
  std::string mode;                // Expected mode; empty: any.
  bool closed = false;             // `others: false`: with Slurm, only operators may call.
  bool share_account = false;      // `jobs_share_account: accepted`.
  std::string cgroup = "/muster";  // Empty: no control groups.
  Duration progress_every = Duration::seconds(2);
  Duration quarantine = Duration::seconds(600);  // Time until a failing node is tested.
  bool profile = true;                 // Measure the speed of jobs if the mechanism uses it.
  std::vector<std::string> node_test;  // Command; empty: the executor's default.
};

// Reads the file at `path`. A missing file is the same as an empty one, unless `must_exist`.
// Relative paths in it start at its directory. `executors`: valid values of `executor`; empty: any.
Result<ServeFile> read_serve_file(const std::string& path, bool must_exist = false,
                                  std::span<const std::string_view> executors = {});

// Parses a file from memory. `name` is used as its path in messages and for relative paths.
Result<ServeFile> parse_serve_file(std::string_view text, const std::string& name,
                                   std::span<const std::string_view> executors = {});

}  // namespace muster
