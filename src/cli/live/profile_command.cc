// muster profile: measures in a few short runs how a job's speed depends on CPU and memory.

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <ostream>

#include "api/client/manager_address.h"
#include "base/file/atomic_file.h"
#include "base/file/document.h"
#include "base/terminal/progress.h"
#include "base/terminal/table.h"
#include "base/terminal/table_columns.h"
#include "base/text/text.h"
#include "cli/live/live_session.h"
#include "cli/live/live_verbs.h"
#include "cli/live/profile_run.h"
#include "cli/live/submit_request.h"
#include "live/config/learned_profiles.h"
#include "study/page/curve.h"

namespace muster {
namespace {

using Json = nlohmann::json;

double cpus_of(std::int64_t milli) { return static_cast<double>(milli) / 1000; }

CurvePlot plot_of(const ProfileResult& result) {
  const SpeedCurve& curve = result.profile.curve;
  CurvePlot plot;
  plot.title = result.profile.name + ": speed by CPUs";
  plot.x_label = result.profile.gpus == 1 ? "CPUs" : "CPUs of the whole job";
  plot.y_label = "steps per second";
  plot.line.push_back({0, 0});
  for (const CurvePoint& point : curve.points()) {
    plot.points.push_back({cpus_of(point.cpu_milli), point.rate, point.rate * point.error});
    plot.line.push_back({cpus_of(point.cpu_milli), curve.at(point.cpu_milli)});
  }
  plot.marks.push_back(
      {cpus_of(curve.need()), fmt::format("need: {:.3g} CPUs", cpus_of(curve.need()))});
  return plot;
}

std::string cost_words(const ProfileResult& result) {
  const Measured& measured = result.measured;
  const GridCost grid = grid_cost(result.profile, measured.time);
  const double took = measured.time.in_seconds();
  return fmt::format(
      "cost      {:.0f} s at {} CPU limits; the full grid of {} would take {:.0f} s ({:.1f}x)\n",
      took, measured.curve.points().size(),
      grid.points > 24 ? "24 CPU and 11 memory limits" : "24 CPU limits", grid.time.in_seconds(),
      took > 0 ? grid.time.in_seconds() / took : 0);
}

std::string need_lines(const ProfileResult& result) {
  const SpeedCurve& curve = result.profile.curve;
  const double gpus = result.profile.gpus;
  const double need = cpus_of(curve.need()) / gpus;
  const auto fair = static_cast<std::int64_t>(result.fair_cpus * 1000 * gpus);
  std::string out;
  if (curve.is_flat()) {
    out = fmt::format("needs     {:.3g} CPU{} per GPU; more do not increase the speed\n", need,
                      need == 1 ? "" : "s");
  } else {
    out = fmt::format(
        "needs     at least {:.3g} CPUs per GPU: the speed still increased at this limit\n", need);
  }
  out += fmt::format(
      "speed     {:.4g} steps/s with these; {:.4g} ({:.0f}%) with {:.3g} CPUs per GPU, the "
      "proportional share on this machine\n",
      curve.best(), curve.at(fair), 100 * curve.at(fair) / curve.best(), result.fair_cpus);
  if (result.profile.data) {
    const double step = 1 / curve.best();
    const double gb =
        static_cast<double>(least_full_speed_mem_mib(step, *result.profile.data)) / 1024 / gpus;
    out += fmt::format("memory    {:.3g} GB per GPU, {:.3g} of them for the process itself\n", gb,
                       result.profile.data->base_mem_mib / 1024 / gpus);
  }
  return out + cost_words(result);
}

std::string points_table(const SpeedCurve& curve) {
  Table table({right("CPUs"), right("steps/s"), right("error"), right("of maximum")});
  for (const CurvePoint& point : curve.points()) {
    table.add_row({fmt::format("{:.2f}", cpus_of(point.cpu_milli)),
                   fmt::format("{:.4g}", point.rate), fmt::format("{:.1f}%", 100 * point.error),
                   fmt::format("{:.0f}%", 100 * point.rate / curve.best())});
  }
  return table.render(color_mode_for(1));
}

Json measured_json(const ProfileResult& result, const JobRequest& request) {
  LearnedProfile learned;
  learned.name = request.name;
  learned.measured = result.profile;
  learned.time = result.measured.time;
  Json out = Json::parse(learned_profile_json(learned));
  for (const char* key : {"key", "user", "unix_s", "reach"}) out.erase(key);
  out["command"] = request.command;
  return out;
}

// Sends the profile to the manager. Returns the result as text; empty if there is no manager.
std::string hand_over(const LiveOptions& options, const Json& measured) {
  const Result<ManagerAddress> where = find_manager(options.server, process_environment());
  if (!where.ok()) return "";
  Result<ApiClient> client = ApiClient::connect(where.value());
  if (!client.ok()) return "";
  const Result<Json> answer =
      object_of(client.value().post("/v1/profiles", json_line(measured), {}));
  return answer.ok() ? "the manager uses it from now on"
                     : "the manager rejected it: " + answer.error().message;
}

MaybeError fill_order(const ProfileOptions& options, ProfileOrder& order) {
  if (!options.most_cpus.empty()) {
    const Result<CpuAmount> most = parse_cpus(options.most_cpus);
    if (!most.ok()) return Error{"--most-cpus: " + most.error().message};
    if (most.value().milli < 20) return Error{"--most-cpus: must be at least 0.02"};
    order.most_cpus = most.value();
  }
  if (!options.dataset_size.empty()) {
    const Result<MemAmount> size = parse_mem(options.dataset_size);
    if (!size.ok()) return Error{"--dataset-size: " + size.error().message};
    order.dataset_size = size.value();
  }
  order.dataset = options.dataset;
  order.epoch_steps = static_cast<std::int64_t>(options.epoch_steps);
  order.budget = options.budget;
  return std::nullopt;
}

std::string out_path(const ProfileOptions& options, const JobRequest& request) {
  return options.out.empty() ? request.name + ".profile.yaml" : options.out;
}

// Checks that the output can be written, before minutes are spent on the measurement.
MaybeError refuse_out(const std::string& path) {
  if (std::filesystem::path(path).extension() == ".svg") {
    return Error{"--out: must not end in .svg, which is the name of the plot: " + in_quotes(path)};
  }
  std::error_code code;
  const bool there = std::filesystem::exists(path, code);
  const std::ofstream probe(path, std::ios::binary | std::ios::app);
  if (!probe) return Error{shown_path(path) + ": cannot be written"};
  if (!there) std::filesystem::remove(path, code);
  return std::nullopt;
}

int show_result(const ProfileResult& result, const JobRequest& request, const LiveOptions& options,
                Streams streams) {
  const ProfileOptions& profile = options.profile;
  const std::string path = out_path(profile, request);
  const std::string svg = std::filesystem::path(path).replace_extension(".svg").string();
  MeasuredProfile written = result.profile;
  written.remarks = {"Measured by muster profile at " +
                     std::to_string(result.measured.curve.points().size()) +
                     " CPU limits; docs/reference/formats.md describes the keys."};
  for (const std::string& remark : result.remarks) written.remarks.push_back(remark);
  const Json measured = measured_json(result, request);
  const std::string kept = profile.alone ? "" : hand_over(options, measured);
  const Result<std::string> yaml = profile_yaml(written);
  if (!yaml.ok())
    return complain(streams,
                    Error{"the measured values are not a valid profile: " + yaml.error().message,
                          ErrorCode::kCorrupt});
  for (const MaybeError& refusal :
       {write_atomically(path, yaml.value()), write_atomically(svg, curve_svg(plot_of(result)))}) {
    if (refusal) return complain(streams, *refusal);
  }
  if (options.json) {
    Json out = measured;
    const GridCost grid = grid_cost(result.profile, result.measured.time);
    out["need_cpus"] = cpus_of(result.profile.curve.need()) / result.profile.gpus;
    out["seconds"] = result.measured.time.in_seconds();
    out["grid_seconds"] = grid.time.in_seconds();
    out["profile"] = path;
    out["svg"] = svg;
    out["remarks"] = result.remarks;
    streams.out << json_line(out) << '\n';
    return kExitDone;
  }
  streams.out << curve_text(plot_of(result), color_mode_for(1)) << '\n'
              << points_table(result.profile.curve) << '\n'
              << need_lines(result);
  for (const std::string& remark : result.remarks) streams.out << "          " << remark << '\n';
  streams.out << "written   " << path << " and " << svg << (kept.empty() ? "" : "; " + kept)
              << '\n';
  return kExitDone;
}

int list_profiles(const LiveOptions& options, Streams streams) {
  return with_manager(options, streams, [&](ApiClient& client) {
    return show(client, "/v1/profiles", options, streams, [](const Json& answer) {
      Table table({left("USER"), left("NAME"), right("CPUS/GPU"), right("POINTS"), left("")});
      for (const Json& each : list_at(answer, "profiles")) {
        table.add_row({text_at(each, "user"), text_at(each, "name"),
                       fmt::format("{:.3g}", number_at(each, "need_cpus")),
                       std::to_string(list_at(each, "points").size()), text_at(each, "words")});
      }
      return table.row_count() == 0 ? std::string("no profiles yet\n")
                                    : table.render(color_mode_for(1));
    });
  });
}

}  // namespace

int run_profile(const LiveOptions& options, Streams streams) {
  if (options.profile.list) return list_profiles(options, streams);
  const Result<SubmitRequest> made = make_request_here(options.submit);
  if (!made.ok()) return complain(streams, made.error());
  for (const std::string& note : made.value().notes) streams.err << "note: " << note << '\n';
  ProfileOrder order;
  order.request = made.value().request;
  if (const MaybeError refusal = fill_order(options.profile, order)) {
    return complain(streams, *refusal);
  }
  if (const MaybeError refusal = refuse_out(out_path(options.profile, order.request))) {
    return complain(streams, *refusal);
  }
  order.shim = find_shim();
  const Result<std::string> home = manager_home(process_environment());
  if (home.ok()) order.notes = home.value() + "/bandwidth";
  catch_interrupts();
  order.interrupted = interrupted;
  ProgressBar bar("profiling, at most " + std::to_string(order.budget.us() / 1'000'000) + " s");
  order.watch = [&](const Session& session) {
    bar.update(static_cast<std::uint64_t>(session.measured().in_seconds()),
               static_cast<std::uint64_t>(order.budget.in_seconds()));
  };
  const Result<ProfileResult> result = run_profile_order(order);
  bar.finish();
  if (interrupted()) return kExitInterrupted;
  if (!result.ok()) return complain(streams, result.error());
  return show_result(result.value(), order.request, options, streams);
}

}  // namespace muster
