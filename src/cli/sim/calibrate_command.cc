#include "cli/sim/calibrate_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <ostream>
#include <utility>
#include <vector>

#include "base/terminal/progress.h"
#include "base/text/json_string.h"
#include "base/text/text.h"
#include "base/text/wording.h"
#include "cli/live/live_session.h"
#include "engine/scheduler/scheduler.h"
#include "sim/forecast/calibration.h"

namespace muster {

namespace {

constexpr double kMinShare = 0.75;
constexpr double kMaxShare = 0.85;
constexpr int kMaxLimitHours = 8'760;
constexpr int kMaxDrives = 1'000;
// Default sample size: large enough to be significant, small enough for large traces.
constexpr std::size_t kEnoughAsked = 2'000;
constexpr std::size_t kMaxEvery = 25;

std::vector<FutureArrival> history_of(const Trace& trace) {
  std::vector<FutureArrival> history;
  history.reserve(trace.jobs.size());
  for (const TraceJob& job : trace.jobs) {
    JobSpec spec;
    spec.gpus = job.gpus;
    spec.user = UserId(job.user);
    spec.name = NameId(job.name);
    history.push_back({job.submit, spec, job.duration});
  }
  return history;
}

// Estimates run times from earlier jobs, as a live manager does.
Engine engine_for(const Cluster& cluster, const SchedulerParts& parts) {
  PlannerOptions wanted;
  wanted.parts = parts;
  MadePlanner made = make_planner(cluster, wanted);
  EngineOptions options;
  options.pooling = made.pooling;
  options.estimates = EstimateSource::Kind::kHistory;
  return {cluster, std::move(made.planner), options};
}

bool as_promised(const CalibrationReport& report) {
  return report.asked == 0 || (report.share() >= kMinShare && report.share() <= kMaxShare);
}

double percent_of(std::size_t part, std::size_t all) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

std::string summary(const CalibrationReport& report) {
  return fmt::format(
      "the 80% band contained {:.1f}% of {} starts ({:.1f}% were earlier, {:.1f}% later)",
      percent_of(report.inside, report.asked), grouped(report.asked),
      percent_of(report.before, report.asked), percent_of(report.after, report.asked));
}

// One line per band: its share of the starts as a bar, and its median width.
std::string reliability_text(const CalibrationReport& report, bool with_width) {
  constexpr std::size_t kBar = 40;  // Characters for 100%.
  std::string text = "\nband   starts inside";
  text += with_width ? fmt::format("{:>48}\n", "median width") : "\n";
  for (std::size_t i = 0; i < report.levels.size(); ++i) {
    const double goal = CalibrationReport::kShares[i];
    const double share = percent_of(report.levels[i].inside, report.asked) / 100;
    std::string bar(kBar, '.');
    std::fill_n(bar.begin(), static_cast<std::ptrdiff_t>(share * kBar), '#');
    bar[static_cast<std::size_t>(goal * kBar) - 1] = '|';
    text += fmt::format("{:>3.0f}%  {:>6.1f}% {}", 100 * goal, 100 * share, bar);
    text += with_width ? fmt::format("{:>15}\n", short_duration(report.levels[i].width)) : "\n";
  }
  return text;
}

std::string slurm_text(const CalibrationReport& report, Duration limit) {
  return fmt::format(
      "\nWith time limits of {} as run times, as `squeue --start` of Slurm assumes:\n"
      "{:<30}{:>10}\n{:<30}{:>10}\n",
      short_duration(limit), "median error", short_duration(report.limit_miss),
      "started before its time",
      fmt::format("{:.1f}%", percent_of(report.limit_before, report.asked)));
}

std::string report_text(const CalibrationReport& report, Duration limit) {
  if (report.asked == 0) return "no job had to wait: no forecasts to check\n";
  std::string text =
      summary(report) + (as_promised(report) ? ": calibrated\n\n" : ": not calibrated\n\n");
  const auto add = [&](const char* what, const std::string& value) {
    text += fmt::format("{:<30}{:>10}\n", what, value);
  };
  add("jobs", grouped(report.jobs));
  add("started immediately", grouped(report.at_once));
  add("forecasts checked", grouped(report.asked));
  add("inside the band", grouped(report.inside));
  add("before the band", grouped(report.before));
  add("after the band", grouped(report.after));
  add("median wait", short_duration(report.wait));
  add("median width of the band", short_duration(report.width));
  add("median error of \"likely\"", short_duration(report.miss));
  add("inside the uncorrected band",
      fmt::format("{:.1f}%", percent_of(report.raw_inside, report.asked)));
  text += reliability_text(report, true);
  if (limit > Duration()) text += slurm_text(report, limit);
  return text;
}

std::string in_json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

}  // namespace

void CalibrateCommand::add_to(Command app) {
  command_ = app.add_subcommand("calibrate", "measure on a trace how accurate start forecasts are");
  command_.add_option("--trace", trace_, "workload file (required without --live)");
  trace_options_.add_to(command_);
  command_
      .add_option("--cluster", cluster_,
                  "cluster: file, or NODESxGPUS[,cpus=,mem=,storage=,racks=,gpu=]")
      .capture_default_str();
  command_.add_option("--policy", policy_, "policy that orders the queue").capture_default_str();
  command_
      .add_option(
          "--every", every_,
          fmt::format("check one in N waiting jobs (default: the number of jobs divided by {}; at "
                      "least 1, at most {})",
                      grouped(kEnoughAsked), kMaxEvery))
      .check_range(1, std::numeric_limits<int>::max());
  command_.add_option("--drives", drives_, "simulations per forecast")
      .check_range(1, kMaxDrives)
      .capture_default_str();
  command_
      .add_option("--limit-hours", limit_h_,
                  "time limit of all jobs for the comparison with Slurm's rule; 0: none")
      .check_range(0, kMaxLimitHours)
      .capture_default_str();
  command_.add_flag("--live", live_record_,
                    "show how often the forecasts of the live manager were right since its start");
  command_
      .add_option("--server", live_.server,
                  "for --live: address of the manager (default: $MUSTER_SERVER, or muster.sock in "
                  "$MUSTER_HOME)")
      .type_name("WHERE");
  command_.add_flag("--json", json_, "print the result as JSON");
  command_.footer(
      "Exit status: 0 if the 80% band contained 75 to 85% of the starts, otherwise 1.\n"
      "Example:\n  muster calibrate --trace jobs.csv --cluster 80x8 --policy fifo");
}

// The record of the live manager. It has no exit status 1: a few starts prove nothing.
int CalibrateCommand::run_live(Streams streams) {
  live_.json = json_;
  return with_manager(live_, streams, [&](ApiClient& client) {
    const Result<nlohmann::json> fleet = object_of(client.get("/v1/fleet"));
    if (!fleet.ok()) return complain(streams, fleet.error());
    const nlohmann::json score = fleet.value().value("forecasts", nlohmann::json::object());
    if (json_) {
      streams.out << json_line(score) << '\n';
      return kExitDone;
    }
    const std::uint64_t checked = count_at(score, "checked");
    if (checked == 0) {
      streams.out << "no job has started after a forecast since the manager started\n";
      return kExitDone;
    }
    CalibrationReport report;
    report.asked = checked;
    for (std::size_t i = 0; i < report.levels.size(); ++i) {
      const std::string key = fmt::format("inside_{:.0f}", 100 * CalibrationReport::kShares[i]);
      report.levels[i].inside = std::min(count_at(score, key.c_str()), checked);
    }
    report.inside = report.levels[1].inside;
    report.before = count_at(score, "before");
    report.after = count_at(score, "after");
    streams.out << summary(report) << "\n" << reliability_text(report, false);
    return kExitDone;
  });
}

int CalibrateCommand::run(Streams streams) {
  if (live_record_) return run_live(streams);
  if (trace_.empty() && !command_.count("--trace")) {
    return complain(streams, "--trace: required, unless --live is given");
  }
  const MaybeError empty =
      command_.refuse_empty({"--trace", "--format", "--throughputs", "--cluster", "--policy"});
  if (empty) return complain(streams, *empty);
  SchedulerParts parts;
  parts.policy = policy_;
  if (const MaybeError refusal = check_parts(parts)) {
    return complain(streams, "--policy: " + refusal->message);
  }
  const Result<ClusterFile> file = load_cluster(cluster_, streams.err);
  if (!file.ok()) return complain(streams, file.error());
  const Result<ProfileTable> profiles = load_profiles("", streams.err);
  if (!profiles.ok()) return complain(streams, profiles.error());
  const Result<Trace> trace = load_trace(trace_, trace_options_, profiles.value());
  if (!trace.ok()) return complain(streams, trace.error());
  for (const std::string& note : trace.value().notes) streams.err << "note: " << note << '\n';

  const Cluster cluster(file.value().topology, profiles.value());
  const std::size_t jobs = trace.value().jobs.size();
  CalibrationOptions options;
  options.every = every_ > 0 ? static_cast<std::size_t>(every_)
                             : std::clamp<std::size_t>(jobs / kEnoughAsked, 1, kMaxEvery);
  options.start.most_drives = drives_;
  options.limit = Duration::seconds(std::int64_t{limit_h_} * 3'600);
  catch_interrupts();
  ProgressBar bar("calibrating");
  options.progress = [&bar](std::size_t done, std::size_t total) {
    bar.update(done, total);
    return !interrupted();
  };
  const CalibrationReport report =
      calibrate(engine_for(cluster, parts), history_of(trace.value()), options);
  bar.finish();
  streams.out << (json_ ? report_json(report, trace.value(), options)
                        : report_text(report, options.limit));
  if (interrupted()) return kExitInterrupted;
  return as_promised(report) ? kExitDone : kExitFailed;
}

std::string CalibrateCommand::report_json(const CalibrationReport& report, const Trace& trace,
                                          const CalibrationOptions& options) const {
  const auto judged = [&](const std::string& value) { return report.asked == 0 ? "null" : value; };
  const double share = report.asked == 0 ? 0 : report.share();
  std::string levels;
  for (std::size_t i = 0; i < report.levels.size(); ++i) {
    const CalibrationReport::Level& level = report.levels[i];
    levels += fmt::format("{}{{\"level\": {}, \"inside\": {}, \"width_p50_s\": {}}}",
                          i == 0 ? "" : ", ", CalibrationReport::kShares[i], level.inside,
                          judged(seconds_text(level.width.us())));
  }
  return fmt::format(
      "{{\n  \"trace\": {},\n  \"cluster\": {},\n  \"policy\": {},\n  \"every\": {},\n"
      "  \"drives\": {},\n  \"jobs\": {},\n  \"at_once\": {},\n  \"asked\": {},\n"
      "  \"inside\": {},\n  \"before\": {},\n  \"after\": {},\n  \"raw_inside\": {},\n"
      "  \"share\": {},\n  \"as_promised\": {},\n  \"wait_p50_s\": {},\n"
      "  \"width_p50_s\": {},\n  \"miss_p50_s\": {},\n  \"levels\": [{}],\n"
      "  \"slurm\": {{\"limit_s\": {}, \"miss_p50_s\": {}, \"before\": {}}}\n}}\n",
      in_json(trace.source), in_json(cluster_), in_json(policy_), options.every,
      options.start.most_drives, report.jobs, report.at_once, report.asked, report.inside,
      report.before, report.after, report.raw_inside, judged(fmt::format("{:.6f}", share)),
      judged(as_promised(report) ? "true" : "false"), judged(seconds_text(report.wait.us())),
      judged(seconds_text(report.width.us())), judged(seconds_text(report.miss.us())), levels,
      seconds_text(options.limit.us()), judged(seconds_text(report.limit_miss.us())),
      report.limit_before);
}

}  // namespace muster
