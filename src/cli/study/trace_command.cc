#include "cli/study/trace_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <ostream>

#include "base/terminal/table.h"
#include "base/terminal/terminal.h"
#include "base/text/error_text.h"
#include "base/text/json_string.h"
#include "base/text/text.h"
#include "workload/generate/generator.h"
#include "workload/generate/past_outcomes.h"
#include "workload/generate/philly_like.h"
#include "workload/trace/distance.h"
#include "workload/trace/info.h"
#include "workload/trace/reader.h"
#include "workload/trace/writer.h"

namespace muster {

namespace {

constexpr double kMaxLoad = 1e6;  // GPUs.
constexpr const char* kProfilesHelp = "file of model profiles (default: the built-in profiles)";

// "0.8:1.5-3,3-4": with probability 0.8 the exponent is from 1.5 to 3, otherwise from 3 to 4.
Result<DurationLaw> parse_durations(std::string_view text) {
  const Error wrong{"durations " + in_quotes(text) +
                    ": write SHARE:LOW-HIGH,LOW-HIGH, such as 0.8:1.5-3,3-4"};
  const std::vector<std::string_view> halves = split(text, ':');
  if (halves.size() != 2) return wrong;
  const std::vector<std::string_view> ranges = split(halves[1], ',');
  if (ranges.size() != 2) return wrong;
  std::vector<double> numbers;
  for (const std::string_view range : ranges) {
    const std::vector<std::string_view> ends = split(range, '-');
    if (ends.size() != 2) return wrong;
    for (const std::string_view end : ends) {
      const Result<double> number = parse_number(end);
      if (!number.ok()) return wrong;
      numbers.push_back(number.value());
    }
  }
  const Result<double> share = parse_number(halves[0]);
  if (!share.ok()) return wrong;
  return DurationLaw{share.value(), numbers[0], numbers[1], numbers[2], numbers[3]};
}

std::string info_json(const Trace& trace) {
  const TraceInfo info = describe(trace);
  std::string source;
  append_json_string(source, trace.source);
  std::string sizes;
  for (const GpuSizeCount& size : info.sizes) {
    sizes += fmt::format("{}{{\"gpus\": {}, \"jobs\": {}, \"gpu_hours\": {:.3f}}}",
                         sizes.empty() ? "" : ", ", size.gpus, size.jobs, size.gpu_hours);
  }
  std::string filled;
  for (const ColumnUse& use : info.filled) {
    filled += fmt::format("{}\"{}\": {}", filled.empty() ? "" : ", ", use.name, use.jobs);
  }
  return fmt::format(
      "{{\n  \"trace\": {},\n  \"format\": \"{}\",\n  \"jobs\": {},\n  \"first_submit_s\": {},\n"
      "  \"last_submit_s\": {},\n  \"gpu_hours\": {:.3f},\n  \"duration_mean_s\": {},\n"
      "  \"duration_p10_s\": {},\n  \"duration_p50_s\": {},\n  \"duration_p90_s\": {},\n"
      "  \"duration_p99_s\": {},\n  \"duration_max_s\": {},\n  \"users\": {},\n  \"tenants\": {},\n"
      "  \"models\": {},\n  \"peak_gpus\": {},\n  \"mean_gpus\": {:.3f},\n  \"filled\": {{{}}},\n"
      "  \"sizes\": [{}]\n}}\n",
      source, trace.format, info.jobs, seconds_text(info.first_submit.us()),
      seconds_text(info.last_submit.us()), info.gpu_hours, seconds_text(info.mean.us()),
      seconds_text(info.p10.us()), seconds_text(info.p50.us()), seconds_text(info.p90.us()),
      seconds_text(info.p99.us()), seconds_text(info.longest.us()), info.users, info.tenants,
      info.models, info.peak_gpus, info.mean_gpus, filled, sizes);
}

std::string distance_json(const Trace& a, const Trace& b) {
  std::string names[2];
  append_json_string(names[0], a.source);
  append_json_string(names[1], b.source);
  const TraceDistance distance = distance_between(a, b);
  return fmt::format(
      "{{\n  \"trace\": {},\n  \"against\": {},\n  \"ks_durations\": {:.6f},\n"
      "  \"ks_gpus\": {:.6f},\n  \"ks_gaps\": {:.6f}\n}}\n",
      names[0], names[1], distance.durations, distance.gpus, distance.gaps);
}

int save(const std::string& path, const std::string& text, Streams streams) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return kExitDone;
  return complain(streams, Error{"cannot be written", ErrorCode::kSystem, path});
}

}  // namespace

void TraceCommand::add_to(Command app) {
  command_ = app.add_subcommand("trace", "describe, generate and convert workloads");
  command_.require_subcommand();
  command_.footer(
      "Example: generate a workload and describe it:\n"
      "  muster trace generate --jobs 500 --out jobs.csv && muster trace info jobs.csv");
  info_ = command_.add_subcommand("info", "describe a trace with numbers and small charts");
  info_.add_option("FILE", file_, "trace file").required();
  trace_options_.add_to(info_);
  info_.add_option("--profiles", profiles_, kProfilesHelp);
  info_.add_option("--against", against_,
                   "second trace; prints the Kolmogorov-Smirnov distances between the two");
  info_.add_flag("--json", json_, "print the result as JSON");
  info_.footer("Example:\n  muster trace info jobs.csv");

  generate_ = command_.add_subcommand("generate", "generate a trace like Synergy's or Philly's");
  generate_.add_option("--kind", kind_, "kind: synergy or philly-like").capture_default_str();
  generate_.add_option("--jobs", jobs_, "number of jobs").capture_default_str();
  generate_
      .add_option("--rate", rate_,
                  fmt::format("arrivals per hour (philly-like: {} by default)", kPhillyJobsPerHour))
      .capture_default_str();
  generate_.add_option("--load", load_,
                       "philly-like only, instead of --rate: mean busy GPUs without queueing");
  generate_.add_option("--tenants", tenants_, "philly-like only: number of tenants")
      .capture_default_str();
  generate_.add_option("--split", split_, "percentages of image, language and speech jobs")
      .capture_default_str();
  generate_.add_option("--gpu-mix", gpu_mix_, "GPUs per job: GPUS:PERCENT,..., single, or multi")
      .capture_default_str();
  generate_
      .add_option("--durations", durations_,
                  "run times SHARE:LOW-HIGH,LOW-HIGH: 10^x minutes, x from range 1 for that share")
      .capture_default_str();
  generate_.add_flag("--static", static_, "let all jobs arrive at time zero");
  generate_.add_option("--seed", seed_, "random seed; the same seed gives the same trace")
      .check(refuse_seed)
      .capture_default_str();
  generate_.add_option("--profiles", profiles_, kProfilesHelp);
  generate_.add_option("--out", out_, "file to write (default: standard output)");
  generate_.add_option("--outcomes", outcomes_,
                       "also write a CSV file of job outcomes: status, attempts, reasons");
  generate_.footer(
      "Example: a steady load of 9 jobs per hour, some on several GPUs:\n"
      "  muster trace generate --jobs 5000 --rate 9 --gpu-mix multi --out jobs.csv\n"
      "Example: several weeks of a busy cluster of 640 GPUs with many tenants:\n"
      "  muster trace generate --kind philly-like --jobs 80000 --load 600 --out jobs.csv");

  convert_ = command_.add_subcommand("convert", "convert a trace to another format");
  convert_.add_option("--trace", file_, "trace file").required();
  trace_options_.add_to(convert_);
  convert_.add_option("--profiles", profiles_, kProfilesHelp);
  convert_.add_option("--to", to_, "output format: muster, or batsim (a jobs.csv like Batsim's)")
      .capture_default_str();
  convert_.add_option("--out", out_, "file to write (default: standard output)");
  convert_.footer(
      "Example:\n  muster trace convert --trace cluster_log.csv --format helios --out jobs.csv");
  formats_ = command_.add_subcommand("formats", "list the trace formats that Muster reads");
  formats_.footer("Example:\n  muster trace formats");
}

int TraceCommand::run(Streams streams) {
  if (formats_.parsed()) return list_formats(streams);
  if (convert_.parsed()) return convert(streams);
  return info_.parsed() ? info(streams) : generate(streams);
}

int TraceCommand::info(Streams streams) {
  const Result<ProfileTable> profiles = load_profiles(profiles_, streams.err);
  if (!profiles.ok()) return complain(streams, profiles.error());
  const Result<Trace> trace = load_trace(file_, trace_options_, profiles.value());
  if (!trace.ok()) return complain(streams, trace.error());
  if (!against_.empty()) {
    const Result<Trace> other = load_trace(against_, {}, profiles.value());
    if (!other.ok()) return complain(streams, other.error());
    streams.out << (json_ ? distance_json(trace.value(), other.value())
                          : distance_text(trace.value(), other.value()));
    return kExitDone;
  }
  if (json_) {
    streams.out << info_json(trace.value());
  } else {
    streams.out << info_text(trace.value(), terminal_width(1), Glyphs::kUnicode);
  }
  return kExitDone;
}

Result<Trace> TraceCommand::synergy_like(const ProfileTable& profiles) {
  GeneratorOptions options;
  options.jobs = jobs_;
  options.jobs_per_hour = rate_;
  options.seed = seed_;
  options.static_arrivals = static_;
  const Result<TaskSplit> task_split = parse_task_split(split_);
  if (!task_split.ok()) return task_split.error();
  options.split = task_split.value();
  Result<std::vector<GpuShare>> mix = parse_gpu_mix(gpu_mix_);
  if (!mix.ok()) return mix.error();
  options.gpu_mix = std::move(mix).value();
  const Result<DurationLaw> law = parse_durations(durations_);
  if (!law.ok()) return law.error();
  options.duration = law.value();
  return generate_trace(options, profiles);
}

Result<Trace> TraceCommand::philly_like() {
  PhillyLikeOptions options;
  options.jobs = jobs_;
  options.tenants = tenants_;
  options.seed = seed_;
  if (generate_.count("--rate") > 0) options.jobs_per_hour = rate_;
  if (generate_.count("--load") > 0) {
    if (generate_.count("--rate") > 0) return Error{"load: cannot be combined with --rate"};
    if (!(load_ > 0 && load_ <= kMaxLoad)) {
      return Error{fmt::format("load: must be above 0 and at most {} GPUs: '{}'", kMaxLoad, load_)};
    }
    options.jobs_per_hour = rate_for_load(load_);
  }
  return generate_philly_like(options);
}

Result<Trace> TraceCommand::generated(const ProfileTable& profiles) {
  constexpr std::string_view kKinds[] = {"synergy", "philly-like"};
  const std::vector<std::string> own_options[] = {
      {"--split", "--gpu-mix", "--durations", "--static"}, {"--load", "--tenants"}};
  if (std::find(std::begin(kKinds), std::end(kKinds), kind_) == std::end(kKinds)) {
    return Error{
        fmt::format("kind: unknown kind {}{}", in_quotes(kind_), suggestion(kind_, kKinds))};
  }
  for (std::size_t i = 0; i < std::size(kKinds); ++i) {
    if (kKinds[i] == kind_) continue;
    for (const std::string& option : own_options[i]) {
      if (generate_.count(option) == 0) continue;
      return Error{fmt::format("{}: requires --kind {}", option.substr(2), kKinds[i])};
    }
  }
  return kind_ == "philly-like" ? philly_like() : synergy_like(profiles);
}

int TraceCommand::generate(Streams streams) {
  const Result<ProfileTable> profiles = load_profiles(profiles_, streams.err);
  if (!profiles.ok()) return complain(streams, profiles.error());
  const Result<Trace> trace = generated(profiles.value());
  if (!trace.ok()) return complain(streams, prefixed("--", trace.error()));
  if (!outcomes_.empty()) {
    const std::vector<PastOutcome> past = draw_past(trace.value(), seed_);
    const int status = save(outcomes_, write_past_csv(trace.value(), past), streams);
    if (status != kExitDone) return status;
  }
  return write_out(write_trace_csv(trace.value()), streams);
}

int TraceCommand::list_formats(Streams streams) {
  Table table({{"format", Align::kLeft}, {"", Align::kLeft}});
  for (const TraceFormat& format : trace_formats()) {
    table.add_row({std::string(format.name), std::string(format.doc)});
  }
  streams.out << table.render(color_mode_for(1));
  return kExitDone;
}

int TraceCommand::convert(Streams streams) {
  constexpr std::string_view kTargets[] = {"muster", "batsim"};
  if (std::find(std::begin(kTargets), std::end(kTargets), to_) == std::end(kTargets)) {
    return complain(streams, "--to: unknown format " + in_quotes(to_) + suggestion(to_, kTargets));
  }
  const Result<ProfileTable> profiles = load_profiles(profiles_, streams.err);
  if (!profiles.ok()) return complain(streams, profiles.error());
  Result<Trace> read = load_trace(file_, trace_options_, profiles.value());
  if (!read.ok()) return complain(streams, read.error());
  Trace& trace = read.value();
  if (to_ == "muster") forget_unprofiled_models(trace, profiles.value());
  for (const std::string& note : trace.notes) streams.err << "note: " << note << '\n';
  return write_out(to_ == "muster" ? write_trace_csv(trace) : write_batsim_csv(trace), streams);
}

int TraceCommand::write_out(const std::string& text, Streams streams) const {
  if (!out_.empty()) return save(out_, text, streams);
  streams.out << text;
  return kExitDone;
}

}  // namespace muster
