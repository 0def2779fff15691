#include "live/access/manager_mode.h"

#include <fmt/format.h>

#include <array>

#include "base/text/text.h"

namespace muster {

namespace {

constexpr std::array<std::string_view, 3> kModeNames = {"personal", "shared-account", "slurm"};

Error mode_error(std::string message) { return Error{std::move(message), ErrorCode::kInvalid}; }

}  // namespace

std::string_view name_of(ManagerMode mode) { return kModeNames.at(static_cast<std::size_t>(mode)); }

std::span<const std::string_view> manager_mode_names() { return kModeNames; }

std::optional<ManagerMode> find_manager_mode(std::string_view name) {
  for (std::size_t i = 0; i < kModeNames.size(); ++i) {
    if (kModeNames[i] == name) return static_cast<ManagerMode>(i);
  }
  return std::nullopt;
}

std::string AccountMode::text() const {
  const std::string head = fmt::format("mode: {}: ", name_of(mode));
  if (as_submitter) return head + "jobs run as their submitters";
  if (admits_others) return fmt::format("{}all jobs run as {}, for all users", head, user);
  return fmt::format("{}all jobs run as {}, for {}", head, user, user);
}

std::string AccountMode::notice() const {
  if (!shares_account()) return "";
  return fmt::format("jobs_share_account: all jobs run as {}, so every job can act as {}", user,
                     user);
}

std::string refusal_of_others(std::string_view user) {
  return fmt::format(
      "this manager runs all jobs as {}, so every submitter acts as {}; for several users use "
      "'executor: slurm' with a manager that runs as root or, if all users trust each other, "
      "'jobs_share_account: accepted' (docs/how-to/operate.md)",
      user, user);
}

Result<AccountMode> find_mode(const ModeQuestion& question, const std::string& user,
                              std::uint32_t uid) {
  AccountMode found;
  found.user = user;
  found.uid = uid;
  found.as_submitter = question.elsewhere && question.as_submitter;
  if (question.share_account && found.as_submitter) {
    return mode_error(
        "jobs_share_account: not needed: Slurm runs each job as its submitter; remove it");
  }
  if (question.share_account && question.closed) {
    return mode_error("jobs_share_account: cannot be combined with 'others: false'; remove one");
  }
  if (question.share_account && uid == 0) {
    return mode_error(
        "jobs_share_account: jobs would run as root; run 'muster serve' as a separate user");
  }
  found.admits_others = found.as_submitter ? !question.closed : question.share_account;
  found.mode = question.elsewhere       ? ManagerMode::kSlurm
               : question.share_account ? ManagerMode::kSharedAccount
                                        : ManagerMode::kPersonal;
  if (question.wanted == "shared") {
    return mode_error(
        "mode: 'shared' needs a launcher, and there is no launcher on this machine; remove the key "
        "for personal mode");
  }
  if (!question.wanted.empty() && question.wanted != name_of(found.mode)) {
    return mode_error(fmt::format("mode: {} contradicts the other keys, which select '{}'",
                                  in_quotes(question.wanted), name_of(found.mode)));
  }
  return found;
}

}  // namespace muster
