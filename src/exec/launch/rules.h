#pragma once

// The rules of /etc/muster/launch.conf, which no grant overrides: who may run jobs, and how. The
// file has lines "key = value", empty lines, and lines that begin with '#'. It belongs to root and
// has mode 0600.

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"

namespace muster {

struct Rules {
  uid_t manager_uid = 0;                           // Required. Only this user may start leases.
  uid_t grant_uid = 0;                             // Required. The user of muster-grant.
  uid_t min_uid = 1000;                            // No job runs as a user below it.
  std::optional<std::vector<gid_t>> allow_groups;  // Default: all groups.
  std::vector<uid_t> deny_users;
  std::vector<std::string> gpu_devices;  // More paths of GPU devices than the known ones; globs.
  mode_t umask = 077;                    // For jobs. Written in octal.
  bool no_new_privs = true;              // Whether setuid programs have no effect in jobs.
  unsigned max_processes = 4096;         // Per lease on a node, in addition to those per GPU.
  unsigned max_processes_per_gpu = 4096;
};

inline constexpr std::size_t kMaxRulesBytes = 64 << 10;

// Returns the rules, or the first error, whose place is "PATH:LINE". Users and groups are numbers,
// or names of accounts of this machine. Text of digits is always a number.
Result<Rules> parse_rules(std::string_view text, const std::string& path);

// Reads and parses the file. Checks owner, mode and size of the open file. Fails with kForbidden if
// another user than root could have written it.
Result<Rules> load_rules(const std::string& path);

// Returns nullopt if jobs may run as this user, or kForbidden with the reason. `groups`: all groups
// of the user, with or without `gid`.
MaybeError may_run(const Rules& rules, uid_t uid, gid_t gid, std::span<const gid_t> groups);

}  // namespace muster
