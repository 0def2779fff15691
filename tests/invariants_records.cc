// Checks the shim records, the running processes, and the lines that jobs write about themselves.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include "base/os/processes.h"
#include "exec/lease/lease_directory.h"
#include "invariants.h"

namespace muster::invariants {

namespace {

namespace fs = std::filesystem;

// A period in which a lease held a job or a GPU, on the monotonic clock.
struct Span {
  std::string what;  // A job or a GPU, within one boot of the machine.
  std::int64_t from = 0, to = 0;
  LeaseName lease;
};

std::string name_of(const LeaseName& lease) {
  return fmt::format("j{}.e{}", lease.first, lease.second);
}

void add_spans(std::vector<Span>& spans, const std::string& boot, const LeaseName& lease,
               const std::vector<Gpu>& gpus, std::int64_t from, std::int64_t to) {
  spans.push_back({fmt::format("job {}{}", lease.first, boot), from, to, lease});
  for (const Gpu& gpu : gpus) {
    spans.push_back({fmt::format("GPU {}:{}{}", gpu.node, gpu.slot, boot), from, to, lease});
  }
}

void check_overlaps(std::vector<Span> spans, const char* source, Violations& wrong) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::tie(a.what, a.from, a.to) < std::tie(b.what, b.from, b.to);
  });
  const Span* last = nullptr;  // The earlier span that ended last.
  for (const Span& span : spans) {
    const bool same = last != nullptr && last->what == span.what;
    if (same && last->lease != span.lease && span.from < last->to) {
      wrong.push_back(fmt::format("{}: {} and {} had it at once, for {} us, by {}", span.what,
                                  name_of(last->lease), name_of(span.lease),
                                  std::min(last->to, span.to) - span.from, source));
    }
    if (!same || span.to > last->to) last = &span;
  }
}

std::vector<Gpu> gpus_of(const Account& account, const LeaseName& name, std::size_t part) {
  const auto lease = account.leases.find(name);
  if (lease == account.leases.end() || part >= lease->second.parts.size()) return {};
  return lease->second.parts[part];
}

class Records {
 public:
  Records(const Account& account, Violations& wrong) : account_(account), wrong_(wrong) {}

  void look_at_record(const fs::path& path) {
    const std::string name = path.filename().string();
    const Result<Fd> directory = open_directory(path.string());
    if (!directory.ok()) return say(name, directory.error().message);
    const bool began = file_exists(directory.value(), "started.json");
    const bool over = file_exists(directory.value(), "exit.json");
    if (!began && !over && !file_exists(directory.value(), "spec.json")) return;
    const Result<LaunchSpec> spec = read_record(directory.value());
    if (!spec.ok()) return say(name, spec.error().message);
    if (lease_name(spec.value()) != name) return say(name, "contains another lease");
    const LeaseName lease{static_cast<LiveId>(spec.value().job),
                          static_cast<std::uint32_t>(spec.value().epoch)};
    const auto job = account_.jobs.find(lease.first);
    if (job == account_.jobs.end() || lease.second > job->second.leases_used) {
      return say(name, "a lease nobody ordered");
    }
    const auto known = account_.leases.find(lease);
    if (known == account_.leases.end()) return say(name, "has no row in the table of leases");
    const bool current = known->second.current;
    marks_[mark_of(spec.value())] = {name, current};
    const std::vector<Gpu> gpus =
        gpus_of(account_, lease, static_cast<std::size_t>(spec.value().node_rank));
    std::vector<int> slots;
    for (const Gpu& gpu : gpus) slots.push_back(gpu.slot);
    if (slots != spec.value().gpus) say(name, "has other GPUs than the journal says");
    if (began) look_at_times(directory.value(), name, lease, gpus);
    if (began || over) return;
    if (!current) say(name, "is over by the journal, but its record is open: it could start");
  }

  // A process with the mark of a lease must belong to a lease that runs according to the journal.
  void look_at_processes() {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc", error)) {
      const std::string pid = entry.path().filename().string();
      if (std::isdigit(static_cast<unsigned char>(pid[0])) == 0) continue;
      std::ifstream in(entry.path() / "environ", std::ios::binary);
      std::string variable;
      while (std::getline(in, variable, '\0')) {
        if (!variable.starts_with("MUSTER_LEASE=")) continue;
        const auto found = marks_.find(variable.substr(variable.find('=') + 1));
        if (found == marks_.end() || found->second.second) continue;
        say(found->second.first, "is over by the journal, but process " + pid + " is left of it");
      }
    }
  }

  void look_at_overlaps() { check_overlaps(std::move(spans_), "their records", wrong_); }

 private:
  void say(const std::string& name, const std::string& words) {
    wrong_.push_back(name + ": " + words);
  }

  void look_at_times(const Fd& directory, const std::string& name, const LeaseName& lease,
                     const std::vector<Gpu>& gpus) {
    const auto text = read_file(directory.get(), "started.json", kMaxReportBytes);
    if (!text.ok()) return say(name, text.error().message);
    const Result<StartedFacts> began = read_started(text.value());
    if (!began.ok()) return say(name, "started.json: " + began.error().message);
    const std::int64_t from = began.value().at.boot_us;
    std::int64_t to = from;  // For a lost lease, the end is unknown.
    const LeaseAccount& known = account_.leases.at(lease);
    if (file_exists(directory, "exit.json")) {
      const auto report = read_file(directory.get(), "exit.json", kMaxReportBytes);
      if (!report.ok()) return say(name, report.error().message);
      const Result<ExitReport> ended = read_exit(report.value());
      if (!ended.ok()) return say(name, "exit.json: " + ended.error().message);
      to = ended.value().end.boot_us;
      if (to < from) say(name, "ended before it started");
    } else if (began.value().boot_id == boot_id() &&
               open_process(began.value().pid, began.value().process_start).ok()) {
      to = boot_micros();
      if (!known.current) say(name, "is over by the journal, and runs");
    } else if (!known.current && known.state != "lost") {
      say(name, "is over by the journal (" + known.state + "), but has no exit.json");
    }
    add_spans(spans_, " (boot " + began.value().boot_id + ")", lease, gpus, from, to);
  }

  const Account& account_;
  Violations& wrong_;
  std::vector<Span> spans_;
  std::map<std::string, std::pair<std::string, bool>>
      marks_;  // Mark to lease name, and whether the lease is active.
};

struct Run {
  std::int64_t from = 0, to = 0;
  bool ended = false;
};

}  // namespace

Result<std::size_t> check_records(const std::string& home, const Account& account,
                                  Violations& wrong) {
  Records records(account, wrong);
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(home) / "leases", error)) {
    if (is_lease_name(entry.path().filename().string())) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  for (const fs::path& path : found) records.look_at_record(path);
  records.look_at_overlaps();
  records.look_at_processes();
  // The records of finished jobs stay as long as their rows in the tables.
  for (const auto& [name, lease] : account.leases) {
    const bool there = fs::exists(fs::path(home) / "leases" / name_of(name));
    if (!there && lease.state == "finished") {
      wrong.push_back(name_of(name) + ": finished by the journal, but there is no record");
    }
  }
  return found.size();
}

Result<std::size_t> check_runs(const std::string& file, const Account& account, Violations& wrong) {
  std::ifstream in(file);
  if (!in) return Error{file + ": cannot be read"};
  std::map<std::tuple<LeaseName, std::size_t, int>, Run> runs;  // By lease, rank and process.
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string verb;
    LeaseName lease;
    std::size_t rank = 0;
    int pid = 0;
    std::int64_t at = 0;
    if (!(words >> verb >> lease.first >> lease.second >> rank >> pid >> at)) {
      return Error{file + ": not 'start JOB LEASE RANK PID BOOT_US': " + line};
    }
    Run& run = runs.try_emplace({lease, rank, pid}, Run{at, at, false}).first->second;
    run.from = std::min(run.from, at);
    run.to = std::max(run.to, at);
    run.ended = run.ended || verb == "end";
  }
  std::vector<Span> spans;
  std::map<std::pair<LeaseName, std::size_t>, int> processes;
  std::set<LiveId> ended;
  for (const auto& [who, run] : runs) {
    const auto& [lease, rank, pid] = who;
    if (++processes[{lease, rank}] == 2) {
      wrong.push_back(fmt::format("{}: rank {} ran twice", name_of(lease), rank));
    }
    if (run.ended) ended.insert(lease.first);
    std::vector<Gpu> gpus;  // While one of its processes runs, the lease holds all of its GPUs.
    if (const auto known = account.leases.find(lease); known != account.leases.end()) {
      for (const std::vector<Gpu>& part : known->second.parts) {
        gpus.insert(gpus.end(), part.begin(), part.end());
      }
    }
    add_spans(spans, "", lease, gpus, run.from, run.to);
  }
  check_overlaps(std::move(spans), "what the jobs say", wrong);
  for (const auto& [id, job] : account.jobs) {
    if (job.state == "done" && !ended.contains(id)) {
      wrong.push_back(fmt::format("job {} is done, but never came to its end", id));
    }
  }
  return runs.size();
}

}  // namespace muster::invariants
