#include "workload/generate/generator.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "base/text/text.h"
#include "base/types/random.h"
#include "engine/model/topology.h"

namespace muster {

namespace {

constexpr double kLn10 = 2.302585092994045684;
constexpr std::int64_t kMaxGpus = std::int64_t{kMaxNodes} * kMaxGpusPerNode;
constexpr int kUsers = 8;
constexpr int kTenants = 4;

constexpr std::string_view kImageModels[] = {"alexnet", "res18", "res50", "mobilenet",
                                             "shufflenet"};
constexpr std::string_view kLanguageModels[] = {"gnmt", "transformer", "lstm"};
constexpr std::string_view kSpeechModels[] = {"m5", "deepspeech"};

struct Task {
  std::span<const std::string_view> models;
  double target = 0;  // Percent of jobs.
  std::int64_t jobs = 0;
};

std::array<Task, 3> tasks_of(const TaskSplit& split) {
  return {Task{kImageModels, split.image}, Task{kLanguageModels, split.language},
          Task{kSpeechModels, split.speech}};
}

// Returns the task that is furthest below its target; on a tie, the first. As in Synergy, the first
// job always goes to the first task with a target above 0.
Task& next_task(std::array<Task, 3>& tasks, std::int64_t jobs_so_far) {
  Task* best = nullptr;
  double best_deficit = 0;
  for (Task& task : tasks) {
    if (task.target <= 0) continue;
    // (Target - share) * jobs so far. Without a division, integer percentages tie exactly.
    const double deficit =
        task.target * static_cast<double>(jobs_so_far) - 100.0 * static_cast<double>(task.jobs);
    if (best == nullptr || deficit > best_deficit) {
      best = &task;
      best_deficit = deficit;
    }
  }
  MUSTER_CHECK(best != nullptr);
  return *best;
}

Duration draw_duration(const DurationLaw& law, Random& random) {
  const bool is_short = random.uniform() < law.short_share;
  const double exponent = is_short ? random.uniform(law.short_low, law.short_high)
                                   : random.uniform(law.long_low, law.long_high);
  return Duration::micros(std::llround(60e6 * portable_exp(exponent * kLn10)));
}

std::int32_t draw_gpus(const std::vector<GpuShare>& mix, Random& random) {
  double total = 0;
  for (const GpuShare& share : mix) total += share.percent;
  double left = random.uniform() * total;
  const GpuShare* last = nullptr;
  for (const GpuShare& share : mix) {
    if (share.percent <= 0) continue;
    if (left < share.percent) return share.gpus;
    left -= share.percent;
    last = &share;
  }
  MUSTER_CHECK(last != nullptr);
  return last->gpus;  // Only after a rounding error.
}

MaybeError check_percents(std::string_view option, std::span<const double> percents) {
  double sum = 0;
  for (const double percent : percents) {
    if (!(percent >= 0 && percent <= 100)) {
      return Error{fmt::format("{}: not a percentage: '{}'; 0 to 100", option, percent)};
    }
    sum += percent;
  }
  if (std::abs(sum - 100) <= 1) return std::nullopt;
  return Error{fmt::format("{}: the percentages add up to {}, not 100: '{}'", option, sum,
                           fmt::join(percents, ","))};
}

MaybeError check_rate(const GeneratorOptions& options) {
  const double rate = options.jobs_per_hour;
  if (options.static_arrivals) return std::nullopt;
  if (!(rate > 0 && rate <= 1e6)) {
    return Error{
        fmt::format("rate: must be above 0 and at most 1000000 jobs per hour: '{}'", rate)};
  }
  // The sum of n gaps practically never exceeds 1.5 n + 400 times their mean.
  const double most_hours = 1.5 * static_cast<double>(options.jobs) + 400.0;
  const double least = most_hours * 3600.0 / kLongestDuration.in_seconds();
  if (rate >= least) return std::nullopt;
  return Error{fmt::format("rate: too low for {} jobs: '{}'; use at least {:.2g} jobs per hour",
                           options.jobs, rate, least * 1.05)};
}

MaybeError check_range(std::string_view which, double low, double high) {
  if (low >= -3 && low <= high && high <= 7) return std::nullopt;
  return Error{
      fmt::format("durations: invalid {} range of exponents: '{}..{}'; must ascend within -3..7",
                  which, low, high)};
}

MaybeError check_mix(const std::vector<GpuShare>& mix) {
  std::vector<double> percents;
  for (std::size_t i = 0; i < mix.size(); ++i) {
    if (mix[i].gpus < 1 || mix[i].gpus > kMaxGpus) {
      return Error{fmt::format("gpu-mix: GPUs must be 1 to {}: '{}'", kMaxGpus, mix[i].gpus)};
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (mix[j].gpus == mix[i].gpus) {
        return Error{fmt::format("gpu-mix: given twice: '{}'", mix[i].gpus)};
      }
    }
    percents.push_back(mix[i].percent);
  }
  return check_percents("gpu-mix", percents);
}

}  // namespace

Result<TaskSplit> parse_task_split(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ',');
  if (parts.size() != 3) {
    return Error{fmt::format(
        "split: {} values instead of 3: {}; write image,language,speech such as 20,70,10",
        parts.size(), in_quotes(text))};
  }
  std::array<double, 3> percents = {};
  for (std::size_t i = 0; i < 3; ++i) {
    const Result<double> percent = parse_number(trim(parts[i]));
    if (!percent.ok()) return Error{"split: " + percent.error().message};
    percents[i] = percent.value();
  }
  if (const MaybeError refusal = check_percents("split", percents)) return *refusal;
  return TaskSplit{percents[0], percents[1], percents[2]};
}

Result<std::vector<GpuShare>> parse_gpu_mix(std::string_view text) {
  if (text == "single") return std::vector<GpuShare>{{1, 100}};
  if (text == "multi") return std::vector<GpuShare>{{1, 70}, {2, 10}, {4, 15}, {8, 5}};
  if (text.find(':') == std::string_view::npos) {
    constexpr std::string_view kNames[] = {"single", "multi"};
    const std::string_view near = nearest(text, kNames);
    return Error{fmt::format(
        "gpu-mix: no such mix: {}; {}", in_quotes(text),
        near.empty() ? std::string("use single, multi or GPUs:percent such as 1:70,2:10,4:15,8:5")
                     : fmt::format("did you mean '{}'?", near))};
  }
  std::vector<GpuShare> mix;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) {
      return Error{fmt::format("gpu-mix: no percentage: {}; write GPUs:percent", in_quotes(part))};
    }
    const Result<std::int64_t> gpus = parse_int(trim(part.substr(0, colon)));
    if (!gpus.ok()) return Error{"gpu-mix: " + gpus.error().message};
    if (gpus.value() < 1 || gpus.value() > kMaxGpus) {
      return Error{fmt::format("gpu-mix: GPUs must be 1 to {}: '{}'", kMaxGpus, gpus.value())};
    }
    const Result<double> percent = parse_number(trim(part.substr(colon + 1)));
    if (!percent.ok()) return Error{"gpu-mix: " + percent.error().message};
    mix.push_back({static_cast<std::int32_t>(gpus.value()), percent.value()});
  }
  if (const MaybeError refusal = check_mix(mix)) return *refusal;
  return mix;
}

MaybeError check_options(const GeneratorOptions& options) {
  if (options.jobs < 1 || options.jobs > kMaxGeneratedJobs) {
    return Error{fmt::format("jobs: must be 1 to {}: '{}'", kMaxGeneratedJobs, options.jobs)};
  }
  if (MaybeError refusal = check_rate(options)) return refusal;
  const double percents[] = {options.split.image, options.split.language, options.split.speech};
  if (MaybeError refusal = check_percents("split", percents)) return refusal;
  if (MaybeError refusal = check_mix(options.gpu_mix)) return refusal;
  const DurationLaw& law = options.duration;
  if (!(law.short_share >= 0 && law.short_share <= 1)) {
    return Error{fmt::format("durations: not a probability: '{}'; 0 to 1", law.short_share)};
  }
  if (MaybeError refusal = check_range("short", law.short_low, law.short_high)) return refusal;
  return check_range("long", law.long_low, law.long_high);
}

Result<Trace> generate_trace(const GeneratorOptions& options, const ProfileTable& profiles) {
  if (const MaybeError refusal = check_options(options)) return *refusal;
  std::array<Task, 3> tasks = tasks_of(options.split);
  for (const Task& task : tasks) {
    if (task.target <= 0) continue;
    for (const std::string_view model : task.models) {
      if (profiles.find(model) != ProfileTable::kUnknown) continue;
      return Error{fmt::format("split: no profile for a required model: '{}'", model)};
    }
  }
  const Random seed(options.seed);
  Random gaps = seed.fork("arrivals");
  Random durations = seed.fork("durations");
  Random gpus = seed.fork("gpus");
  Random users = seed.fork("users");
  Random tenants = seed.fork("tenants");

  Trace trace;
  trace.source = "generated";
  trace.format = "muster";
  trace.jobs.reserve(static_cast<std::size_t>(options.jobs));
  Instant now;
  for (std::int64_t i = 0; i < options.jobs; ++i) {
    TraceJob job;
    job.id = std::to_string(i);
    if (!options.static_arrivals) {
      const double gap = std::ceil(gaps.exponential(3600.0 / options.jobs_per_hour));
      now = std::min(now + Duration::seconds(static_cast<std::int64_t>(gap)),
                     Instant::at(kLongestDuration));
    }
    job.submit = now;
    Task& task = next_task(tasks, i);
    const std::string_view model =
        task.models[static_cast<std::size_t>(task.jobs) % task.models.size()];
    ++task.jobs;
    job.model = trace.models.intern(model);
    job.name = trace.names.intern(model);
    job.gpus = draw_gpus(options.gpu_mix, gpus);
    job.duration = draw_duration(options.duration, durations);
    const double iteration = profiles[profiles.find(model)].iteration_seconds();
    if (iteration > 0) {
      const double iterations = std::floor(job.duration.in_seconds() / iteration);
      job.iterations = iterations < 9e18 ? static_cast<std::int64_t>(iterations) : 0;
    }
    job.user = trace.users.intern(fmt::format("u{}", users.below(kUsers)));
    job.tenant = trace.tenants.intern(fmt::format("t{}", tenants.below(kTenants)));
    trace.jobs.push_back(std::move(job));
  }
  return trace;
}

}  // namespace muster
