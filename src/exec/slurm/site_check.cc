#include "exec/slurm/site_check.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#include <array>

#include "base/text/text.h"
#include "exec/slurm/marked_table.h"

namespace muster {
namespace {

using Level = SiteFinding::Level;

constexpr std::array kPrograms = {"sbatch", "squeue", "sinfo", "scontrol", "scancel", "srun"};

double wall_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void append(SiteFindings& to, SiteFindings more) {
  for (SiteFinding& finding : more) to.push_back(std::move(finding));
}

bool failed(const SiteFindings& findings) {
  for (const SiteFinding& finding : findings) {
    if (finding.level == Level::kFail) return true;
  }
  return false;
}

SiteFindings check_programs(Commands& commands, const SiteQuestion& question) {
  std::vector<std::string> missing;
  for (const char* program : kPrograms) {
    if (!commands.find(program)) missing.emplace_back(program);
  }
  if (!missing.empty()) {
    return {{Level::kFail, missing[0],
             fmt::format("not found: {} not in PATH; install Slurm's commands here (Debian: "
                         "slurm-client) with the site's slurm.conf, or add their directory to PATH",
                         missing.size() == kPrograms.size() ? "Slurm's commands are"
                         : missing.size() == 1              ? missing[0] + " is"
                                                            : first_few(missing) + " are")}};
  }
  std::vector<std::pair<std::string, std::string>> versions;
  for (const char* program : kPrograms) {
    const CommandResult said = commands.run({program, "--version"}, question.timeout);
    if (!said.ok()) return {{Level::kFail, program, said.words}};
    versions.emplace_back(program, said.out);
  }
  SiteFindings found = {{Level::kOk, "commands", "sbatch, squeue, sinfo, scontrol, scancel, srun"}};
  append(found, judge_versions(versions));
  return found;
}

// Parses "Configuration data as of 2026-11-17T04:48:29", in our time zone; nullopt if missing.
std::optional<double> controller_time(std::string_view text) {
  constexpr std::string_view kBefore = "as of ";
  const std::size_t at = text.find(kBefore);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string said(text.substr(at + kBefore.size(), 19));
  tm local{};
  if (::strptime(said.c_str(), "%Y-%m-%dT%H:%M:%S", &local) == nullptr) return std::nullopt;
  local.tm_isdst = -1;
  return static_cast<double>(::mktime(&local));
}

// Returns 0 if `there`, truncated to whole seconds, can be between `before` and `after`.
double skew(double there, double before, double after) {
  if (there + 1 < before) return there + 1 - before;
  return there > after ? there - after : 0;
}

// Sets `config` if the controller responds.
SiteFindings check_controller(Commands& commands, const SiteQuestion& question,
                              SlurmWords& config) {
  const double before = wall_seconds();
  const CommandResult said = commands.run(config_argv(), question.timeout);
  const double after = wall_seconds();
  if (!said.ok()) {
    return {{Level::kFail, "controller",
             said.words + "; check that slurmctld is running and that slurm.conf is the one of the "
                          "site; no job starts until the controller responds"}};
  }
  config = read_config(said.out);
  const double took = after - before;
  SiteFindings found;
  const std::string words =
      fmt::format("{} responds in {:.2f} s", word_of(config, "SlurmctldHost[0]"), took);
  if (took < 2) {
    found.push_back({Level::kOk, "controller", words});
  } else {
    found.push_back({Level::kWarn, "controller",
                     words + ": Muster queries it twice per cycle, so each cycle takes longer"});
  }
  if (const auto there = controller_time(said.out)) {
    found.push_back(judge_skew("controller", skew(*there, before, after)));
  }
  return found;
}

// The finding for a missing partition, with the existing ones.
SiteFinding no_partition(Commands& commands, const SiteQuestion& question,
                         const std::string& words) {
  const CommandResult said = commands.run(partition_argv(""), question.timeout);
  std::vector<std::string> names;
  for (const std::string_view line : split(said.out, '\n')) {
    const SlurmWords words_of_it = read_partition(line);
    const std::string_view name = word_of(words_of_it, "PartitionName");
    if (!name.empty()) names.emplace_back(name);
  }
  if (names.empty()) return {Level::kFail, "partition", words};
  return {Level::kFail, "partition",
          fmt::format("{} does not exist on this cluster{}", in_quotes(question.partition),
                      suggestion(question.partition,
                                 std::vector<std::string_view>(names.begin(), names.end())))};
}

SiteFindings check_reservation(Commands& commands, const SiteQuestion& question) {
  if (question.reservation.empty()) return {};
  const CommandResult said = commands.run(reservation_argv(question.reservation), question.timeout);
  if (!said.ok()) return {{Level::kFail, "reservation", said.words}};
  std::string_view state;
  for (const std::string_view word : split(said.out, ' ')) {
    if (word.starts_with("State=")) state = trim(word.substr(6));
  }
  const std::string name = question.reservation;
  if (state == "ACTIVE") return {{Level::kOk, "reservation", fmt::format("'{}' is active", name)}};
  return {{Level::kFail, "reservation",
           fmt::format("'{}' is {}: its jobs wait until it is active", name,
                       state.empty() ? "in an unknown state" : state)}};
}

// Tests a submission like Muster's, as far as sbatch can test it without submitting.
SiteFindings check_submit(Commands& commands, const SiteQuestion& question,
                          const std::string& partition, bool gpus) {
  SlurmSubmit job;
  job.name = "muster doctor";
  job.partition = partition;
  job.reservation = question.reservation;
  job.account = question.account;
  job.qos = question.qos;
  job.user = question.user;
  job.mem_mib = 64;
  job.gpus = gpus ? 1 : 0;
  std::vector<std::string> argv = submit_argv(job);
  argv.emplace_back("--test-only");
  const CommandResult said = commands.run(argv, question.timeout, "#!/bin/sh\ntrue\n");
  const std::string whose = question.user.empty() ? "" : fmt::format(" of '{}'", question.user);
  if (said.ok()) {
    return {{Level::kOk, "submit",
             fmt::format("a job{} with 1 CPU, 64 MiB{} would be accepted", whose,
                         gpus ? " and 1 GPU" : "")}};
  }
  const bool as_root = question.user.empty() && ::geteuid() == 0;
  return {{Level::kFail, "submit",
           fmt::format("a job{} is rejected: {}{}", as_root ? " of root" : whose, said.words,
                       as_root ? "; test with the job of a user: --user NAME" : "")}};
}

SiteFindings check_home(const SiteQuestion& question) {
  if (question.home.empty()) return {};
  struct statfs facts {};
  std::string path = question.home;
  while (::statfs(path.c_str(), &facts) != 0 && path.size() > 1) {
    path = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
  }
  // From linux/magic.h and from file systems outside the kernel.
  static constexpr std::pair<std::uint64_t, const char*> kShared[] = {
      {0x6969, "NFS"},       {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"},  {0x19830326, "BeeGFS"},
      {0x00c36400, "Ceph"},  {0xff534d42, "SMB"},    {0x65735546, "FUSE"},  {0xaad7aaea, "PanFS"},
      {0x013111a8, "IBRIX"}, {0x01161970, "GFS2"},   {0x7461636f, "OCFS2"}, {0x5346414f, "AFS"}};
  const auto type = static_cast<std::uint64_t>(facts.f_type) & 0xffffffffU;
  for (const auto& [number, name] : kShared) {
    if (type == number) {
      return {{Level::kOk, "home",
               fmt::format("{} is on {}; use --deep to check that the nodes share it",
                           question.home, name)}};
    }
  }
  return {{Level::kWarn, "home",
           fmt::format("{} looks local to this machine: jobs on other nodes cannot read their "
                       "records; use a file system that all nodes share (MUSTER_HOME), or check "
                       "it with --deep",
                       question.home)}};
}

}  // namespace

SiteCaller site_caller() {
  SiteCaller caller;
  caller.root = ::geteuid() == 0;
  if (const passwd* entry = ::getpwuid(::geteuid())) caller.user = entry->pw_name;
  std::vector<gid_t> groups(1024);
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  groups.push_back(::getegid());
  for (const gid_t group : groups) {
    if (const ::group* entry = ::getgrgid(group)) caller.groups.emplace_back(entry->gr_name);
  }
  return caller;
}

namespace {

SiteFindings check_all(Commands& commands, const SiteQuestion& question) {
  SiteFindings found = check_programs(commands, question);
  if (failed(found)) return found;
  SlurmWords config;
  append(found, check_controller(commands, question, config));
  if (config.empty()) return found;
  const SiteCaller caller = site_caller();
  append(found, judge_select(config));

  const CommandResult said = commands.run(partition_argv(question.partition), question.timeout);
  if (!said.ok()) {
    found.push_back(no_partition(commands, question, said.words));
    return found;
  }
  const SlurmWords partition = read_partition(said.out);
  append(found, judge_partition(partition, question, caller));
  const std::string name(word_of(partition, "PartitionName"));
  if (name.empty()) return found;
  append(found, check_reservation(commands, question));

  const CommandResult listed = commands.run(sinfo_argv(name), question.timeout);
  const auto nodes =
      listed.ok() ? read_sinfo(listed.out) : Error{listed.words, ErrorCode::kUnavailable};
  bool gpus = false;
  if (nodes.ok()) {
    append(found, judge_nodes(nodes.value(), !question.reservation.empty()));
    for (const SlurmNode& node : nodes.value()) gpus = gpus || node.gpus > 0;
  } else {
    found.push_back({Level::kFail, "nodes", nodes.error().message});
  }
  append(found, check_submit(commands, question, name, gpus));
  append(found, judge_settings(config, question, caller));
  if (!question.deep) append(found, check_home(question));
  if (question.deep && nodes.ok()) {
    SiteQuestion there = question;
    there.partition = name;
    append(found, check_deep(commands, there, nodes.value()));
  }
  return found;
}

}  // namespace

SiteFindings check_site(Commands& commands, const SiteQuestion& question) {
  SiteFindings found = check_all(commands, question);
  for (SiteFinding& finding : found) finding.words = one_line(finding.words);
  return found;
}

}  // namespace muster
