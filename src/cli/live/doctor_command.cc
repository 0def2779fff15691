#include "cli/live/doctor_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "base/terminal/terminal.h"
#include "base/text/text.h"
#include "base/types/enum_names.h"
#include "cli/live/live_session.h"
#include "live/config/serve_file.h"
#include "live/config/site.h"
#include "live/config/state_directory.h"

namespace muster {
namespace {

using Level = SiteFinding::Level;

constexpr EnumNames<Level, Level::kFail> kLevelNames({"ok", "warn", "fail"});

std::size_t count_of(const SiteFindings& findings, Level level) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [&](const SiteFinding& finding) { return finding.level == level; }));
}

std::string verdict(const SiteFindings& findings) {
  const std::size_t fails = count_of(findings, Level::kFail);
  const std::size_t warns = count_of(findings, Level::kWarn);
  std::string text = fails == 0 ? "Muster can run on this Slurm"
                                : "Muster cannot run on this Slurm yet: " + std::to_string(fails) +
                                      (fails == 1 ? " check fails" : " checks fail");
  if (warns > 0) text += fmt::format("; {} warning{}", warns, warns == 1 ? "" : "s");
  return text + ".\n";
}

std::string tinted(Level level) {
  const std::string text = fmt::format("{:<4}", kLevelNames[level]);
  if (color_mode_for(1) == ColorMode::kPlain) return text;
  const int color = level == Level::kOk ? 32 : level == Level::kWarn ? 33 : 31;
  return fmt::format("\x1b[{}m{}\x1b[0m", color, text);
}

// Wraps `words` to lines of `width` columns and indents all lines except the first. Width 0 means
// one line.
std::string wrapped(std::string_view words, std::size_t indent, std::size_t width) {
  constexpr std::size_t kMin = 30;
  const std::size_t room = width < indent + kMin ? std::string_view::npos : width - indent;
  std::string text;
  while (words.size() > room) {
    std::size_t end = words.rfind(' ', room);
    if (end == std::string_view::npos || end == 0) end = words.find(' ', room);
    if (end == std::string_view::npos) break;
    text += std::string(words.substr(0, end)) + '\n' + std::string(indent, ' ');
    words.remove_prefix(end + 1);
  }
  return text + std::string(words);
}

std::string text_of(const SiteFindings& findings) {
  std::size_t longest = 0;
  for (const SiteFinding& finding : findings) longest = std::max(longest, finding.check.size());
  const std::size_t width = is_terminal(1) ? static_cast<std::size_t>(terminal_width(1)) : 0;
  std::string text;
  for (const SiteFinding& finding : findings) {
    text += fmt::format("{}  {:<{}}  {}\n", tinted(finding.level), finding.check, longest,
                        wrapped(finding.words, longest + 8, width));
  }
  return text + "\n" + verdict(findings);
}

std::string json_of(const SiteFindings& findings) {
  nlohmann::json checks = nlohmann::json::array();
  for (const SiteFinding& finding : findings) {
    checks.push_back({{"check", finding.check},
                      {"level", kLevelNames[finding.level]},
                      {"words", finding.words}});
  }
  return json_line({{"ok", count_of(findings, Level::kFail) == 0}, {"checks", checks}}) + "\n";
}

}  // namespace

void DoctorCommand::add_to(Command app) {
  command_ =
      app.add_subcommand("doctor", "check whether this site's Slurm meets Muster's requirements");
  command_.footer(
      "Prints for each failed check the problem, its cause and what to do. Changes nothing; "
      "--deep\n"
      "runs a job of one second on each node with free resources. Exit status: 1 if a check "
      "fails.\n"
      "Example:\n"
      "  muster doctor --partition gpu --deep\n"
      "  muster doctor --config muster.yaml");
  command_.add_option("--partition", question_.partition,
                      "Slurm partition for the jobs (default: the default partition)");
  command_.add_option("--reservation", question_.reservation, "Slurm reservation for the jobs");
  command_.add_option("--account", question_.account, "Slurm account that the jobs are charged to");
  command_.add_option("--qos", question_.qos, "Slurm quality of service of the jobs");
  command_.add_option("--user", question_.user, "user whose jobs are tested, if you are root");
  command_.add_option("--config", config_,
                      "configuration file of muster serve; its slurm section and grace are used");
  command_.add_option("--home", home_,
                      "state directory of the manager (default: that of muster serve)");
  command_.add_option("--timeout", timeout_, "timeout of each Slurm command (default: 15s)");
  command_.add_flag("--deep", question_.deep, "also run a short test job on each node");
  command_.add_flag("--json", json_, "print the result as a JSON object");
}

// Options take precedence over the file.
MaybeError DoctorCommand::read_config() {
  const Result<ServeFile> file = read_serve_file(config_, true, executor_names());
  if (!file.ok()) return file.error();
  const ServeSlurm& slurm = file.value().slurm;
  const std::pair<std::string*, const std::string*> fields[] = {
      {&question_.partition, &slurm.partition},
      {&question_.reservation, &slurm.reservation},
      {&question_.account, &slurm.account},
      {&question_.qos, &slurm.qos}};
  for (const auto& [asked, said] : fields) {
    if (asked->empty()) *asked = *said;
  }
  question_.timeout = slurm.timeout;
  question_.grace = file.value().grace;
  other_executor_ = file.value().executor != "slurm";
  return std::nullopt;
}

MaybeError DoctorCommand::fill_question() {
  if (!config_.empty()) {
    if (MaybeError refusal = read_config()) return refusal;
  }
  if (!timeout_.empty()) {
    const Result<Duration> timeout = parse_duration(timeout_);
    if (!timeout.ok()) return Error{"--timeout: " + timeout.error().message};
    if (timeout.value() < Duration::seconds(1) || timeout.value() > Duration::seconds(600)) {
      return Error{"--timeout: must be from 1s to 10m: " + in_quotes(timeout_)};
    }
    question_.timeout = timeout.value();
  }
  if (home_.empty()) {
    Result<std::string> home = default_home();
    if (!home.ok()) return home.error();
    home_ = home.value();
  }
  question_.home = std::filesystem::absolute(home_).lexically_normal().string();
  question_.shim = find_shim();
  return std::nullopt;
}

int DoctorCommand::run(Streams streams) {
  if (const MaybeError refusal = fill_question()) return complain(streams, *refusal);
  Commands commands;
  SiteFindings findings;
  if (other_executor_) {
    findings.push_back(
        {Level::kWarn, "config",
         "muster serve would run jobs on its own machine; to use this Slurm, set executor: slurm "
         "in the file"});
  }
  for (SiteFinding& finding : check_site(commands, question_)) {
    findings.push_back(std::move(finding));
  }
  if (json_) {
    streams.out << json_of(findings);
  } else if (findings.size() == 1) {  // Slurm was not found: one line needs no table.
    streams.out << findings[0].check << ": " << findings[0].words << '\n';
  } else {
    streams.out << text_of(findings);
  }
  return count_of(findings, Level::kFail) == 0 ? kExitDone : kExitFailed;
}

}  // namespace muster
