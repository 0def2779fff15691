#include "workload/input/sbatch_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text/text.h"

namespace muster {

namespace {

using Takes = SlurmOption::Takes;

constexpr std::string_view kNoPartitions = "Muster has tenants, not partitions";
constexpr std::string_view kPlans = "Muster chooses CPUs and memory based on the job's model";
constexpr std::string_view kPlaces = "Muster chooses the nodes of a job";
constexpr std::string_view kKeeps = "Muster stores the output: see muster logs";
constexpr std::string_view kNoMail = "Muster sends no mail";
constexpr std::string_view kNone = "Muster does not support it";
constexpr std::string_view kTalk = "Muster has its own options for output";

// All options in the manual of sbatch 22.05.
constexpr SlurmOption kOptions[] = {
    {"account", 'A', Takes::kValue, ""},
    {"array", 'a', Takes::kValue, ""},
    {"chdir", 'D', Takes::kValue, ""},
    {"cpus-per-gpu", 0, Takes::kValue, ""},
    {"cpus-per-task", 'c', Takes::kValue, ""},
    {"dependency", 'd', Takes::kValue, ""},
    {"export", 0, Takes::kValue, ""},
    {"gpus", 'G', Takes::kValue, ""},
    {"gpus-per-node", 0, Takes::kValue, ""},
    {"gpus-per-task", 0, Takes::kValue, ""},
    {"gres", 0, Takes::kValue, ""},
    {"hold", 'H', Takes::kNothing, ""},
    {"job-name", 'J', Takes::kValue, ""},
    {"mem", 0, Takes::kValue, ""},
    {"mem-per-cpu", 0, Takes::kValue, ""},
    {"mem-per-gpu", 0, Takes::kValue, ""},
    {"nice", 0, Takes::kMaybe, ""},
    {"no-requeue", 0, Takes::kNothing, ""},
    {"nodes", 'N', Takes::kValue, ""},
    {"ntasks", 'n', Takes::kValue, ""},
    {"ntasks-per-node", 0, Takes::kValue, ""},
    {"priority", 0, Takes::kValue, ""},
    {"requeue", 0, Takes::kNothing, ""},
    {"signal", 0, Takes::kValue, ""},
    {"time", 't', Takes::kValue, ""},

    {"partition", 'p', Takes::kValue, kNoPartitions},
    {"qos", 'q', Takes::kValue, kNoPartitions},
    {"reservation", 0, Takes::kValue, kNoPartitions},
    {"clusters", 'M', Takes::kValue, kNoPartitions},
    {"cluster-constraint", 0, Takes::kValue, kNoPartitions},
    {"cores-per-socket", 0, Takes::kValue, kPlans},
    {"core-spec", 'S', Takes::kValue, kPlans},
    {"cpu-freq", 0, Takes::kValue, kPlans},
    {"extra-node-info", 'B', Takes::kValue, kPlans},
    {"hint", 0, Takes::kValue, kPlans},
    {"mem-bind", 0, Takes::kValue, kPlans},
    {"mincpus", 0, Takes::kValue, kPlans},
    {"ntasks-per-core", 0, Takes::kValue, kPlans},
    {"ntasks-per-socket", 0, Takes::kValue, kPlans},
    {"overcommit", 'O', Takes::kNothing, kPlans},
    {"sockets-per-node", 0, Takes::kValue, kPlans},
    {"thread-spec", 0, Takes::kValue, kPlans},
    {"threads-per-core", 0, Takes::kValue, kPlans},
    {"tmp", 0, Takes::kValue, kPlans},
    {"constraint", 'C', Takes::kValue, kPlaces},
    {"contiguous", 0, Takes::kNothing, kPlaces},
    {"distribution", 'm', Takes::kValue, kPlaces},
    {"exclude", 'x', Takes::kValue, kPlaces},
    {"exclusive", 0, Takes::kMaybe, kPlaces},
    {"gpu-bind", 0, Takes::kValue, kPlaces},
    {"gpus-per-socket", 0, Takes::kValue, kPlaces},
    {"gres-flags", 0, Takes::kValue, kPlaces},
    {"nodefile", 'F', Takes::kValue, kPlaces},
    {"nodelist", 'w', Takes::kValue, kPlaces},
    {"ntasks-per-gpu", 0, Takes::kValue, kPlaces},
    {"oversubscribe", 's', Takes::kNothing, kPlaces},
    {"prefer", 0, Takes::kValue, kPlaces},
    {"spread-job", 0, Takes::kNothing, kPlaces},
    {"switches", 0, Takes::kValue, kPlaces},
    {"use-min-nodes", 0, Takes::kNothing, kPlaces},
    {"error", 'e', Takes::kValue, kKeeps},
    {"open-mode", 0, Takes::kValue, kKeeps},
    {"output", 'o', Takes::kValue, kKeeps},
    {"mail-type", 0, Takes::kValue, kNoMail},
    {"mail-user", 0, Takes::kValue, kNoMail},
    {"parsable", 0, Takes::kNothing, kTalk},
    {"quiet", 'Q', Takes::kNothing, kTalk},
    {"verbose", 'v', Takes::kNothing, kTalk},
    {"wait", 'W', Takes::kNothing, kTalk},
    {"acctg-freq", 0, Takes::kValue, kNone},
    {"batch", 0, Takes::kValue, kNone},
    {"bb", 0, Takes::kValue, kNone},
    {"bbf", 0, Takes::kValue, kNone},
    {"begin", 'b', Takes::kValue, kNone},
    {"comment", 0, Takes::kValue, kNone},
    {"container", 0, Takes::kValue, kNone},
    {"deadline", 0, Takes::kValue, kNone},
    {"delay-boot", 0, Takes::kValue, kNone},
    {"export-file", 0, Takes::kValue, kNone},
    {"get-user-env", 0, Takes::kMaybe, kNone},
    {"gid", 0, Takes::kValue, kNone},
    {"gpu-freq", 0, Takes::kValue, kNone},
    {"ignore-pbs", 0, Takes::kNothing, kNone},
    {"input", 'i', Takes::kValue, kNone},
    {"kill-on-invalid-dep", 0, Takes::kValue, kNone},
    {"licenses", 'L', Takes::kValue, kNone},
    {"mcs-label", 0, Takes::kValue, kNone},
    {"network", 0, Takes::kValue, kNone},
    {"no-kill", 'k', Takes::kMaybe, kNone},
    {"power", 0, Takes::kValue, kNone},
    {"profile", 0, Takes::kValue, kNone},
    {"propagate", 0, Takes::kMaybe, kNone},
    {"reboot", 0, Takes::kNothing, kNone},
    {"test-only", 0, Takes::kNothing, kNone},
    {"time-min", 0, Takes::kValue, kNone},
    {"uid", 0, Takes::kValue, kNone},
    {"wckey", 0, Takes::kValue, kNone},
};

const SlurmOption* called(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kOptions), std::end(kOptions),
                   [&](const SlurmOption& option) { return option.name == name; });
  return found == std::end(kOptions) ? nullptr : found;
}

const SlurmOption* lettered(char letter) {
  const auto* const found =
      std::find_if(std::begin(kOptions), std::end(kOptions),
                   [&](const SlurmOption& option) { return option.letter == letter; });
  return letter == 0 || found == std::end(kOptions) ? nullptr : found;
}

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Splits a line like a shell, with quotes and backslashes. A '#' at the begin of a word
// ends the line. Returns nullopt if a quote is not closed.
std::optional<std::vector<std::string>> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < line.size();) {
    if (is_blank(line[i])) {
      ++i;
      continue;
    }
    if (line[i] == '#') break;
    std::string word;
    char quote = 0;
    for (; i < line.size() && (quote != 0 || !is_blank(line[i])); ++i) {
      const char c = line[i];
      if (c == quote) {
        quote = 0;
      } else if (quote == 0 && (c == '\'' || c == '"')) {
        quote = c;
      } else if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
        word += line[++i];
      } else {
        word += c;
      }
    }
    if (quote != 0) return std::nullopt;
    words.push_back(std::move(word));
  }
  return words;
}

// Parses the options of one line.
class OptionLine {
 public:
  OptionLine(std::vector<std::string> words, int line) : words_(std::move(words)), line_(line) {}

  MaybeError read(std::vector<GivenOption>& out) {
    while (next_ < words_.size()) {
      const std::string word = words_[next_++];
      const MaybeError refusal = word.starts_with("--") ? read_long(word, out)
                                 : word.starts_with("-") && word.size() > 1
                                     ? read_letters(word, out)
                                     : not_an_option(word);
      if (refusal) return refusal;
    }
    return std::nullopt;
  }

 private:
  static MaybeError not_an_option(const std::string& word) {
    return Error{"not an option: " + in_quotes(word)};
  }

  MaybeError read_long(std::string_view word, std::vector<GivenOption>& out) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(2, equals - 2);
    const SlurmOption* option = called(name);
    if (option == nullptr) {
      std::vector<std::string_view> names;
      for (const SlurmOption& known : kOptions) names.push_back(known.name);
      return Error{"unknown option: " + in_quotes(word.substr(0, equals)) +
                   suggestion(name, names)};
    }
    if (equals == std::string_view::npos) return take(*option, std::nullopt, out);
    if (option->takes == Takes::kNothing) return Error{fmt::format("--{}: takes no value", name)};
    return take(*option, std::string(word.substr(equals + 1)), out);
  }

  // Reads short options: "-N2", "-N 2", "-HQ".
  MaybeError read_letters(std::string_view word, std::vector<GivenOption>& out) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const SlurmOption* option = lettered(word[i]);
      if (option == nullptr) return Error{"unknown option: " + in_quotes(word)};
      if (option->takes == Takes::kNothing || i + 1 == word.size()) {
        if (const MaybeError refusal = take(*option, std::nullopt, out)) return refusal;
        continue;
      }
      return take(*option, std::string(word.substr(i + 1)), out);
    }
    return std::nullopt;
  }

  MaybeError take(const SlurmOption& option, std::optional<std::string> value,
                  std::vector<GivenOption>& out) {
    if (option.takes == Takes::kValue && !value) {
      if (next_ == words_.size()) return Error{fmt::format("--{}: requires a value", option.name)};
      value = words_[next_++];
    }
    out.push_back({&option, line_, value.value_or("")});
    return std::nullopt;
  }

  std::vector<std::string> words_;
  std::size_t next_ = 0;
  int line_;
};

// Returns the shell and its arguments from a "#!" line. Returns an error for other programs.
Result<std::vector<std::string>> read_shell(std::string_view line) {
  constexpr std::array<std::string_view, 5> kShells = {"sh", "bash", "dash", "zsh", "ksh"};
  std::vector<std::string> words;
  for (const std::string_view word : split(line, ' ')) {
    for (const std::string_view part : split(word, '\t')) {
      if (!part.empty()) words.emplace_back(part);
    }
  }
  if (words.empty()) return Error{"no program after '#!'"};
  const auto base = [](std::string_view path) { return path.substr(path.find_last_of('/') + 1); };
  std::size_t program = 0;
  if (base(words[0]) == "env" && words.size() > 1) program = words[1] == "-S" ? 2 : 1;
  const std::string word = program < words.size() ? words[program] : "";
  if (std::find(kShells.begin(), kShells.end(), base(word)) == kShells.end()) {
    return Error{
        fmt::format("not a shell script but a script for {}; submit the program itself, or "
                    "call it from a bash script",
                    in_quotes(word))};
  }
  return words;
}

}  // namespace

Result<SbatchLines> read_sbatch_lines(std::string_view text, const std::string& name) {
  constexpr std::string_view kMark = "#SBATCH";
  SbatchLines out;
  out.shell = {"/bin/bash"};
  bool commands = false;  // Whether a command was seen.
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    const auto at = [&](const Error& e) {
      return Error{fmt::format("{}:{}: {}", name, number, e.message)};
    };
    if (line.ends_with('\r')) return at(Error{"DOS line ending; convert the file with dos2unix"});
    if (number == 1 && line.starts_with("#!")) {
      Result<std::vector<std::string>> shell = read_shell(line.substr(2));
      if (!shell.ok()) return at(shell.error());
      out.shell = std::move(shell).value();
    } else if (line.starts_with(kMark) &&
               (line.size() == kMark.size() || is_blank(line[kMark.size()]))) {
      if (commands) {
        out.too_late.push_back(number);
        continue;
      }
      std::optional<std::vector<std::string>> words = words_of(line.substr(kMark.size()));
      if (!words) return at(Error{"a quote is not closed"});
      const MaybeError refusal = OptionLine(std::move(*words), number).read(out.options);
      if (refusal) return at(*refusal);
    } else if (!trim(line).empty() && !trim(line).starts_with('#')) {
      commands = true;
    }
  }
  return out;
}

}  // namespace muster
