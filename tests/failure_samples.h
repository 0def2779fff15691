#pragma once

// Reads the samples of tests/failures: short logs with the reason that they show.
//
//   == ID REASON-KEY [SPLIT SOURCE [react=REACTION]]
//   lines of the log of rank 0
//   -- rank 1 exit=137 signal=9 at=100     (only the rank is required)
//   lines of the log of rank 1

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "exec/diagnose/classifier.h"
#include "exec/diagnose/signatures_file.h"

namespace muster {

struct FailureSample {
  struct Log {
    ProcessEnd end;
    std::string text;
  };
  std::string id;
  Reason reason = Reason::kNoSignature;
  std::string split;   // "dev" or "test"; empty if the header has none.
  std::string source;  // "github:OWNER/REPOSITORY#THREAD", "framework:FILE" or "own:NAME".
  std::string react;   // Expected reaction; "*": any. Empty: the reaction of the reason.
  std::vector<Log> logs;
};

inline ProcessEnd read_sample_rank(std::string_view line) {
  ProcessEnd end;
  for (const std::string_view word : split(line.substr(3), ' ')) {
    const auto value = [&](std::string_view key) -> std::optional<int> {
      if (!word.starts_with(key)) return std::nullopt;
      return static_cast<int>(parse_int(word.substr(key.size())).value());
    };
    if (const auto code = value("exit=")) end.exit_code = code;
    if (const auto signal = value("signal=")) end.signal = signal;
    if (const auto at = value("at=")) end.at = *at;
    if (word.find_first_not_of("0123456789") == std::string_view::npos) {
      end.rank = static_cast<int>(parse_int(word).value());
    }
  }
  return end;
}

inline FailureSample read_sample_header(const std::string& line) {
  const std::vector<std::string_view> words = split(line, ' ');
  FailureSample out;
  EXPECT_GE(words.size(), 3u) << line;
  out.id = words[1];
  const std::optional<Reason> reason = find_reason(words[2]);
  EXPECT_TRUE(reason) << line;
  out.reason = reason.value_or(Reason::kNoSignature);
  if (words.size() > 4) {
    out.split = words[3];
    out.source = words[4];
  }
  constexpr std::string_view kReact = "react=";
  if (words.size() > 5 && words[5].starts_with(kReact)) out.react = words[5].substr(kReact.size());
  return out;
}

inline void read_samples(const std::filesystem::path& path, std::vector<FailureSample>& out) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("== ")) {
      out.push_back(read_sample_header(line));
    } else if (line.starts_with("-- rank ")) {
      out.back().logs.push_back({read_sample_rank(line), ""});
    } else {
      if (out.back().logs.empty()) out.back().logs.emplace_back();
      out.back().logs.back().text += line + "\n";
    }
  }
}

// Returns the samples of all files in the folder, without those of its subfolders.
inline std::vector<FailureSample> read_sample_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<FailureSample> out;
  for (const std::filesystem::path& path : paths) read_samples(path, out);
  return out;
}

inline Diagnosis diagnose(const FailureSample& sample) {
  static const Signatures kSignatures(builtin_signatures());
  AttemptLogs attempt;
  for (const FailureSample::Log& log : sample.logs) {
    attempt.ranks.push_back(
        {log.end.rank, log.text, 1, log.end.exit_code, log.end.signal, log.end.at});
  }
  return classify(attempt, kSignatures);
}

}  // namespace muster
