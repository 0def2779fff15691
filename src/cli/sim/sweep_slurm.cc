#include "cli/sim/sweep_slurm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/poll.h>
#include <sys/random.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <thread>

#include "base/file/atomic_file.h"
#include "base/text/text.h"

namespace muster {

namespace {

using namespace std::chrono_literals;

constexpr Duration kPatience = Duration::seconds(20);  // Timeout of a Slurm command.
constexpr int kMaxFruitless = 3;                       // Consecutive arrays that finish no cell.
constexpr std::size_t kUsualTasks = 256;               // Exceeded only if --jobs-at-once is larger.
constexpr auto kBetweenTries = 2s;
constexpr auto kLastMoments = 5s;   // Time for tasks without remaining cells to exit.
constexpr auto kWorthTelling = 5s;  // Pending time before the reason is printed.
constexpr std::string_view kTag = "muster-sweep:";

std::string random_id() {
  std::uint64_t number = 0;
  MUSTER_CHECK(::getrandom(&number, sizeof number, 0) == sizeof number);
  return fmt::format("{:016x}", number);
}

std::size_t undone(const std::vector<SweepCell>& cells) {
  return static_cast<std::size_t>(std::count_if(
      cells.begin(), cells.end(), [](const SweepCell& cell) { return cell.result.empty(); }));
}

std::string cells_text(std::size_t cells) {
  return fmt::format("{} cell{}", cells, cells == 1 ? "" : "s");
}

SlurmId array_of(const SlurmJob& job) { return job.array > 0 ? job.array : job.id; }

std::vector<std::string> queue_argv() {
  std::vector<std::string> argv = squeue_argv("");
  argv.emplace_back("--me");  // Large sites have many jobs of other users.
  return argv;
}

// Ends early on Ctrl-C.
void pause(std::chrono::steady_clock::duration length) {
  const auto end = std::chrono::steady_clock::now() + length;
  while (std::chrono::steady_clock::now() < end && !interrupted()) {
    std::this_thread::sleep_for(50ms);
  }
}

}  // namespace

std::size_t task_count(std::size_t cells, const SlurmOrder& order, std::size_t most) {
  const auto each = static_cast<std::size_t>(order.cells_per_task);
  const std::size_t wanted = (cells + each - 1) / each;
  const std::size_t sensible = std::max(kUsualTasks, order.jobs_at_once);
  return std::max<std::size_t>(1, std::min({wanted, sensible, most}));
}

SlurmSweep::SlurmSweep(SlurmOrder order, SweepPlan plan, const CellStore& store, Streams streams)
    : order_(std::move(order)), plan_(std::move(plan)), store_(store), streams_(streams) {}

MaybeError SlurmSweep::run(std::vector<SweepCell>& cells) {
  if (undone(cells) == 0) return std::nullopt;
  if (MaybeError trouble = check_site()) return trouble;
  if (MaybeError trouble = take_over()) return trouble;
  int fruitless = 0;
  int lost = 0;
  while (undone(cells) > 0 && !interrupted()) {
    if (live_.empty()) {
      if (fruitless == kMaxFruitless) return give_up(cells);
      const bool first = last_.empty();
      if (!first) note(cells_text(undone(cells)) + " not finished yet" + outcome_of());
      if (!first && fruitless > 0) pause(kBetweenTries);
      ++fruitless;
      MaybeError trouble = submit(cells);
      if (trouble && (first || fruitless == kMaxFruitless)) return trouble;
      if (trouble) {
        note(trouble->message);
        continue;
      }
    }
    const std::size_t before = undone(cells);
    MaybeError trouble = wait(cells);
    bar_.reset();
    if (trouble || interrupted()) cancel();
    store_.take_up(cells);
    if (trouble) return trouble;
    if (undone(cells) < before) fruitless = 0;
    // A controller that lost an array may reuse old job numbers, whose tasks nodes reject for a
    // while. A lost array therefore does not count as an attempt.
    if (fruitless > 0 && !seen_ && ++lost <= kMaxFruitless) --fruitless;
  }
  return std::nullopt;
}

MaybeError SlurmSweep::check_site() {
  const CommandResult config = ask(config_argv());
  if (config.how == CommandResult::How::kNotStarted) {
    return Error{"--on slurm: " + config.words + "; check that Slurm is installed here",
                 ErrorCode::kUnavailable};
  }
  if (!config.ok()) return Error{"--on slurm: " + config.words, ErrorCode::kUnavailable};
  // Task numbers in an array must be below MaxArraySize. Sweeps use numbers from 1.
  const auto words = read_config(config.out);
  const Result<std::int64_t> size = parse_int(word_of(words, "MaxArraySize"));
  if (size.ok() && size.value() < 2) {
    return Error{"--on slurm: job arrays are disabled at this site (MaxArraySize)",
                 ErrorCode::kUnavailable};
  }
  if (size.ok()) most_tasks_ = static_cast<std::size_t>(size.value() - 1);
  return check_partition();
}

MaybeError SlurmSweep::check_partition() {
  if (order_.partition.empty()) return std::nullopt;
  const CommandResult all = ask({"sinfo", "--noheader", "--all", "--format=%R"});
  if (!all.ok()) return Error{"--on slurm: " + all.words, ErrorCode::kUnavailable};
  std::vector<std::string_view> names;
  for (const std::string_view line : split(all.out, '\n')) {
    if (!trim(line).empty()) names.push_back(trim(line));
  }
  for (const std::string_view name : split(order_.partition, ',')) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return Error{"--partition: unknown partition " + in_quotes(name) + suggestion(name, names),
                 ErrorCode::kInvalid};
  }
  return std::nullopt;
}

// Re-adopts the active tasks of an earlier run of this sweep, if there are any.
MaybeError SlurmSweep::take_over() {
  for (const std::string& id : names_in(store_.dir() + "/slurm")) {
    const Result<SweepPlan> plan = read_plan(plan_dir(id) + "/" + kPlanName);
    // A copy of the directory contains plans of another sweep.
    if (plan.ok() && plan.value().out == plan_.out) ours_.insert(id);
  }
  const CommandResult queue = ask(queue_argv());
  if (const MaybeError refusal = hear(queue))
    return Error{"--on slurm: " + refusal->message, ErrorCode::kUnavailable};
  std::set<std::string> at_work;
  std::set<SlurmId> arrays;
  for (const SlurmJob& job : live_) {
    at_work.insert(job.comment.substr(kTag.size()));
    arrays.insert(array_of(job));
  }
  for (const std::string& id : names_in(store_.dir() + "/slurm")) {
    std::error_code ignored;
    if (!at_work.contains(id)) std::filesystem::remove_all(plan_dir(id), ignored);
  }
  ours_ = at_work;
  if (live_.empty()) return std::nullopt;
  last_ = *at_work.rbegin();
  array_ = fmt::format("{}", fmt::join(arrays, " and "));
  submitted_ = Clock::now();
  note(fmt::format("Slurm array {} of an earlier run is still active; waiting for it", array_));
  return std::nullopt;
}

SlurmSubmit SlurmSweep::job_for(const std::string& id, std::size_t tasks) const {
  SlurmSubmit job;
  job.name = "muster-sweep";
  job.comment = fmt::format("{}{}", kTag, id);
  job.partition = order_.partition;
  job.reservation = order_.reservation;
  job.account = order_.account;
  job.qos = order_.qos;
  job.time = order_.time_limit;
  job.cpus = order_.cells_per_task;
  job.mem_mib = order_.mem_mib * order_.cells_per_task;
  job.array = fmt::format("1-{}", tasks);
  if (order_.jobs_at_once > 0) job.array += fmt::format("%{}", order_.jobs_at_once);
  for (const char c : plan_dir(id)) job.output += c == '%' ? std::string("%%") : std::string(1, c);
  job.output += "/" + task_log("%a");
  return job;
}

MaybeError SlurmSweep::submit(const std::vector<SweepCell>& cells) {
  plan_.cells.clear();
  std::copy_if(cells.begin(), cells.end(), std::back_inserter(plan_.cells),
               [](const SweepCell& cell) { return cell.result.empty(); });
  std::error_code status;
  const std::string muster = std::filesystem::read_symlink("/proc/self/exe", status).string();
  if (status) return Error{"/proc/self/exe: " + status.message(), ErrorCode::kUnavailable};
  const std::string id = random_id();
  const std::string file = plan_dir(id) + "/" + kPlanName;
  MaybeError refusal = make_directory(plan_dir(id));
  if (!refusal) refusal = write_atomically(file, plan_text(plan_));
  if (refusal) return Error{refusal->message, ErrorCode::kUnavailable};
  const std::size_t tasks = task_count(plan_.cells.size(), order_, most_tasks_);
  // No "exec": the shell stays and logs the signal that killed its program.
  const std::string script = fmt::format(
      "#!/bin/sh\n{} sweep --plan {} --slice \"$SLURM_ARRAY_TASK_ID/{}\" "
      "--threads \"${{SLURM_CPUS_ON_NODE:-{}}}\"\n",
      shell_word(muster), shell_word(file), tasks, order_.cells_per_task);
  const CommandResult result = ask(submit_argv(job_for(id, tasks)), script);
  const Result<SlurmId> number = read_submitted(result.out);
  // After a timeout, Slurm may still have accepted the array: the queue shows it.
  const bool unsure = result.how == CommandResult::How::kTimedOut;
  if (!unsure && (!result.ok() || !number.ok())) {
    std::filesystem::remove_all(plan_dir(id), status);
    return Error{"--on slurm: " + (result.ok() ? number.error().message : result.words),
                 ErrorCode::kUnavailable};
  }
  ours_.insert(id);
  last_ = id;
  array_ = result.ok() ? std::to_string(number.value()) : "(unknown)";
  seen_ = false;
  ended_.clear();
  reason_.clear();
  submitted_ = Clock::now();
  note(unsure ? result.words + "; checking the queue for the array"
              : fmt::format("Slurm array {}: {} in {} task{}", array_,
                            cells_text(plan_.cells.size()), tasks, tasks == 1 ? "" : "s"));
  return std::nullopt;
}

void SlurmSweep::Pace::looked(Clock::time_point since) {
  const Clock::time_point now = Clock::now();
  next = now + std::max(least, 20 * (now - since));
  least = std::min(most, least + least / 4);
}

// Waits until no task is active, all cells are finished, a cell fails, or Ctrl-C.
MaybeError SlurmSweep::wait(std::vector<SweepCell>& cells) {
  Pace disk{300ms, 2s};
  Pace queue{500ms, 10s};
  Commands::Ticket asked = 0;  // 0: no squeue command is active.
  Clock::time_point asked_at;
  while (!interrupted()) {
    if (disk.due()) {
      const Clock::time_point began = Clock::now();
      store_.take_up(cells);
      if (undone(cells) == 0) return std::nullopt;
      if (MaybeError trouble = cannot_be_done(cells)) return trouble;
      disk.looked(began);
    }
    if (!bar_) {
      bar_.emplace("simulating", 2, Duration::seconds(1), "cells");
      shown_from_ = cells.size() - undone(cells);
    }
    bar_->update(cells.size() - undone(cells) - shown_from_, cells.size() - shown_from_);
    if (asked == 0 && queue.due()) {
      asked_at = Clock::now();
      asked = commands_.start(queue_argv(), kPatience);
    }
    for (const auto& [ticket, result] : commands_.poll()) {
      if (ticket != asked) continue;
      asked = 0;
      queue.looked(asked_at);
      const MaybeError refusal = hear(result);
      if (refusal && !silent_) note(refusal->message + "; still checking for finished cells");
      silent_ = refusal.has_value();
      if (refusal) continue;
      if (live_.empty()) {
        store_.take_up(cells);
        return cannot_be_done(cells);
      }
      tell_why_waiting();
    }
    pollfd watched{commands_.fd(), POLLIN, 0};
    ::poll(&watched, 1, 100);
  }
  return std::nullopt;
}

// Returns the error of a failed cell, as a sweep on this machine would report it.
MaybeError SlurmSweep::cannot_be_done(const std::vector<SweepCell>& cells) const {
  std::map<std::string, std::string> failures;
  for (const std::string& id : ours_) failures.merge(failures_in(plan_dir(id)));
  for (const SweepCell& cell : cells) {
    const auto failure = failures.find(cell.key);
    if (cell.result.empty() && failure != failures.end())
      return Error{failure->second, ErrorCode::kUnavailable};
  }
  return std::nullopt;
}

std::string SlurmSweep::outcome_of() const {
  const std::optional<std::string> words = words_in(plan_dir(last_));
  if (words && !words->empty())
    return fmt::format("; a task of array {} reported: {}", array_, *words);
  if (!seen_) return fmt::format("; Slurm lost array {}", array_);
  const std::string ended =
      ended_.empty() ? "" : fmt::format("; a task of array {} ended as {}", array_, ended_);
  if (words) return ended;
  return ended + fmt::format("; no task wrote to {}: check that all nodes share it", plan_.out);
}

Error SlurmSweep::give_up(const std::vector<SweepCell>& cells) const {
  std::vector<std::string> names;
  for (const SweepCell& cell : cells) {
    if (cell.result.empty()) names.push_back(std::to_string(cell.number + 1));
  }
  return Error{fmt::format("{} of {} cells unfinished after {} attempts in a row: cell{} {}{}",
                           names.size(), cells.size(), kMaxFruitless, names.size() == 1 ? "" : "s",
                           first_few(names), outcome_of()),
               ErrorCode::kUnavailable};
}

CommandResult SlurmSweep::ask(std::vector<std::string> argv, std::string input) {
  return commands_.run(std::move(argv), kPatience, std::move(input));
}

MaybeError SlurmSweep::hear(const CommandResult& queue) {
  if (!queue.ok()) return Error{queue.words};
  Result<std::vector<SlurmJob>> jobs = read_squeue(queue.out);
  if (!jobs.ok()) return jobs.error();
  live_.clear();
  for (SlurmJob& job : jobs.value()) {
    if (!job.comment.starts_with(kTag) || !ours_.contains(job.comment.substr(kTag.size())))
      continue;
    if (job.comment.substr(kTag.size()) == last_) {
      seen_ = true;
      if (job.over() && job.state != "COMPLETED") {
        ended_ = job.reason.empty() ? job.state : fmt::format("{} ({})", job.state, job.reason);
      }
    }
    if (!job.over()) live_.push_back(std::move(job));
  }
  return std::nullopt;
}

void SlurmSweep::tell_why_waiting() {
  const bool none_runs =
      std::all_of(live_.begin(), live_.end(), [](const SlurmJob& job) { return job.pending(); });
  if (!none_runs || Clock::now() - submitted_ < kWorthTelling) return;
  const std::string& reason = live_.front().reason;
  if (reason.empty() || reason == reason_) return;
  reason_ = reason;
  note(fmt::format("no task of array {} runs; Slurm's reason: {}", array_, reason));
}

// Cancels the arrays in the current queue and not `array_`: after a crash of the controller, that
// number may belong to another job.
void SlurmSweep::cancel() {
  const CommandResult queue = ask(queue_argv());
  if (const MaybeError refusal = hear(queue)) {
    note(fmt::format("{}; cannot cancel array {}; cancel it with 'scancel {}'", refusal->message,
                     array_, array_));
    return;
  }
  std::set<SlurmId> arrays;
  for (const SlurmJob& job : live_) arrays.insert(array_of(job));
  if (arrays.empty()) return;
  const std::string names = fmt::format("{}", fmt::join(arrays, " and "));
  const CommandResult result = ask(cancel_argv({arrays.begin(), arrays.end()}));
  note(result.ok() ? fmt::format("Slurm array {} is cancelled", names)
                   : fmt::format("{}; cannot cancel array {}", result.words, names));
}

void SlurmSweep::clean_up() {
  const Clock::time_point end = Clock::now() + kLastMoments;
  const auto at_work = [&] {
    if (hear(ask(queue_argv()))) return false;  // Tasks without a plan exit by themselves.
    std::erase_if(live_, [](const SlurmJob& job) { return job.state == "COMPLETING"; });
    return !live_.empty();
  };
  bool busy = !ours_.empty() && at_work();
  while (busy && Clock::now() < end) {
    std::this_thread::sleep_for(200ms);
    busy = at_work();
  }
  if (busy) cancel();
  std::error_code ignored;
  std::filesystem::remove_all(store_.dir() + "/slurm", ignored);
  store_.tidy();
}

void SlurmSweep::note(const std::string& text) {
  bar_.reset();  // Clears its line. wait() creates a new bar.
  streams_.err << "note: " << text << std::endl;
}

std::string SlurmSweep::plan_dir(const std::string& id) const { return plan_.out + "/slurm/" + id; }

}  // namespace muster
