#include "study/reproduce/experiment.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/file/document.h"
#include "base/file/item_reader.h"
#include "base/text/text.h"
#include "base/types/check.h"
#include "study/reproduce/embedded.h"
#include "study/reproduce/expression.h"

namespace muster {

namespace {

constexpr Bounds kAnyNumber = {-1e12, 1e12};

// The commands that an experiment may run. They read files, and write only what options name.
constexpr std::array<std::string_view, 6> kVerbs = {"analyze", "calibrate", "layers",
                                                    "sim",     "sweep",     "trace"};
constexpr std::string_view kKeyChars = "abcdefghijklmnopqrstuvwxyz0123456789-";
constexpr std::string_view kRunChars =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
constexpr std::string_view kValueChars =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
constexpr std::string_view kCommandChars =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-+,:=/@% ";
constexpr std::size_t kMaxCommands = 10'000;
constexpr std::size_t kMaxCommandBytes = 10'000;

// Reads one list of experiments. Errors are collected by `reader_`, which keeps the first.
class ExperimentReader {
 public:
  explicit ExperimentReader(const std::string& file) : reader_(file) {}

  Result<std::vector<Experiment>> read(const Item& root) {
    std::vector<Experiment> experiments;
    std::set<std::string> names;
    reader_.expect_list(root);
    for (const Item& item : root.items) {
      experiments.push_back(read_experiment(item));
      if (reader_.failed()) return reader_.error();
      if (!names.insert(experiments.back().name).second) reader_.refuse(item, "duplicate name");
    }
    if (reader_.failed()) return reader_.error();
    return experiments;
  }

 private:
  static constexpr std::array<std::string_view, 12> kKeys = {"name",  "paper", "title",  "about",
                                                             "needs", "quick", "files",  "prepare",
                                                             "runs",  "over",  "claims", "plots"};
  static constexpr std::array<std::string_view, 13> kClaimKeys = {
      "claim",         "source",   "unit",    "decimals", "published", "value", "within",
      "within_points", "at_least", "at_most", "above",    "below",     "why"};
  static constexpr std::array<std::string_view, 7> kPlotKeys = {
      "key", "title", "x_label", "y_label", "kind", "categories", "series"};

  Experiment read_experiment(const Item& item) {
    Experiment experiment;
    reader_.allow_keys(item, kKeys);
    experiment.name = word(reader_.member(item, "name"), kKeyChars);
    experiment.paper = word(reader_.member(item, "paper"), kKeyChars);
    experiment.title = reader_.line(reader_.member(item, "title"));
    experiment.about = lines_or_none(item, "about");
    experiment.needs = lines_or_none(item, "needs");
    if (const Item* quick = item.find("quick")) experiment.quick = reader_.flag(*quick);
    if (const Item* files = item.find("files")) read_files(*files, experiment);
    read_commands(item, experiment);
    for (const Item& claim : reader_.list(item, "claims").items) {
      experiment.claims.push_back(read_claim(claim));
    }
    if (const Item* plots = item.find("plots")) read_plots(*plots, experiment);
    return experiment;
  }

  void read_commands(const Item& item, Experiment& experiment) {
    if (const Item* over = item.find("over")) read_over(*over, experiment);
    if (const Item* prepare = item.find("prepare")) {
      experiment.prepare = lines_of(*prepare);
      for (const Item& command : prepare->items) check_command(command);
    }
    const Item& runs = reader_.member(item, "runs");
    for (const Item& run : runs.items) {
      check_chars(run, run.key, kRunChars);
      experiment.runs.emplace_back(run.key, reader_.line(run));
      check_command(run);
    }
    if (runs.kind != Item::Kind::kMap || runs.items.empty()) {
      reader_.refuse(runs, "expected names and commands of runs");
    }
    const std::size_t commands =
        (experiment.prepare.size() + experiment.runs.size()) * (experiment.over.size() + 1);
    if (commands > kMaxCommands) reader_.refuse(item, "has more than 10,000 commands");
    if (reader_.failed()) return;
    runs_.clear();
    for (const auto& [name, command] : experiment.runs) {
      for (const auto& [run, filled] : expanded(experiment, name, command)) runs_.insert(run);
    }
  }

  // Values become parts of names of files and runs.
  void read_over(const Item& over, Experiment& experiment) {
    experiment.over = lines_of(over);
    std::set<std::string> suffixes;
    for (const Item& value : over.items) {
      check_chars(value, value.text, kValueChars);
      if (value.text.starts_with('.')) reader_.refuse(value, "a value must not begin with a dot");
      if (!suffixes.insert(run_suffix(value.text)).second) reader_.refuse(value, "duplicate value");
    }
  }

  // Names become names of files and keys of a page.
  void check_chars(const Item& item, std::string_view text, std::string_view allowed) {
    if (text.empty() || text.size() > kMaxWord ||
        text.find_first_not_of(allowed) != std::string_view::npos) {
      reader_.refuse(item, "must have 1 to 64 characters of " + std::string(allowed));
    }
  }
  std::string word(const Item& item, std::string_view allowed) {
    std::string text = reader_.line(item);
    check_chars(item, text, allowed);
    return text;
  }
  void check_command(const Item& item) {
    const std::string_view command = item.text;
    if (command.size() > kMaxCommandBytes) reader_.refuse(item, "longer than 10,000 bytes");
    if (reader_.failed()) return;
    const std::string_view verb = command.substr(0, command.find(' '));
    if (std::find(kVerbs.begin(), kVerbs.end(), verb) == kVerbs.end()) {
      reader_.refuse(item, "unknown command " + in_quotes(verb) + suggestion(verb, kVerbs));
    }
    // The page shows the command without quotes, as a line for a shell.
    std::string plain(command);
    for (const char* const name : {"dir", "data", "x"}) plain = substituted(plain, name, "");
    const std::size_t bad = plain.find_first_not_of(kCommandChars);
    if (bad != std::string::npos) {
      reader_.refuse(item, "must not contain " + in_quotes(plain.substr(bad, 1)));
    }
    check_output(item, verb, split(command, ' '));
  }
  // A command writes only to its directory. The other commands read --outcomes.
  void check_output(const Item& item, std::string_view verb,
                    const std::vector<std::string_view>& words) {
    bool has_out = false;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::size_t equals = words[i].find('=');
      const std::string_view option = words[i].substr(0, equals);
      const bool writes = option == "--out" || (option == "--outcomes" && verb == "trace") ||
                          (option == "--profile" && verb == "layers");
      if (option == "--on") reader_.refuse(item, "--on: experiments run on this machine only");
      if (!writes) continue;
      has_out |= option == "--out";
      std::string_view path;
      if (equals != std::string_view::npos) {
        path = words[i].substr(equals + 1);
      } else {
        while (path.empty() && ++i < words.size()) path = words[i];
      }
      if (path.starts_with("{dir}/") && path.find("..") == std::string_view::npos) continue;
      reader_.refuse(item, std::string(option) + ": must be a path in {dir}/, without '..'");
    }
    if (verb == "sweep" && !has_out) reader_.refuse(item, "sweep: requires --out {dir}/NAME");
  }

  std::vector<std::string> lines_of(const Item& list) {
    std::vector<std::string> lines;
    reader_.expect_list(list);
    for (const Item& line : list.items) lines.push_back(reader_.line(line));
    return lines;
  }
  std::vector<std::string> lines_or_none(const Item& map, std::string_view key) {
    const Item* list = map.find(key);
    return list == nullptr ? std::vector<std::string>() : lines_of(*list);
  }

  // The commands that are shown create the files, with each line in single quotes.
  void read_files(const Item& files, Experiment& experiment) {
    if (files.kind != Item::Kind::kMap) reader_.refuse(files, "expected names and lines of files");
    for (const Item& file : files.items) {
      check_chars(file, file.key, kValueChars);
      if (file.key.starts_with('.') || file.key.starts_with('-')) {
        reader_.refuse(file, "a name must begin with a letter or digit");
      }
      if (file.key.ends_with(".json") || file.key.ends_with(".log")) {
        reader_.refuse(file, "names with .json and .log are for the output of commands");
      }
      experiment.files.emplace_back(file.key, lines_of(file));
      for (const std::string& line : experiment.files.back().second) {
        if (line.find('\'') != std::string::npos) reader_.refuse(file, "must not contain '");
        if (line.size() > kMaxFileLine) reader_.refuse(file, "has a line above 1,000 bytes");
      }
      if (experiment.files.back().second.size() > kMaxFileLines) {
        reader_.refuse(file, "has more than 1,000 lines; use 'trace generate' or a data file");
      }
    }
  }

  std::optional<double> number_or_none(const Item& map, std::string_view key) {
    const Item* item = map.find(key);
    if (item == nullptr) return std::nullopt;
    return reader_.number(*item, kAnyNumber);
  }

  std::string line_or_none(const Item& map, std::string_view key) {
    const Item* item = map.find(key);
    return item == nullptr ? "" : reader_.line(*item);
  }

  // `x` is the name of a value of `over`; empty: the expression must not contain {x}.
  std::string expression(const Item& item, const std::string& x = "") {
    std::string text = reader_.line(item);
    if (reader_.failed()) return text;
    const std::string filled = x.empty() ? text : substituted(text, "x", x);
    if (const MaybeError wrong = check_expression(filled, runs_)) {
      reader_.refuse(item, wrong->message);
    }
    return text;
  }

  Claim read_claim(const Item& item) {
    Claim claim;
    reader_.allow_keys(item, kClaimKeys);
    claim.text = reader_.line(reader_.member(item, "claim"));
    claim.source = reader_.line(reader_.member(item, "source"));
    claim.unit = line_or_none(item, "unit");
    claim.decimals = static_cast<int>(reader_.whole_or(item, "decimals", {0, 6}, 2));
    claim.published = number_or_none(item, "published");
    claim.value = expression(reader_.member(item, "value"));
    claim.within = number_or_none(item, "within");
    claim.within_points = number_or_none(item, "within_points");
    claim.at_least = number_or_none(item, "at_least");
    claim.at_most = number_or_none(item, "at_most");
    claim.above = number_or_none(item, "above");
    claim.below = number_or_none(item, "below");
    claim.why = line_or_none(item, "why");
    if (!claim.within && !claim.within_points && !claim.at_least && !claim.at_most) {
      reader_.refuse(item, "a claim needs within, within_points, at_least or at_most");
    }
    if ((claim.within || claim.within_points) && !claim.published) {
      reader_.refuse(item, "within and within_points require published");
    }
    return claim;
  }

  void check_line_plot(const Item& item, const ExperimentPlot& plot, const Experiment& experiment) {
    if (experiment.over.empty()) reader_.refuse(item, "a line plot requires 'over'");
    if (!plot.categories.empty()) reader_.refuse(item, "categories: only for 'kind: bars'");
    double last = -kAnyNumber.high;
    for (const std::string& x : experiment.over) {
      const Result<double> number = parse_number(x);
      if (!number.ok() || number.value() <= last) {
        reader_.refuse(item, "a line plot requires ascending numbers in 'over'");
        return;
      }
      last = number.value();
    }
  }

  void read_plots(const Item& list, Experiment& experiment) {
    reader_.expect_list(list);
    for (const Item& item : list.items) {
      ExperimentPlot plot;
      reader_.allow_keys(item, kPlotKeys);
      plot.key = word(reader_.member(item, "key"), kKeyChars);
      if (plot.key.starts_with("claims-") || !plot_keys_.insert(plot.key).second) {
        reader_.refuse(item, "key: used by another plot or table");
      }
      plot.title = reader_.line(reader_.member(item, "title"));
      plot.x_label = line_or_none(item, "x_label");
      plot.y_label = reader_.line(reader_.member(item, "y_label"));
      plot.categories = lines_or_none(item, "categories");
      plot.bars = line_or_none(item, "kind") == "bars";
      const std::size_t wanted = plot.bars ? plot.categories.size() : 1;
      if (!plot.bars) check_line_plot(item, plot, experiment);
      if (reader_.failed()) return;
      const std::string x = plot.bars ? "" : run_suffix(experiment.over.front());
      for (const Item& series : reader_.member(item, "series").items) {
        std::vector<std::string> values;
        if (series.kind == Item::Kind::kList) {
          for (const Item& value : series.items) values.push_back(expression(value, x));
        } else {
          values.push_back(expression(series, x));
        }
        if (values.size() != wanted) reader_.refuse(series, "wrong number of values");
        plot.series.emplace_back(series.key, std::move(values));
      }
      experiment.plots.push_back(std::move(plot));
    }
  }

  static constexpr std::size_t kMaxWord = 64;
  static constexpr std::size_t kMaxFileLine = 1'000;
  static constexpr std::size_t kMaxFileLines = 1'000;

  ItemReader reader_;
  std::set<std::string> plot_keys_;
  RunNames runs_;  // Runs of the current experiment.
};

}  // namespace

Result<std::vector<Experiment>> parse_experiments(std::string_view text, const std::string& file) {
  const Result<Item> root = parse_document(text, file);
  if (!root.ok()) return root.error();
  return ExperimentReader(file).read(root.value());
}

const std::vector<Experiment>& builtin_experiments() {
  static const std::vector<Experiment> experiments = [] {
    Result<std::vector<Experiment>> read = parse_experiments(experiments_yaml(), "experiments");
    MUSTER_CHECK(read.ok());
    return std::move(read).value();
  }();
  return experiments;
}

std::string substituted(std::string text, std::string_view name, std::string_view value) {
  const std::string placeholder = "{" + std::string(name) + "}";
  for (std::size_t at = text.find(placeholder); at != std::string::npos;
       at = text.find(placeholder, at + value.size())) {
    text.replace(at, placeholder.size(), value);
  }
  return text;
}

std::string run_suffix(std::string x) {
  std::replace(x.begin(), x.end(), '.', '_');
  return x;
}

std::vector<std::pair<std::string, std::string>> expanded(const Experiment& experiment,
                                                          const std::string& name,
                                                          const std::string& command) {
  if (experiment.over.empty() || command.find("{x}") == std::string::npos) return {{name, command}};
  std::vector<std::pair<std::string, std::string>> commands;
  for (const std::string& x : experiment.over) {
    commands.emplace_back(name + "@" + run_suffix(x), substituted(command, "x", x));
  }
  return commands;
}

}  // namespace muster
