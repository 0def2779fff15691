#include "cli/study/layers_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/terminal/table.h"
#include "base/terminal/table_columns.h"
#include "base/types/saturate.h"
#include "engine/model/communication.h"
#include "study/layers/models.h"

namespace muster {

namespace {

constexpr double kMiB = 1024 * 1024;
constexpr std::size_t kAllShown = 20;  // If there are more layers, only the largest are shown.
constexpr std::size_t kMaxShown = 10;

// "3.1", "0.25": enough digits to add the numbers up.
std::string mib_number(std::int64_t bytes) {
  const double mib = static_cast<double>(bytes) / kMiB;
  return fmt::format("{:.{}f}", mib, mib < 0.995 && bytes > 0 ? 2 : 1);
}

std::string size_text(std::int64_t bytes) {
  const auto mib = static_cast<double>(bytes) / kMiB;
  if (mib >= 10 * 1024) return fmt::format("{:.1f} GiB", mib / 1024);
  if (mib >= 1) return fmt::format("{:.1f} MiB", mib);
  if (bytes >= 1 << 10) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{} B", bytes);
}

// Formats a number of multiply-adds: "15.5 G".
std::string amount_text(double amount) {
  constexpr std::pair<double, const char*> kUnits[] = {
      {1e15, " P"}, {1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}};
  for (const auto& [unit, name] : kUnits) {
    if (amount >= unit) return fmt::format("{:.3g}{}", amount / unit, name);
  }
  return fmt::format("{:.0f}", amount);
}

std::string ratio_text(double ratio) {
  return fmt::format("{:.{}f}x", ratio, ratio < 1.995 ? 2 : 1);
}

std::string seconds_shown(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.3g} ms", 1e3 * seconds)
                         : fmt::format("{:.3g} us", 1e6 * seconds);
}

double share_of(std::int64_t bytes, const LayerStudy& study) {
  if (study.advice.parameter_bytes == 0) return 0;
  return static_cast<double>(bytes) / static_cast<double>(study.advice.parameter_bytes);
}

std::string share_bar(double share, std::size_t cells) {
  constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (share <= 0) return "";
  const auto eighths =
      std::max<std::size_t>(1, static_cast<std::size_t>(share * static_cast<double>(8 * cells)));
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i) text += "█";
  return text + kEighths[eighths % 8];
}

// Returns the indices of the layers to show, in the order of the model.
std::vector<std::size_t> shown_layers(const std::vector<Layer>& layers) {
  std::vector<std::size_t> shown(layers.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  if (layers.size() <= kAllShown) return shown;
  std::stable_sort(shown.begin(), shown.end(), [&](std::size_t a, std::size_t b) {
    return layers[a].parameter_bytes() > layers[b].parameter_bytes();
  });
  shown.resize(kMaxShown);
  std::sort(shown.begin(), shown.end());
  return shown;
}

std::string skew_words(const LayerAdvice& advice) {
  const LayerSkew& skew = advice.skew;
  if (skew.standard_error <= 0) return "not skewed: too few layers to decide";
  std::string out = fmt::format("g1 {:.2f}, {:.1f} standard errors from normal; ", skew.g1,
                                skew.g1 / skew.standard_error);
  if (skew.is_skewed()) return out + "one layer dominates: skewed";
  if (!skew.one_dominates()) return out + "no layer dominates: not skewed";
  return out + "that may be chance: not skewed";
}

std::string cut_words(const LayerStudy& study) {
  const LayerAdvice& advice = study.advice;
  if (advice.shown == study.layers.size()) return "none";
  const std::string behind = cut_text(study.layers[advice.shown - 1].name, 24);
  if (!advice.cuts(study.layers)) {
    return fmt::format("none advised; for comparison, a cut after {}", behind);
  }
  return fmt::format("after {}: {} on the workers, {} on the parameter server", behind,
                     advice.shown, study.layers.size() - advice.shown);
}

std::string cut_traffic_words(const LayerAdvice& advice) {
  return fmt::format("{} + {} = {} MiB with the cut, parameters and activations: {} less",
                     mib_number(advice.cut.parameters), mib_number(advice.cut.activations),
                     mib_number(advice.cut.total()), ratio_text(advice.traffic_ratio()));
}

// Returns the figure with large tensors only, as published for the built-in models; empty if it is
// the same.
std::string published_words(const LayerStudy& study) {
  if (!find_layered_model(study.model)) return "";
  const std::string ours = ratio_text(study.advice.traffic_ratio());
  const std::string theirs =
      ratio_text(advise(as_listed(study.layers), study.training).traffic_ratio());
  return ours == theirs ? "" : theirs + " less with only tensors above 1 MiB, as published";
}

std::string step_words(const LayerStudy& study) {
  std::string out = fmt::format("{} data parallel", seconds_shown(study.advice.whole_seconds));
  if (study.advice.shown < study.layers.size()) {
    out += fmt::format(", {} with the cut", seconds_shown(study.advice.cut_seconds));
  }
  return out + ", limited by the parameter server's link and compute";
}

std::string setup_words(const TrainingSetup& training) {
  return fmt::format("{} workers, batch {} each, link {:.3g} GB/s, {} multiply-adds per second",
                     training.workers, training.batch, training.link_bytes_per_second / 1e9,
                     amount_text(training.macs_per_second));
}

}  // namespace

LayerStudy study_layers(std::string model, std::vector<Layer> layers,
                        const TrainingSetup& training) {
  LayerStudy study = {std::move(model), std::move(layers), training, {}};
  study.advice = advise(study.layers, training);
  Bandwidths bandwidths;
  bandwidths.between = bandwidths.inside = training.link_bytes_per_second;
  TrainingStep step;
  step.parameter_bytes = static_cast<double>(study.advice.whole.total());
  study.all_reduce_seconds = exchange_seconds(ExchangeMethod::kRing, step,
                                              {training.workers, training.workers, 0}, bandwidths);
  return study;
}

std::string layers_table(const LayerStudy& study, std::size_t width, ColorMode colors) {
  constexpr std::size_t kWidestType = 14;
  constexpr std::size_t kFigures = 44;  // Width of the columns with numbers.
  const std::vector<std::size_t> shown = shown_layers(study.layers);
  std::size_t type_width = 4;
  for (const std::size_t i : shown) {
    type_width = std::max(type_width, std::min(study.layers[i].type.size(), kWidestType));
  }
  const std::size_t room = width > kFigures + type_width ? width - kFigures - type_width : 0;
  const std::size_t name_width = std::clamp<std::size_t>(room, 12, 40);
  std::size_t longest = 5;
  for (const std::size_t i : shown) longest = std::max(longest, study.layers[i].name.size());
  const std::size_t bar_width =
      std::clamp<std::size_t>(room - std::min({room, longest, name_width}), 1, 20);

  Table table({left("layer"), left("type"), right("parameters"), right("output"), right("macs"),
               right("share"), left("")});
  const auto add = [&](std::string name, std::string type, std::int64_t bytes, std::string output,
                       double macs) {
    const double share = share_of(bytes, study);
    table.add_row({std::move(name), std::move(type), size_text(bytes), std::move(output),
                   amount_text(macs), fmt::format("{:.1f} %", 100 * share),
                   share_bar(share, bar_width)});
  };
  std::int64_t bytes_left = 0;
  double macs_left = 0;
  for (const Layer& layer : study.layers) {
    bytes_left = saturating_add(bytes_left, layer.parameter_bytes());
    macs_left += static_cast<double>(layer.macs);
  }
  for (const std::size_t i : shown) {
    const Layer& layer = study.layers[i];
    add(cut_text(layer.name, name_width), cut_text(layer.type, kWidestType),
        layer.parameter_bytes(), layer.may_cut_behind ? size_text(layer.output_bytes) : "no cut",
        static_cast<double>(layer.macs));
    bytes_left -= layer.parameter_bytes();
    macs_left -= static_cast<double>(layer.macs);
  }
  if (shown.size() < study.layers.size()) {
    add(fmt::format("and {} smaller", study.layers.size() - shown.size()), "",
        std::max<std::int64_t>(bytes_left, 0), "", std::max(macs_left, 0.0));
  }
  return table.render(colors, width);
}

std::string layers_figures(const LayerStudy& study) {
  const LayerAdvice& advice = study.advice;
  const Layer& largest = study.layers[advice.largest];
  std::string out;
  const auto line = [&](const char* what, const std::string& text) {
    out += fmt::format("{:<12}{}\n", what, text);
  };
  line("layers", advice.with_parameters == study.layers.size()
                     ? fmt::format("{}, all with parameters", study.layers.size())
                     : fmt::format("{}, {} of them with parameters", study.layers.size(),
                                   advice.with_parameters));
  line("parameters",
       fmt::format("{}; the largest layer, {}, has {:.1f} %", size_text(advice.parameter_bytes),
                   cut_text(largest.name, 40), 100 * advice.skew.largest_share));
  line("skew", skew_words(advice));
  line("cut", cut_words(study));
  line("traffic",
       mib_number(advice.whole.total()) + " MiB per step from each worker, data parallel");
  if (advice.shown < study.layers.size()) {
    line("", cut_traffic_words(advice));
    if (const std::string words = published_words(study); !words.empty()) line("", words);
  }
  line("step", step_words(study));
  line("", seconds_shown(study.all_reduce_seconds) +
               " data parallel with an all-reduce instead of a parameter server");
  line("setup", setup_words(study.training));
  return out;
}

nlohmann::ordered_json layers_json(const LayerStudy& study) {
  const LayerAdvice& advice = study.advice;
  const Layer& largest = study.layers[advice.largest];
  nlohmann::ordered_json behind = nullptr;
  if (advice.shown < study.layers.size()) behind = study.layers[advice.shown - 1].name;
  return {
      {"model", study.model},
      {"layer_count", study.layers.size()},
      {"layers_with_parameters", advice.with_parameters},
      {"parameter_bytes", advice.parameter_bytes},
      {"largest_layer", largest.name},
      {"largest_share", advice.skew.largest_share},
      {"g1", advice.skew.g1},
      {"standard_error", advice.skew.standard_error},
      {"skewed", advice.skew.is_skewed()},
      {"profile_skew", profile_skew(advice)},
      {"cut_advised", advice.cuts(study.layers)},
      {"cut_behind", behind},
      {"layers_on_workers", advice.shown},
      {"data_parallel_bytes", advice.whole.total()},
      {"cut_parameter_bytes", advice.cut.parameters},
      {"cut_activation_bytes", advice.cut.activations},
      {"cut_bytes", advice.cut.total()},
      {"times_less", advice.traffic_ratio()},
      {"data_parallel_step_s", advice.whole_seconds},
      {"cut_step_s", advice.cut_seconds},
      {"all_reduce_step_s", study.all_reduce_seconds},
      {"workers", study.training.workers},
      {"batch", study.training.batch},
      {"link_bytes_per_s", study.training.link_bytes_per_second},
      {"macs_per_s", study.training.macs_per_second},
      {"advice", advice_sentence(study.model, study.layers, advice)},
  };
}

nlohmann::ordered_json layer_list_json(const LayerStudy& study) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Layer& layer : study.layers) {
    nlohmann::ordered_json output = nullptr;
    if (layer.may_cut_behind) output = layer.output_bytes;
    list.push_back({{"name", layer.name},
                    {"type", layer.type},
                    {"parameter_bytes", layer.parameter_bytes()},
                    {"output_bytes", output},
                    {"macs", layer.macs}});
  }
  return list;
}

std::string models_table(std::span<const LayerStudy> studies, ColorMode colors) {
  Table table({left("model"), right("layers"), right("MiB/step"), right("largest"), left("skewed"),
               left("cut after"), right("with cut"), right("less"), left("advised")});
  for (const LayerStudy& study : studies) {
    const LayerAdvice& advice = study.advice;
    const bool has_cut = advice.shown < study.layers.size();
    table.add_row({study.model, std::to_string(study.layers.size()),
                   mib_number(advice.whole.total()),
                   fmt::format("{:.1f} %", 100 * advice.skew.largest_share),
                   advice.skew.is_skewed() ? "yes" : "no",
                   has_cut ? cut_text(study.layers[advice.shown - 1].name, 20) : "-",
                   mib_number(advice.cut.total()), ratio_text(advice.traffic_ratio()),
                   advice.cuts(study.layers) ? "yes" : "no"});
  }
  return table.render(colors);
}

}  // namespace muster
