// Runs a small job on each node with a free CPU. It checks that the node has our directory and
// program, and compares the clocks.

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/text/text.h"
#include "exec/slurm/marked_table.h"
#include "exec/slurm/site_check.h"

namespace muster {
namespace {

using Level = SiteFinding::Level;

constexpr std::size_t kMaxNodes = 64;
constexpr std::size_t kAtOnce = 16;
constexpr std::int64_t kPatience = 10;  // Seconds to wait for a busy node.

// $1: a file with a secret, which proves that the node shares the directory. $2: the program, which
// only prints its usage without arguments. The shell returns 126 or 127 if it cannot be executed.
constexpr std::string_view kScript =
    "date +%s.%N; "
    "if [ -n \"$1\" ]; then echo \"home $(cat \"$1\" 2>/dev/null)\"; fi; "
    "if [ -n \"$2\" ]; then \"$2\" >/dev/null 2>&1 </dev/null; echo \"shim $?\"; fi";

double now_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::string parent_of(const std::string& directory) {
  return directory.substr(0, std::max<std::size_t>(directory.rfind('/'), 1));
}

// A file in the directory or in its nearest existing parent. The destructor deletes it. A manager
// for several users gives them access to its own directory at startup, but not to the parents.
class Secret {
 public:
  Secret(std::string directory, bool for_others) {
    if (directory.empty()) return;
    struct stat facts {};
    if (for_others && ::stat(directory.c_str(), &facts) == 0 && (facts.st_mode & S_IXOTH) == 0) {
      directory = parent_of(directory);
    }
    while (directory.size() > 1 && ::access(directory.c_str(), F_OK) != 0) {
      directory = parent_of(directory);
    }
    text_ = random_mark();
    const std::string path = directory + "/doctor-" + text_.substr(1, text_.size() - 2);
    const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!fd.open()) {
      error_ = system_error(path, errno).message;
      return;
    }
    path_ = path;
    if (::write(fd.get(), text_.data(), text_.size()) != static_cast<ssize_t>(text_.size())) {
      error_ = system_error(path, errno).message;
    }
  }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }
  const std::string& error() const { return error_; }

 private:
  std::string path_, text_, error_;
};

struct Visit {
  std::string node;
  double before = 0;
  std::string failure;  // Why the job did not run.
  bool home = false, shim = false;
  double skew = 0;
};

std::vector<std::string> visit_argv(const SiteQuestion& question, const std::string& node,
                                    const std::string& secret) {
  SlurmSubmit job;
  job.name = "muster doctor";
  job.partition = question.partition;
  job.reservation = question.reservation;
  job.account = question.account;
  job.qos = question.qos;
  job.user = question.user;
  job.nodes = {node};
  job.mem_mib = 64;
  job.time = Duration::seconds(60);
  std::vector<std::string> argv = {"srun", "--export=NONE", "--input=none", "--quiet",
                                   fmt::format("--immediate={}", kPatience)};
  for (const std::string& argument : submit_argv(job)) {
    for (const char* kept :
         {"--job-name=", "--partition=", "--reservation=", "--account=", "--qos=", "--uid=",
          "--gid=", "--nodes=", "--nodelist=", "--ntasks-per-node=", "--cpus-per-task=", "--mem=",
          "--time=", "--chdir="}) {
      if (argument.starts_with(kept)) argv.push_back(argument);
    }
  }
  for (const std::string_view word : {std::string_view("/bin/sh"), std::string_view("-c"), kScript,
                                      std::string_view("muster-doctor"), std::string_view(secret),
                                      std::string_view(question.shim)}) {
    argv.emplace_back(word);
  }
  return argv;
}

void read_visit(const CommandResult& said, const Secret& secret, Visit& visit) {
  const double after = now_seconds();
  if (!said.ok()) {
    visit.failure = said.words;
    return;
  }
  const auto lines = split(said.out, '\n');
  const auto there = parse_number(trim(lines[0]));
  if (!there.ok()) {
    visit.failure = "srun: unexpected output: " + in_quotes(lines[0]);
    return;
  }
  if (there.value() < visit.before) visit.skew = there.value() - visit.before;
  if (there.value() > after) visit.skew = there.value() - after;
  for (const std::string_view line : lines) {
    if (line == "home " + secret.text()) visit.home = true;
    if (line.starts_with("shim ") && line != "shim 126" && line != "shim 127") visit.shim = true;
  }
}

// Runs all visits, at most kAtOnce at the same time.
void make_visits(Commands& commands, const SiteQuestion& question, const Secret& secret,
                 std::vector<Visit>& visits) {
  std::map<Commands::Ticket, Visit*> running;
  std::size_t next = 0;
  while (next < visits.size() || !running.empty()) {
    while (next < visits.size() && running.size() < kAtOnce) {
      Visit& visit = visits[next++];
      visit.before = now_seconds();
      running[commands.start(visit_argv(question, visit.node, secret.path()),
                             question.timeout + Duration::seconds(kPatience))] = &visit;
    }
    pollfd ready{commands.fd(), POLLIN, 0};
    ::poll(&ready, 1, -1);
    for (const auto& [ticket, said] : commands.poll()) {
      if (const auto it = running.find(ticket); it != running.end()) {
        read_visit(said, secret, *it->second);
        running.erase(it);
      }
    }
  }
}

SiteFinding seen(const std::vector<Visit>& visits, bool Visit::*what, const std::string& check,
                 const std::string& path, const std::string& user, const char* advice) {
  std::vector<std::string> blind;
  std::size_t tried = 0;
  for (const Visit& visit : visits) {
    if (!visit.failure.empty()) continue;
    ++tried;
    if (!(visit.*what)) blind.push_back(visit.node);
  }
  const std::string whose = user.empty() ? "" : " for '" + user + "'";
  if (blind.empty()) {
    return {Level::kOk, check,
            fmt::format("{}: accessible{} on all {} tested nodes", path, whose, tried)};
  }
  return {Level::kFail, check,
          fmt::format("{}: not accessible{} on {} of {} nodes: {}; {}", path, whose, blind.size(),
                      tried, first_few(blind), advice)};
}

}  // namespace

SiteFindings check_deep(Commands& commands, const SiteQuestion& question,
                        const std::vector<SlurmNode>& nodes) {
  std::vector<Visit> visits;
  for (const SlurmNode& node : nodes) {
    const bool room = node.usable(!question.reservation.empty()) && node.cpus_used < node.cpus;
    if (room && visits.size() < kMaxNodes) visits.emplace_back().node = node.name;
  }
  if (visits.empty()) {
    return {{Level::kWarn, "deep", "no node has a free CPU, so none was tested; try again later"}};
  }
  const Secret secret(question.home, !question.user.empty());
  if (!secret.error().empty()) {
    return {{Level::kFail, "home", secret.error() + "; Muster must be able to write there"}};
  }
  make_visits(commands, question, secret, visits);
  std::vector<std::string> refused;
  const Visit* worst = nullptr;
  for (const Visit& visit : visits) {
    if (!visit.failure.empty()) {
      refused.push_back(visit.node + " (" + visit.failure + ")");
    } else if (worst == nullptr || std::abs(visit.skew) > std::abs(worst->skew)) {
      worst = &visit;
    }
  }
  SiteFindings found;
  const std::size_t ran = visits.size() - refused.size();
  const std::string words =
      fmt::format("a small job ran on {} of {} nodes with a free CPU", ran, visits.size());
  found.push_back({ran == 0          ? Level::kFail
                   : refused.empty() ? Level::kOk
                                     : Level::kWarn,
                   "deep", refused.empty() ? words : words + "; not on " + first_few(refused)});
  if (ran == 0) return found;
  if (!question.home.empty()) {
    found.push_back(
        seen(visits, &Visit::home, "home", question.home, question.user,
             "use a file system that all nodes share and that jobs can access (MUSTER_HOME)"));
  }
  if (!question.shim.empty()) {
    found.push_back(seen(visits, &Visit::shim, "shim", question.shim, question.user,
                         "install Muster at the same path on all nodes, or on shared storage"));
  }
  found.push_back(judge_skew(worst->skew == 0 ? "nodes" : worst->node, worst->skew));
  return found;
}

}  // namespace muster
