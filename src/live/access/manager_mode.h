#pragma once

// The mode of a manager: the account under which jobs run, and the users who may call it. The
// daemon determines it when it starts. The state directory stores its name.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

enum class ManagerMode : std::uint8_t {
  kPersonal,       // All jobs run as the manager's user, for that user.
  kSharedAccount,  // The same, but other users may submit: jobs_share_account.
  kSlurm,          // Slurm runs the jobs.
};
std::string_view name_of(ManagerMode mode);  // "personal", "shared-account", "slurm".
std::optional<ManagerMode> find_manager_mode(std::string_view name);
std::span<const std::string_view> manager_mode_names();

struct ModeQuestion {
  bool elsewhere = false;      // Another system, Slurm, runs the jobs.
  bool as_submitter = false;   // Slurm runs each job as the user who submitted it.
  bool share_account = false;  // `jobs_share_account: accepted`.
  bool closed = false;         // `others: false`.
  std::string wanted = {};     // The key `mode`; empty: none.
};

struct AccountMode {
  ManagerMode mode = ManagerMode::kPersonal;
  bool as_submitter = false;
  bool admits_others = false;  // Users other than root, the manager's user and operators.
  std::string user;            // The manager's user.
  std::uint32_t uid = 0;

  // The account of a job: "slurm" (the user who submitted it) or "manager".
  std::string_view runs_as() const { return as_submitter ? "slurm" : "manager"; }
  // Whether jobs of several users run as one account.
  bool shares_account() const { return !as_submitter && admits_others; }
  // "mode: personal: all jobs run as ann, for ann"
  std::string text() const;
  // Shown with every list of jobs and nodes if jobs share an account, otherwise empty.
  std::string notice() const;
};

// Fails if the answers contradict each other, and if jobs of several users would run as root.
Result<AccountMode> find_mode(const ModeQuestion& question, const std::string& user,
                              std::uint32_t uid);

// The sentence for a user that a manager in personal mode refuses.
std::string refusal_of_others(std::string_view user);

}  // namespace muster
