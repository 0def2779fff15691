#pragma once

// Invariants of the state directory of a live manager, for the program muster-invariants
// (invariants.cc). Kill tests run it after each restart. Operators can run it while no manager
// runs.
//
//   invariants_journal.cc  the journal, by replaying it, and the tables
//   invariants_records.cc  the shim records, running processes, and lines written by jobs

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/types/result.h"
#include "engine/roster/input.h"

namespace muster::invariants {

struct Gpu {
  std::string node;
  int slot = 0;
  auto operator<=>(const Gpu&) const = default;
};

using LeaseName = std::pair<LiveId, std::uint32_t>;

struct LeaseAccount {
  std::string state;                    // From the table: "running", "finished", "lost"...
  std::vector<std::vector<Gpu>> parts;  // GPUs by node of the lease.
  bool current = false;  // Whether it is the current lease of its job in the journal.
};

struct JobAccount {
  std::string state;
  bool over = false;
  std::uint32_t leases_used = 0;
};

// The content of the journal and its tables.
struct Account {
  std::map<LiveId, JobAccount> jobs;
  std::map<LeaseName, LeaseAccount> leases;
  std::uint64_t entries = 0;  // Number of replayed entries, from the snapshot on.
};

// Violated invariants, one line each.
using Violations = std::vector<std::string>;

// Checks a copy of the journal, so it does not change the state directory. Returns an error if the
// journal cannot be read.
Result<Account> check_journal(const std::string& home, Violations& wrong);

// Checks lines "ID KEY", one per acknowledged submission. Each key must belong to one job.
MaybeError check_acknowledged(const std::string& file, const Account& account, Violations& wrong);

// Checks the shim records and returns their number.
Result<std::size_t> check_records(const std::string& home, const Account& account,
                                  Violations& wrong);

// Checks lines "start|beat|end JOB LEASE RANK PID BOOT_US", which jobs append while they run.
// Returns the number of processes that wrote lines.
Result<std::size_t> check_runs(const std::string& file, const Account& account, Violations& wrong);

}  // namespace muster::invariants
