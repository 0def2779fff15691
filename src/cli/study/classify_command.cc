#include "cli/study/classify_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/file/document.h"
#include "base/text/json_string.h"
#include "base/text/text.h"
#include "exec/diagnose/signatures_file.h"

namespace muster {

namespace {

constexpr std::size_t kBlock = 4U << 20U;
constexpr std::string_view kStandardInput = "-";
constexpr std::size_t kMaxLogs = 100'000;

// Reads blocks of whole lines, because a log may be larger than memory.
bool scan_stream(std::istream& in, LogScan& scan) {
  std::string block;
  while (in) {
    const std::size_t kept = block.size();
    block.resize(kept + kBlock);
    in.read(block.data() + kept, static_cast<std::streamsize>(kBlock));
    block.resize(kept + static_cast<std::size_t>(in.gcount()));
    const std::size_t last = block.rfind('\n');
    const std::size_t whole = last == std::string::npos ? block.size() : last + 1;
    scan.feed(std::string_view(block).substr(0, whole));
    block.erase(0, whole);
  }
  scan.feed(block);
  return !in.bad();
}

MaybeError scan_log(const std::string& path, LogScan& scan) {
  if (path == kStandardInput) {
    if (!scan_stream(std::cin, scan)) return Error{"standard input: cannot be read"};
    return std::nullopt;
  }
  std::error_code status;
  if (!std::filesystem::exists(path, status)) return Error{shown_path(path) + ": no such file"};
  if (std::filesystem::is_directory(path, status)) {
    return Error{shown_path(path) + ": a directory, not a file"};
  }
  std::ifstream file(path, std::ios::binary);
  if (!file || !scan_stream(file, scan)) return Error{shown_path(path) + ": cannot be read"};
  return std::nullopt;
}

std::string sentence(std::string_view says) {
  std::string out(says);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z')
    out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out + ".";
}

std::string json_text(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

}  // namespace

void ClassifyCommand::add_to(Command app) {
  command_ = app.add_subcommand("classify", "explain from a job's logs why it failed");
  command_
      .add_option("LOG", logs_,
                  "logs of all processes of one attempt, rank 0 first; - for standard input")
      .required();
  command_.add_option("--exit-code", exit_code_, "exit code of the job");
  command_.add_option("--signal", signal_, "signal that ended the job").check([](const auto& text) {
    const Result<std::int64_t> number = parse_int(text);
    if (!number.ok()) return number.error().message;
    const bool known = number.value() >= 0 && number.value() <= 64;
    return known ? std::string() : "no such signal: " + in_quotes(text);
  });
  command_.add_option("--rules", rules_,
                      "YAML file of your own signatures, which precede the built-in ones");
  command_.add_flag("--explain", explain_,
                    "also print every matching line and why it was chosen or not");
  command_.add_flag("--json", json_, "print the result as JSON");
  command_.footer(
      "Exit status: 0 a signature matches, 1 none matches, 2 bad input.\n"
      "Example: why did this job fail, and what would Muster do about it?\n"
      "  muster classify rank0.log rank1.log --exit-code 1");
}

Result<std::vector<Signature>> ClassifyCommand::load_rules() const {
  if (rules_.empty()) return builtin_signatures();
  Result<std::vector<Signature>> own = read_signatures(rules_);
  if (!own.ok()) return own.error();
  return merged(std::move(own).value(), builtin_signatures());
}

int ClassifyCommand::run(Streams streams) {
  if (logs_.size() > kMaxLogs) {
    return complain(streams, fmt::format("LOG: more than {} logs", kMaxLogs));
  }
  Result<std::vector<Signature>> rules = load_rules();
  if (!rules.ok()) return complain(streams, rules.error());
  const Signatures signatures(std::move(rules).value());
  std::vector<std::vector<Finding>> findings;
  for (std::size_t i = 0; i < logs_.size(); ++i) {
    LogScan scan(signatures, static_cast<int>(i));
    if (const MaybeError refusal = scan_log(logs_[i], scan)) return complain(streams, *refusal);
    findings.push_back(scan.finish());
  }
  const ProcessEnd end = {-1, exit_code_ != 0 ? std::optional(exit_code_) : std::nullopt,
                          signal_ != 0 ? std::optional(signal_) : std::nullopt, std::nullopt};
  const Diagnosis diagnosis = decide({}, findings, {&end, 1}, signatures);
  std::vector<Explanation> matches;
  if (explain_) matches = explain(diagnosis, findings, signatures);
  if (json_) {
    streams.out << json_of(diagnosis, matches, signatures);
  } else {
    streams.out << text_of(diagnosis);
    if (explain_) streams.out << explained(matches, signatures);
  }
  return diagnosis.found() ? kExitDone : kExitFailed;
}

std::string ClassifyCommand::place_of(std::size_t log, std::int64_t line) const {
  return fmt::format(
      "{}:{}", logs_[log] == kStandardInput ? "standard input" : shown_path(logs_[log]), line);
}

std::string ClassifyCommand::text_of(const Diagnosis& diagnosis) const {
  std::string out = sentence(diagnosis.says) + "\n";
  if (diagnosis.line > 0) {
    out += fmt::format("  evidence  {}: {}\n", place_of(diagnosis.log, diagnosis.line),
                       diagnosis.evidence);
  } else if (diagnosis.found()) {
    out += fmt::format("  evidence  {}\n", diagnosis.evidence);
  }
  out += fmt::format("  reason    {} ({}), bucket {}", words_of(diagnosis.reason),
                     info_of(diagnosis.reason).key, key_of(diagnosis.bucket));
  if (diagnosis.found()) out += fmt::format("; signature {}", diagnosis.signature);
  out += fmt::format("\n  Muster    would {}\n", sentence_of(diagnosis.reaction));
  if (!diagnosis.advice.empty()) out += fmt::format("  advice    {}\n", diagnosis.advice);
  return out;
}

std::string ClassifyCommand::explained(const std::vector<Explanation>& matches,
                                       const Signatures& signatures) const {
  std::string out = fmt::format(
      "\n{}{}\n",
      matches.size() == 1 ? "1 line matches" : fmt::format("{} lines match", matches.size()),
      matches.empty() ? "" : ":");
  for (const Explanation& match : matches) {
    const Signature& signature = signatures[match.finding.signature];
    out += fmt::format("  {}: {} ({}, priority {}): {}\n    {}\n",
                       place_of(match.log, match.finding.line), signature.id,
                       signature.is_explicit ? "explicit" : "implicit", signature.priority,
                       match.why, match.finding.evidence);
  }
  return out;
}

std::string ClassifyCommand::json_of(const Diagnosis& diagnosis,
                                     const std::vector<Explanation>& matches,
                                     const Signatures& signatures) const {
  const bool has_line = diagnosis.line > 0;
  std::string out = fmt::format(
      "{{\n  \"found\": {},\n  \"says\": {},\n  \"reason\": {},\n  \"bucket\": {},\n"
      "  \"explicit\": {},\n  \"signature\": {},\n  \"evidence\": {},\n  \"file\": {},\n"
      "  \"rank\": {},\n  \"line\": {},\n  \"reaction\": {},\n  \"advice\": {}",
      diagnosis.found(), json_text(diagnosis.says), json_text(info_of(diagnosis.reason).key),
      json_text(key_of(diagnosis.bucket)), diagnosis.is_explicit, json_text(diagnosis.signature),
      json_text(diagnosis.evidence), has_line ? json_text(logs_[diagnosis.log]) : "null",
      has_line ? std::to_string(diagnosis.rank) : "null",
      has_line ? std::to_string(diagnosis.line) : "null", json_text(key_of(diagnosis.reaction)),
      json_text(diagnosis.advice));
  if (explain_) {
    std::string list;
    for (const Explanation& match : matches) {
      list += fmt::format(
          "{}\n    {{\"file\": {}, \"rank\": {}, \"line\": {}, \"signature\": {}, \"why\": {}, "
          "\"evidence\": {}}}",
          list.empty() ? "" : ",", json_text(logs_[match.log]), match.finding.rank,
          match.finding.line, json_text(signatures[match.finding.signature].id),
          json_text(match.why), json_text(match.finding.evidence));
    }
    out += fmt::format(",\n  \"matches\": [{}]", list);
  }
  return out + "\n}\n";
}

}  // namespace muster
