#include "cli/trace_command.h"

#include <fmt/format.h>

#include <fstream>
#include <ostream>

#include "base/text.h"
#include "report/json.h"
#include "report/terminal.h"
#include "trace/generator.h"
#include "trace/info.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace muster {

namespace {

// "0.8:1.5-3,3-4": with probability 0.8 the exponent is between 1.5 and 3, otherwise 3 and 4.
Result<DurationLaw> parse_durations(std::string_view text) {
  const Error wrong{"--durations " + in_quotes(text) +
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
  return fmt::format(
      "{{\n  \"trace\": {},\n  \"format\": \"{}\",\n  \"jobs\": {},\n  \"first_submit_s\": {},\n"
      "  \"last_submit_s\": {},\n  \"gpu_hours\": {:.3f},\n  \"duration_mean_s\": {},\n"
      "  \"duration_p10_s\": {},\n  \"duration_p50_s\": {},\n  \"duration_p90_s\": {},\n"
      "  \"duration_p99_s\": {},\n  \"duration_max_s\": {},\n  \"users\": {},\n  \"tenants\": {},\n"
      "  \"models\": {},\n  \"peak_gpus\": {},\n  \"mean_gpus\": {:.3f},\n  \"sizes\": [{}]\n}}\n",
      source, trace.format, info.jobs, seconds_text(info.first_submit.us()),
      seconds_text(info.last_submit.us()), info.gpu_hours, seconds_text(info.mean.us()),
      seconds_text(info.p10.us()), seconds_text(info.p50.us()), seconds_text(info.p90.us()),
      seconds_text(info.p99.us()), seconds_text(info.longest.us()), info.users, info.tenants,
      info.models, info.peak_gpus, info.mean_gpus, sizes);
}

}  // namespace

void TraceCommand::add_to(CLI::App& app) {
  command_ = app.add_subcommand("trace", "look at workloads and make them");
  command_->require_subcommand(1);
  command_->footer(
      "Example: make a workload and look at it:\n"
      "  muster trace generate --jobs 500 --out jobs.csv && muster trace info jobs.csv");
  info_ = command_->add_subcommand("info", "what is in a trace, in numbers and small charts");
  info_->add_option("FILE", file_, "the trace")->required();
  info_->add_option("--format", format_, "its format (default: detected)");
  info_->add_option("--profiles", profiles_, "models' speeds (default: the built-in zoo)");
  info_->add_flag("--json", json_, "print numbers for programs");
  info_->footer("Example:\n  muster trace info jobs.csv");

  generate_ = command_->add_subcommand("generate", "make one, by the law of Synergy's generator");
  generate_->add_option("--jobs", jobs_, "how many")->capture_default_str();
  generate_->add_option("--rate", rate_, "arrivals an hour")->capture_default_str();
  generate_->add_option("--split", split_, "percent of image, language and speech jobs")
      ->capture_default_str();
  generate_->add_option("--gpu-mix", gpu_mix_, "GPUS:PERCENT,..., or single, or multi")
      ->capture_default_str();
  generate_
      ->add_option("--durations", durations_,
                   "SHARE:LOW-HIGH,LOW-HIGH: 10^x minutes, x from the first range with that share")
      ->capture_default_str();
  generate_->add_flag("--static", static_, "all arrive at once");
  generate_->add_option("--seed", seed_, "the same seed gives the same trace")
      ->check(refuse_seed)
      ->capture_default_str();
  generate_->add_option("--profiles", profiles_, "models' speeds (default: the built-in zoo)");
  generate_->add_option("--out", out_, "file to write (default: standard output)");
  generate_->footer(
      "Example: a steady load of 9 jobs an hour, some on several GPUs:\n"
      "  muster trace generate --jobs 5000 --rate 9 --gpu-mix multi --out jobs.csv");
}

int TraceCommand::run(Streams streams) {
  return info_->parsed() ? info(streams) : generate(streams);
}

int TraceCommand::info(Streams streams) {
  const Result<ProfileTable> profiles = load_profiles(profiles_, streams.err);
  if (!profiles.ok()) return complain(streams, profiles.error().message);
  const Result<Trace> trace = read_trace(file_, format_, profiles.value());
  if (!trace.ok()) return complain(streams, trace.error().message);
  if (json_) {
    streams.out << info_json(trace.value());
  } else {
    streams.out << info_text(trace.value(), terminal_width(1), Glyphs::kUnicode);
  }
  return kExitDone;
}

int TraceCommand::generate(Streams streams) {
  const Result<ProfileTable> profiles = load_profiles(profiles_, streams.err);
  if (!profiles.ok()) return complain(streams, profiles.error().message);
  GeneratorOptions options;
  options.jobs = jobs_;
  options.jobs_per_hour = rate_;
  options.seed = seed_;
  options.static_arrivals = static_;
  const Result<TaskSplit> task_split = parse_task_split(split_);
  if (!task_split.ok()) return complain(streams, "--" + task_split.error().message);
  options.split = task_split.value();
  Result<std::vector<GpuShare>> mix = parse_gpu_mix(gpu_mix_);
  if (!mix.ok()) return complain(streams, "--" + mix.error().message);
  options.gpu_mix = std::move(mix).value();
  const Result<DurationLaw> law = parse_durations(durations_);
  if (!law.ok()) return complain(streams, law.error().message);
  options.duration = law.value();
  const Result<Trace> trace = generate_trace(options, profiles.value());
  if (!trace.ok()) return complain(streams, "--" + trace.error().message);
  const std::string text = write_trace_csv(trace.value());
  if (out_.empty()) {
    streams.out << text;
    return kExitDone;
  }
  std::ofstream file(out_, std::ios::binary);
  file << text;
  file.close();
  if (!file) {
    complain(streams, out_ + ": cannot be written");
    return kExitFailed;
  }
  return kExitDone;
}

}  // namespace muster
