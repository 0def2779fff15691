// Arguments and output of `scontrol show config`, `show partition` and `show reservation`.

#include <algorithm>

#include "base/text/text.h"
#include "exec/slurm/slurm.h"

namespace muster {
namespace {

SlurmWords words_of_line(std::string_view line) {
  SlurmWords words;
  for (const std::string_view word : split(line, ' ')) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string_view::npos) continue;
    words.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return words;
}

}  // namespace

std::string_view word_of(const SlurmWords& words, std::string_view key) {
  const auto it =
      std::find_if(words.begin(), words.end(), [&](const auto& word) { return word.first == key; });
  return it == words.end() ? std::string_view() : std::string_view(it->second);
}

std::vector<std::string> config_argv() { return {"scontrol", "show", "config"}; }

SlurmWords read_config(std::string_view text) {
  SlurmWords words;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = trim(line.substr(0, equals));
    if (!key.empty()) words.emplace_back(key, trim(line.substr(equals + 1)));
  }
  return words;
}

std::vector<std::string> partition_argv(const std::string& partition) {
  std::vector<std::string> argv = {"scontrol", "--all", "--oneliner", "show", "partition"};
  if (!partition.empty())
    argv.back() += "=" + partition;  // One argument, so it is never parsed as an option.
  return argv;
}

std::vector<std::string> reservation_argv(const std::string& reservation) {
  return {"scontrol", "--oneliner", "show", "reservation=" + reservation};
}

SlurmWords read_reservation(std::string_view text) {
  return words_of_line(text.substr(0, text.find('\n')));
}

SlurmWords read_partition(std::string_view text) {
  std::vector<SlurmWords> all;
  for (const std::string_view line : split(text, '\n')) {
    SlurmWords words = words_of_line(line);
    if (!word_of(words, "PartitionName").empty()) all.push_back(std::move(words));
  }
  if (all.size() == 1) return all[0];
  const auto it = std::find_if(all.begin(), all.end(), [](const SlurmWords& words) {
    return word_of(words, "Default") == "YES";
  });
  return it == all.end() ? SlurmWords() : *it;
}

}  // namespace muster
