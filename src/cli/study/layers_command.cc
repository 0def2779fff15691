#include "cli/study/layers_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <ostream>
#include <span>
#include <utility>

#include "base/file/atomic_file.h"
#include "base/file/document.h"
#include "base/file/text_file.h"
#include "base/terminal/terminal.h"
#include "base/text/text.h"
#include "cli/study/layers_communication.h"
#include "study/layers/advice.h"
#include "study/layers/models.h"
#include "workload/input/profile_skew.h"

namespace muster {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxWorkers = 1'000'000;
constexpr std::int64_t kMaxSpreadNodes = 1'000'000;
constexpr std::int64_t kMaxGpusOfNode = 1'000;
constexpr std::int64_t kLargestBatch = 1'000'000'000;
constexpr std::size_t kWidthOfFiles = 100;  // If the output is not a terminal.

struct Unit {
  std::string_view name;
  double value;
};

constexpr Unit kLinkUnits[] = {{"Gb/s", 1e9 / 8}, {"Gbit/s", 1e9 / 8}, {"GB/s", 1e9},
                               {"Mb/s", 1e6 / 8}, {"Mbit/s", 1e6 / 8}, {"MB/s", 1e6}};
constexpr Unit kComputeUnits[] = {{"G", 1e9}, {"T", 1e12}, {"P", 1e15}};

// Parses "56Gb/s" or "56 Gb/s". `what` begins the error message: the option and valid examples.
Result<double> parse_rate(const std::string& text, std::span<const Unit> units,
                          std::string_view what) {
  constexpr double kFastest = 1e18;
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    const std::string_view digits =
        std::string_view(text).substr(0, text.size() - unit.name.size());
    const Result<double> number = parse_number(trim(digits));
    if (!number.ok()) continue;
    const double rate = number.value() * unit.value;
    if (rate >= 1 && rate <= kFastest) return rate;
  }
  return Error{fmt::format("{}: {}", what, in_quotes(text))};
}

std::string refuse_count(const std::string& text, std::int64_t most) {
  const Result<std::int64_t> number = parse_int(text);
  if (!number.ok()) return number.error().message;
  if (number.value() >= 1 && number.value() <= most) return "";
  return fmt::format("not between 1 and {}: {}", most, in_quotes(text));
}

}  // namespace

void LayersCommand::add_to(Command app) {
  command_ = app.add_subcommand("layers", "advise where to cut a model with layers of uneven size");
  command_.add_option("MODEL", model_,
                      "a built-in model, or a table of layers (CSV or JSON) (default: list the "
                      "built-in models)");
  const Option workers =
      command_.add_option("--workers", workers_, "number of workers that train it (default: 8)")
          .check([](const auto& text) { return refuse_count(text, kMaxWorkers); });
  command_
      .add_option("--batch", batch_,
                  "samples per step on each worker (default: 32; with --communication: usual for "
                  "the model)")
      .check([](const auto& text) { return refuse_count(text, kLargestBatch); });
  command_.add_option("--link", link_,
                      "network bandwidth of the parameter server or of a node: 56Gb/s (bits) or "
                      "7GB/s (bytes) (default: 56Gb/s)");
  command_.add_option("--compute", compute_,
                      "multiply-adds per second of the parameter server or of a GPU: 3T, 500G "
                      "(default: 3T)");
  command_.add_flag("--all", all_, "compare all built-in models");
  add_communication(workers);
  command_.add_flag("--listed", listed_,
                    "count only tensors above 1 MiB, each rounded to 0.1 MiB, as published figures "
                    "do");
  const Option profile = command_.add_option(
      "--profile", profile_, "YAML file of profiles to write the model's skew into");
  command_.add_option("--name", name_, "name of the profile there (default: that of the model)")
      .needs(profile);
  command_.add_flag("--json", json_, "print the result as JSON");
  command_.footer(
      "Exit status: 0 success, 1 the profile could not be written, 2 bad input.\n"
      "Example: is it worth keeping VGG-16's large layers in one place on a slow network?\n"
      "  muster layers vgg16 --workers 16 --link 10Gb/s\n"
      "Example: make the placement 'skew' keep jobs of this model together:\n"
      "  muster layers mine.csv --profile profiles.yaml --name mine\n"
      "Example: how much time do 32 workers spend on communication?\n"
      "  muster layers --all --communication --nodes 8 --gpus 4 --link 56Gb/s");
}

void LayersCommand::add_communication(Option workers) {
  const Option communication =
      command_
          .add_flag("--communication", communication_,
                    "print the time per step that workers on several nodes spend on communication")
          .excludes(workers);
  const auto count = [&](const char* name, std::int64_t& target, const char* what,
                         std::int64_t most) {
    command_.add_option(name, target, what)
        .check([most](const auto& text) { return refuse_count(text, most); })
        .needs(communication);
  };
  count("--nodes", nodes_, "with --communication: number of nodes (default: 8)", kMaxSpreadNodes);
  count("--gpus", gpus_, "with --communication: workers per node, one per GPU (default: 4)",
        kMaxGpusOfNode);
  count("--servers", servers_,
        "with --communication: number of parameter servers (default: one per worker)", kMaxWorkers);
}

int LayersCommand::run(Streams streams) {
  if (all_ && !model_.empty()) {
    return complain(
        streams, "--all: compares the built-in models; remove the argument " + in_quotes(model_));
  }
  if (!profile_.empty() && model_.empty()) {
    return complain(streams, "--profile: requires MODEL; 'muster layers' lists the built-in ones");
  }
  if (!profile_.empty() && communication_) {
    return complain(streams, "--profile: cannot be combined with --communication");
  }
  if (model_.empty()) return list_models(streams);
  Result<LayerTable> table = load();
  if (!table.ok()) return complain(streams, table.error());
  if (listed_) table.value().layers = as_listed(std::move(table.value().layers));
  return show(std::move(table).value(), streams);
}

Result<TrainingSetup> LayersCommand::setup(std::int64_t usual_batch) const {
  TrainingSetup training;
  training.workers = workers_;
  training.batch = batch_ > 0 ? batch_ : usual_batch;
  if (!link_.empty()) {
    const Result<double> link =
        parse_rate(link_, kLinkUnits, "--link: must be a bandwidth such as 56Gb/s or 7GB/s");
    if (!link.ok()) return link.error();
    training.link_bytes_per_second = link.value();
  }
  if (!compute_.empty()) {
    const Result<double> compute = parse_rate(
        compute_, kComputeUnits, "--compute: must be multiply-adds per second such as 3T or 500G");
    if (!compute.ok()) return compute.error();
    training.macs_per_second = compute.value();
  }
  return training;
}

Result<std::vector<LayerStudy>> LayersCommand::study_all() const {
  std::vector<LayerStudy> studies;
  for (const LayeredModel& model : kLayeredModels) {
    const Result<TrainingSetup> training = communication_ ? setup(model.usual_batch) : setup();
    if (!training.ok()) return training.error();
    std::vector<Layer> layers = model.layers();
    if (listed_) layers = as_listed(std::move(layers));
    studies.push_back(study_layers(std::string(model.name), std::move(layers), training.value()));
  }
  return studies;
}

int LayersCommand::list_models(Streams streams) const {
  const Result<std::vector<LayerStudy>> all = study_all();
  if (!all.ok()) return complain(streams, all.error());
  const std::vector<LayerStudy>& studies = all.value();
  if (communication_) return show_communication(studies, streams);
  if (json_) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const LayerStudy& study : studies) list.push_back(layers_json(study));
    streams.out << list.dump(2) << '\n';
  } else if (all_) {
    streams.out << models_table(studies, color_mode_for(1));
  } else {
    streams.out << "Built-in models, with their parameters:\n";
    for (const LayerStudy& study : studies) {
      streams.out << fmt::format("  {:<12}{:>6.1f} MiB in {} layers\n", study.model,
                                 static_cast<double>(study.advice.parameter_bytes) / (1 << 20),
                                 study.layers.size());
    }
    streams.out << "See 'muster layers vgg16' for one model, 'muster layers --all' for all, and "
                   "'muster layers FILE' for your own.\n";
  }
  return kExitDone;
}

int LayersCommand::show_communication(std::span<const LayerStudy> studies, Streams streams) const {
  const WorkerSpread spread = {nodes_ * gpus_, nodes_, servers_};
  streams.out << (json_ ? communication_json(studies, spread).dump(2) + "\n"
                        : communication_table(studies, spread, color_mode_for(1)));
  return kExitDone;
}

Result<LayerTable> LayersCommand::load() const {
  if (const auto model = find_layered_model(model_)) {
    return LayerTable{std::string(model->name), model->layers()};
  }
  std::error_code status;
  const bool is_word = model_.find_first_of("./") == std::string::npos;
  if (is_word && !fs::exists(model_, status)) {
    std::vector<std::string_view> names;
    for (const LayeredModel& model : kLayeredModels) names.push_back(model.name);
    return Error{"unknown model " + in_quotes(model_) + suggestion(model_, names)};
  }
  Result<LayerTable> table = read_layers(model_);
  if (table.ok()) return table;
  return Error{table.error().message + "; no change: the model stays data parallel"};
}

std::string LayersCommand::profile_of(const LayerStudy& study) const {
  return name_.empty() ? study.model : name_;
}

Result<std::string> LayersCommand::edit_profile(const LayerStudy& study) const {
  std::string text;
  std::error_code status;
  if (fs::exists(profile_, status)) {
    Result<std::string> there = read_text_file(profile_);
    if (!there.ok()) return there.error();
    text = std::move(there).value();
  }
  return with_skew(text, shown_path(profile_), profile_of(study), profile_skew(study.advice));
}

MaybeError LayersCommand::write_profile(const std::string& text) const {
  std::error_code status;
  const bool is_new = !fs::exists(profile_, status);
  // Replaces the file that a symbolic link points to, not the link, and keeps its permissions.
  const std::string path = is_new ? profile_ : fs::canonical(profile_, status).string();
  const fs::perms mode = fs::status(path, status).permissions();
  if (MaybeError refusal = write_atomically(path, text)) return refusal;
  if (!is_new) fs::permissions(path, mode, status);
  return std::nullopt;
}

int LayersCommand::show(LayerTable table, Streams streams) const {
  const std::optional<LayeredModel> built_in = find_layered_model(table.model);
  const Result<TrainingSetup> training =
      communication_ && built_in ? setup(built_in->usual_batch) : setup();
  if (!training.ok()) return complain(streams, training.error());
  const LayerStudy study =
      study_layers(std::move(table.model), std::move(table.layers), training.value());
  if (communication_) return show_communication({&study, 1}, streams);
  if (!profile_.empty()) {
    const Result<std::string> text = edit_profile(study);
    if (!text.ok()) return complain(streams, text.error().message + "; the file is unchanged");
    if (const MaybeError refusal = write_profile(text.value())) {
      return complain(streams, *refusal);
    }
  }
  const double skew = profile_skew(study.advice);
  if (json_) {
    nlohmann::ordered_json out = layers_json(study);
    if (!profile_.empty()) {
      out["profile"] = {{"file", profile_}, {"name", profile_of(study)}, {"skew", skew}};
    }
    out["layers"] = layer_list_json(study);
    streams.out << out.dump(2) << '\n';
    return kExitDone;
  }
  const std::size_t width =
      is_terminal(1) ? static_cast<std::size_t>(terminal_width(1)) : kWidthOfFiles;
  streams.out << study.model << '\n' << layers_table(study, width, color_mode_for(1)) << '\n';
  streams.out << layers_figures(study);
  if (!profile_.empty()) {
    streams.out << fmt::format(
        "profile     skew {} written to '{}' of {}; use it with --profiles\n", skew,
        profile_of(study), shown_path(profile_));
  }
  streams.out << '\n' << advice_sentence(study.model, study.layers, study.advice) << '\n';
  return kExitDone;
}

}  // namespace muster
