#include "workload/input/sbatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/file/document.h"
#include "base/text/text.h"
#include "engine/model/fields.h"
#include "workload/input/sbatch_amounts.h"
#include "workload/input/sbatch_lines.h"

namespace muster {

namespace {

// The parts of "a100:4", "4" or "a100".
struct GpuAmount {
  std::string type;
  std::int32_t count = 1;
};

Result<std::int32_t> parse_count(std::string_view text, std::int32_t least) {
  const Result<std::int64_t> value = parse_int(text);
  if (!value.ok()) return value.error();
  if (value.value() < least || value.value() > kMaxRequestGpus) {
    return Error{fmt::format("not between {} and {}: {}", least, kMaxRequestGpus, in_quotes(text))};
  }
  return static_cast<std::int32_t>(value.value());
}

Result<GpuAmount> parse_gpus(std::string_view text) {
  if (text.find(',') != std::string_view::npos) {
    return Error{"several GPU types in one job are not supported: " + in_quotes(text)};
  }
  GpuAmount amount;
  const std::size_t colon = text.rfind(':');
  const std::string_view last = colon == std::string_view::npos ? text : text.substr(colon + 1);
  const bool counted =
      !last.empty() && last.find_first_not_of("0123456789") == std::string_view::npos;
  if (counted) {
    const Result<std::int32_t> count = parse_count(last, 0);
    if (!count.ok()) return count.error();
    amount.count = count.value();
    if (colon != std::string_view::npos) amount.type = text.substr(0, colon);
  } else {
    amount.type = text;
  }
  if (!counted && text.empty()) return Error{"number of GPUs missing"};
  return amount;
}

class Translator {
 public:
  Translator(const std::string& name, const std::string& cwd) : name_(name), cwd_(cwd) {
    job_.request.cwd = cwd;
  }

  MaybeError take(const GivenOption& given);
  // Call after the last option. Converts the options that depend on each other.
  MaybeError finish();
  void note(std::string_view text) { job_.notes.push_back(fmt::format("{}: {}", name_, text)); }
  void note_at(int line, std::string_view text) {
    job_.notes.push_back(fmt::format("{}:{}: {}", name_, line, text));
  }
  SbatchJob& job() { return job_; }

 private:
  MaybeError take_value(std::string_view option, const std::string& value);
  MaybeError take_number(std::string_view option, const std::string& value);
  MaybeError take_gres(const std::string& value);
  MaybeError take_gpus(std::optional<std::int32_t>& to, std::string_view value);
  MaybeError take_time(const std::string& value);
  MaybeError take_signal(const std::string& value);
  MaybeError take_dependency(const std::string& value);
  void take_export(const std::string& value);
  MaybeError take_priority(std::string_view option, const std::string& value);
  MaybeError count_gpus();
  void limit_spread();

  std::string name_;
  std::string cwd_;
  SbatchJob job_;
  int line_ = 0;  // Line of the current option.
  std::optional<std::int32_t> gpus_, gpus_per_node_, gpus_per_task_;
  std::optional<std::int32_t> nodes_, tasks_, tasks_per_node_;
  std::int32_t most_nodes_ = 0;  // Zero: not given.
  SlurmAmounts amounts_;
  std::int64_t priority_ = 0;
  std::int64_t nice_ = 0;
};

MaybeError Translator::take(const GivenOption& given) {
  line_ = given.line;
  const std::string_view option = given.option->name;
  if (!given.option->why_not.empty()) {
    note_at(line_, fmt::format("--{} is ignored: {}", option, given.option->why_not));
    return std::nullopt;
  }
  MaybeError refusal = take_value(option, given.value);
  if (refusal)
    refusal->message = fmt::format("{}:{}: --{}: {}", name_, line_, option, refusal->message);
  return refusal;
}

MaybeError Translator::take_value(std::string_view option, const std::string& value) {
  JobRequest& request = job_.request;
  if (option == "job-name") request.name = value;
  if (option == "account") request.tenant = value;
  if (option == "hold") request.hold = true;
  if (option == "no-requeue") request.retries = 0;
  if (option == "requeue") request.retries.reset();
  if (option == "export") take_export(value);
  if (option == "chdir") {
    request.cwd = (std::filesystem::path(cwd_) / value).lexically_normal().string();
  }
  if (option == "array") {
    return set_field(request, *request_field("array"), {Written::As::kPlain, value});
  }
  if (option == "time") return take_time(value);
  if (option == "signal") return take_signal(value);
  if (option == "dependency") return take_dependency(value);
  if (option == "gres") return take_gres(value);
  if (option == "gpus") return take_gpus(gpus_, value);
  if (option == "gpus-per-node") return take_gpus(gpus_per_node_, value);
  if (option == "gpus-per-task") return take_gpus(gpus_per_task_, value);
  if (option == "nice" || option == "priority") return take_priority(option, value);
  if (option.starts_with("mem") || option.starts_with("cpus")) return amounts_.take(option, value);
  if (option == "nodes" || option.starts_with("ntasks")) return take_number(option, value);
  return std::nullopt;
}

MaybeError Translator::take_number(std::string_view option, const std::string& value) {
  std::string_view text = value;
  if (option == "nodes") {  // "2-4" means: at least 2 and at most 4.
    const std::size_t dash = text.find('-');
    const bool range = dash != std::string_view::npos;
    const Result<std::int32_t> most = parse_count(range ? text.substr(dash + 1) : text, 1);
    if (range && !most.ok()) return Error{"not a number of nodes: " + in_quotes(text)};
    if (most.ok()) most_nodes_ = most.value();
    text = text.substr(0, dash);
  }
  const Result<std::int32_t> count = parse_count(text, 1);
  if (!count.ok()) return count.error();
  (option == "nodes" ? nodes_ : option == "ntasks" ? tasks_ : tasks_per_node_) = count.value();
  return std::nullopt;
}

MaybeError Translator::take_gpus(std::optional<std::int32_t>& to, std::string_view value) {
  const Result<GpuAmount> amount = parse_gpus(value);
  if (!amount.ok()) return amount.error();
  to = amount.value().count;
  const std::string& type = amount.value().type;
  if (type.empty()) return std::nullopt;
  job_.request.gpu_type = type;
  if (type == value) {  // The user may have meant a number.
    note_at(line_, fmt::format("{} is read as a GPU type; the job gets 1 GPU", in_quotes(type)));
  }
  return std::nullopt;
}

MaybeError Translator::take_gres(const std::string& value) {
  for (const std::string_view part : split(value, ',')) {
    if (part == "gpu") {
      gpus_per_node_ = 1;
    } else if (part.starts_with("gpu:")) {
      if (MaybeError refusal = take_gpus(gpus_per_node_, part.substr(4))) return refusal;
    } else if (part != "none") {
      note_at(line_, fmt::format("--gres is ignored except for GPUs: {}", in_quotes(part)));
    }
  }
  return std::nullopt;
}

MaybeError Translator::take_time(const std::string& value) {
  const Result<Duration> limit = parse_slurm_time(value);
  if (!limit.ok()) return limit.error();
  job_.request.time_limit = limit.value();
  return std::nullopt;
}

// Parses "[R:][B:]SIGNAL[@SECONDS]": the signal is sent this many seconds before the end. Muster
// always sends SIGTERM; the seconds are its grace period.
MaybeError Translator::take_signal(const std::string& value) {
  const std::size_t at = value.find('@');
  std::string_view signal = std::string_view(value).substr(0, at);
  signal = signal.substr(signal.find_last_of(':') + 1);
  if (signal.starts_with("SIG")) signal.remove_prefix(3);
  std::int64_t seconds = 60;  // Slurm's default.
  if (at != std::string::npos) {
    const Result<std::int64_t> given = parse_int(std::string_view(value).substr(at + 1));
    if (!given.ok() || given.value() < 0) return Error{"not a time: " + in_quotes(value)};
    seconds = std::min(given.value(), kMaxGrace.us() / 1'000'000);
  }
  job_.request.grace = Duration::seconds(seconds);
  if (signal != "TERM" && signal != "15") {
    note_at(line_, fmt::format("--signal: Muster sends SIGTERM {} s before SIGKILL, instead of {}",
                               seconds, in_quotes(signal)));
  }
  return std::nullopt;
}

MaybeError Translator::take_dependency(const std::string& value) {
  job_.request.after_ok.clear();
  job_.request.after_any.clear();
  for (const std::string_view part : split(value, ',')) {
    const std::vector<std::string_view> words = split(part, ':');
    const bool ok = words[0] == "afterok";
    if (words.size() < 2 || (!ok && words[0] != "afterany")) {
      return Error{"only afterok:ID and afterany:ID are supported: " + in_quotes(part)};
    }
    for (std::size_t i = 1; i < words.size(); ++i) {
      const RequestField& field = *request_field(ok ? "after_ok" : "after_any");
      if (MaybeError r = add_to_field(job_.request, field, {Written::As::kPlain, words[i]}))
        return r;
    }
  }
  return std::nullopt;
}

void Translator::take_export(const std::string& value) {
  job_.whole_environment = false;
  job_.variables.clear();
  job_.request.env.clear();
  for (const std::string_view part : split(value, ',')) {
    const std::size_t equals = part.find('=');
    if (part == "ALL") {
      job_.whole_environment = true;
    } else if (equals != std::string_view::npos) {
      job_.request.env[std::string(part.substr(0, equals))] = part.substr(equals + 1);
    } else if (!part.empty() && part != "NONE" && part != "NIL") {
      job_.variables.emplace_back(part);
    }
  }
}

MaybeError Translator::take_priority(std::string_view option, const std::string& value) {
  constexpr std::int64_t kSlurmNice = 100;  // Slurm's default.
  const bool nice = option == "nice";
  const Result<std::int64_t> number =
      nice && value.empty() ? Result<std::int64_t>(kSlurmNice) : parse_int(value);
  if (!number.ok()) return number.error();
  constexpr std::int64_t kEnough = 10'000'000'000;  // Beyond Slurm's range.
  (nice ? nice_ : priority_) = std::clamp(number.value(), -kEnough, kEnough);
  return std::nullopt;
}

MaybeError Translator::count_gpus() {
  const std::int64_t nodes = nodes_.value_or(1);
  const std::int64_t tasks = tasks_ ? *tasks_ : nodes * tasks_per_node_.value_or(1);
  const std::int64_t by_node = nodes * gpus_per_node_.value_or(0);
  const std::int64_t by_task = tasks * gpus_per_task_.value_or(0);
  if (gpus_ && gpus_per_node_ && nodes_ && *gpus_ != by_node) {
    return Error{fmt::format("{}: --gpus {} contradicts {} nodes with {} GPUs each", name_, *gpus_,
                             nodes, *gpus_per_node_)};
  }
  const std::int64_t gpus = gpus_ ? *gpus_ : gpus_per_node_ ? by_node : by_task;
  if (gpus > kMaxRequestGpus) {
    return Error{
        fmt::format("{}: {} GPUs in total; the maximum is {}", name_, gpus, kMaxRequestGpus)};
  }
  if (gpus == 0) note("requests no GPU; every job in Muster gets at least one");
  job_.request.gpus = std::max(1, static_cast<std::int32_t>(gpus));
  const std::int64_t on_a_node = gpus_per_node_ ? *gpus_per_node_ : gpus / nodes;
  if (tasks_per_node_ && *tasks_per_node_ == on_a_node && gpus > 1) {
    job_.request.launch_per = LaunchPer::kGpu;
  }
  limit_spread();
  amounts_.put_into(job_.request, nodes, tasks);
  return std::nullopt;
}

// In Slurm, --nodes is an exact number of nodes. In Muster it becomes a maximum.
void Translator::limit_spread() {
  if (most_nodes_ == 0 || most_nodes_ >= job_.request.gpus) return;
  job_.request.spread = most_nodes_;
  if (most_nodes_ == 1) return;
  note(fmt::format("--nodes: {} GPUs on at most {} nodes, possibly fewer", job_.request.gpus,
                   most_nodes_));
}

MaybeError Translator::finish() {
  const std::int64_t priority = priority_ - nice_;
  job_.request.priority =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(priority, -kMaxPriority, kMaxPriority));
  if (job_.request.priority != priority) {
    note(fmt::format("priority {} is limited to {}", priority, job_.request.priority));
  }
  if (MaybeError refusal = count_gpus()) return refusal;
  for (const std::string& each : amounts_.notes()) note(each);
  const std::string base = name_.substr(name_.find_last_of('/') + 1);
  if (job_.request.name.empty()) job_.request.name = name_from(base);
  complete_request(job_.request);
  MaybeError refusal = check_request(job_.request);
  if (refusal) refusal->message = fmt::format("{}: {}", name_, refusal->message);
  return refusal;
}

// Returns the Slurm variables in the script, except the one that Muster sets.
std::vector<std::string> unset_variables(std::string_view text) {
  constexpr std::string_view kBegin = "SLURM_";
  std::vector<std::string> names;
  for (std::size_t at = text.find(kBegin); at != std::string_view::npos;
       at = text.find(kBegin, at + 1)) {
    const std::size_t end = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789", at);
    std::string name(text.substr(at, end == std::string_view::npos ? end : end - at));
    if (name == "SLURM_ARRAY_TASK_ID") continue;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

// Adds notes about uses of Slurm features in the script that Muster does not have.
void note_habits(std::string_view text, Translator& job) {
  if (const std::vector<std::string> unset = unset_variables(text); !unset.empty()) {
    job.note(fmt::format("uses {}, which Muster does not set; it sets MUSTER_..., RANK and others",
                         first_few(unset)));
  }
  for (const std::string_view line : split(text, '\n')) {
    if (!trim(line).starts_with("srun ")) continue;
    const bool per_gpu = job.job().request.launch_per == LaunchPer::kGpu;
    job.note(fmt::format("calls srun, which Muster does not have: it starts the script once per {}",
                         per_gpu ? "GPU" : "node"));
    return;
  }
}

}  // namespace

Result<Duration> parse_slurm_time(std::string_view text) {
  if (text == "UNLIMITED" || text == "INFINITE") return Duration();
  const Error wrong{"not a time: " + in_quotes(text) + "; write min, h:min:s or d-h:min:s"};
  const std::size_t dash = text.find('-');
  const bool has_days = dash != std::string_view::npos;
  std::vector<std::int64_t> numbers;  // Finally: days, hours, minutes, seconds.
  const auto add = [&](std::string_view digits) {
    const Result<std::int64_t> value = parse_int(digits);
    numbers.push_back(value.ok() ? value.value() : -1);
    return numbers.back() >= 0 && numbers.back() <= kLongestDuration.us() / 1'000'000;
  };
  if (has_days && !add(text.substr(0, dash))) return wrong;
  const std::vector<std::string_view> parts = split(has_days ? text.substr(dash + 1) : text, ':');
  if (parts.size() > 3) return wrong;
  // Without days one number is minutes, and two are minutes and seconds.
  const std::size_t skipped = has_days ? 0 : parts.size() == 3 ? 1 : 2;
  numbers.insert(numbers.end(), skipped, 0);
  for (const std::string_view part : parts) {
    if (!add(part)) return wrong;
  }
  numbers.resize(4);
  const std::int64_t seconds = ((numbers[0] * 24 + numbers[1]) * 60 + numbers[2]) * 60 + numbers[3];
  if (seconds > kLongestDuration.us() / 1'000'000)
    return Error{"longer than 100 years: " + in_quotes(text)};
  return Duration::seconds(seconds);
}

Result<SbatchJob> parse_sbatch(std::string_view text, const std::string& name,
                               std::span<const std::string> args, const std::string& cwd) {
  const std::string shown = shown_path(name);
  if (text.size() >= kMaxWordBytes) {
    return Error{
        fmt::format("{}: script too long; the maximum is {} bytes", shown, kMaxWordBytes - 1)};
  }
  Result<SbatchLines> lines = read_sbatch_lines(text, shown);
  if (!lines.ok()) return lines.error();
  Translator job(shown, cwd);
  for (const GivenOption& given : lines.value().options) {
    if (const MaybeError refusal = job.take(given)) return *refusal;
  }
  for (const int line : lines.value().too_late) {
    job.note_at(line, "#SBATCH after the first command is ignored");
  }
  std::vector<std::string>& command = job.job().request.command;
  command = std::move(lines.value().shell);
  command.insert(command.end(), {"-c", std::string(text), name});
  command.insert(command.end(), args.begin(), args.end());
  if (const MaybeError refusal = job.finish()) return *refusal;
  note_habits(text, job);
  return std::move(job.job());
}

}  // namespace muster
