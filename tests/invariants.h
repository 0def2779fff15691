#pragma once

// What must hold of a live manager's home whatever happened to it: the program muster-invariants
// (invariants.cc) and what it is made of. Kill tests call it after every restart; an operator may,
// when no manager runs there.
//
//   invariants_journal.cc  the journal, replayed, and the tables beside it
//   invariants_records.cc  the shims' records, what still runs, and what jobs say of themselves

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
  std::string state;                    // Of the table: "running", "finished", "lost"...
  std::vector<std::vector<Gpu>> parts;  // By server of the lease.
  bool current = false;                 // Its job has it, by the journal.
};

struct JobAccount {
  std::string state;
  bool over = false;
  std::uint32_t leases_used = 0;
};

// What the journal and its tables say.
struct Account {
  std::map<LiveId, JobAccount> jobs;
  std::map<LeaseName, LeaseAccount> leases;
  std::uint64_t entries = 0;  // That could be replayed; those before the snapshot are gone.
};

// One line each.
using Violations = std::vector<std::string>;

// Reads a copy, so nothing in the home is changed. An error: nothing can be said.
Result<Account> check_journal(const std::string& home, Violations& wrong);

// Lines "ID KEY": what clients were told, each time they were. A key stands for one job.
Refusal check_acknowledged(const std::string& file, const Account& account, Violations& wrong);

// Gives how many records there are.
Result<std::size_t> check_records(const std::string& home, const Account& account,
                                  Violations& wrong);

// Lines "start|beat|end JOB LEASE RANK PID BOOT_US" that jobs append while they run. Gives how many
// processes wrote some.
Result<std::size_t> check_runs(const std::string& file, const Account& account, Violations& wrong);

}  // namespace muster::invariants
