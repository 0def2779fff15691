#include "engine/model/job_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <limits>

#include "base/text/text.h"
#include "base/text/utf8.h"

namespace muster {

namespace {

constexpr std::size_t kMostLabelBytes = 64;  // Of tenants, models and GPU types, as in files.

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_printable(char c) { return c >= 0x20 && c < 0x7f; }

// What no text of a request may have, wherever it stands.
Refusal check_text(std::string_view field, std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    return Error{fmt::format("{}: a zero byte in {}", field, in_quotes(text))};
  }
  if (!is_utf8(text)) return Error{fmt::format("{}: not UTF-8: {}", field, in_quotes(text))};
  return std::nullopt;
}

Refusal check_name(const std::string& name) {
  if (name.empty()) return Error{"name: empty"};
  if (name.size() > kMostNameBytes) {
    return Error{fmt::format("name: longer than {} letters: {}", kMostNameBytes, in_quotes(name))};
  }
  const bool plain = std::all_of(name.begin(), name.end(), is_printable);
  if (!plain || name.find('/') != std::string::npos || name[0] == '.' || trim(name) != name) {
    return Error{
        "name: only printable ASCII without '/', with no dot or blank in front and no blank "
        "behind: " +
        in_quotes(name)};
  }
  return std::nullopt;
}

// Tenants, models and GPU types are named in files, and so by the rules of names in files.
Refusal check_label(const char* field, const std::string& label) {
  const auto allowed = [](char c) {
    return is_letter(c) || is_digit(c) || std::string_view("._-+:/").find(c) != std::string::npos;
  };
  if (label.size() <= kMostLabelBytes && std::all_of(label.begin(), label.end(), allowed)) {
    return std::nullopt;
  }
  return Error{fmt::format("{}: a name has up to {} letters, digits and . _ - + : /: {}", field,
                           kMostLabelBytes, in_quotes(label))};
}

Refusal check_command(const JobRequest& request) {
  if (request.command.empty() || request.command[0].empty()) return Error{"command: none given"};
  if (request.command.size() > kMostCommandWords) {
    return Error{fmt::format("command: more than {} words", kMostCommandWords)};
  }
  for (const std::string& word : request.command) {
    if (Refusal refusal = check_text("command", word)) return refusal;
    if (word.size() >= kMostWordBytes) {
      return Error{fmt::format("command: a word of {} bytes, more than {}: {}", word.size(),
                               kMostWordBytes - 1, in_quotes(word))};
    }
  }
  const std::string& cwd = request.cwd;
  if (cwd.empty() || cwd[0] != '/' || cwd.size() >= PATH_MAX) {
    return Error{"cwd: not an absolute path: " + in_quotes(cwd)};
  }
  return check_text("cwd", cwd);
}

Refusal check_variable(const std::string& name, const std::string& value) {
  const auto allowed = [](char c) { return is_letter(c) || is_digit(c) || c == '_'; };
  if (name.empty() || is_digit(name[0]) || !std::all_of(name.begin(), name.end(), allowed)) {
    return Error{"env: not a variable's name: " + in_quotes(name)};
  }
  if (name.starts_with("MUSTER_")) return Error{"env: " + in_quotes(name) + " is Muster's to set"};
  if (name.size() + 1 + value.size() >= kMostWordBytes) {
    return Error{fmt::format("env: {} is longer than {} bytes", in_quotes(name), kMostWordBytes)};
  }
  return check_text("env: " + name, value);
}

Refusal check_gpus(const JobRequest& request) {
  const auto within = [](std::int32_t value) { return value >= 1 && value <= kMostRequestGpus; };
  if (!within(request.gpus)) {
    return Error{fmt::format("gpus: not between 1 and {}: {}", kMostRequestGpus, request.gpus)};
  }
  if (request.fewest == 0 && request.most == 0) return std::nullopt;
  if (!within(request.fewest) || request.fewest > request.gpus) {
    return Error{
        fmt::format("fewest: not between 1 and gpus, {}: {}", request.gpus, request.fewest)};
  }
  if (!within(request.most) || request.most < request.gpus) {
    return Error{fmt::format("most: not between gpus, {}, and {}: {}", request.gpus,
                             kMostRequestGpus, request.most)};
  }
  return std::nullopt;
}

Refusal check_amounts(const JobRequest& request) {
  if (request.cpus && (request.cpus->milli < 1 || *request.cpus > kMostRequestCpus)) {
    return Error{fmt::format("cpus: not between 0.001 and {}: {}", cpus_text(kMostRequestCpus),
                             cpus_text(*request.cpus))};
  }
  if (request.mem && (request.mem->mib < 1 || *request.mem > kMostRequestMem)) {
    return Error{fmt::format("mem: not between 1M and {}: {}", mem_text(kMostRequestMem),
                             mem_text(*request.mem))};
  }
  const std::int32_t spread = request.spread.value_or(1);
  if (spread >= 1 && spread <= kMostRequestGpus) return std::nullopt;
  return Error{fmt::format("spread: not between 1 and {} servers: {}", kMostRequestGpus, spread)};
}

Refusal check_duration(const char* field, Duration duration, Duration most) {
  if (duration >= Duration() && duration <= most) return std::nullopt;
  return Error{fmt::format("{}: not between 0 and {} seconds: {}", field, most.us() / 1'000'000,
                           seconds_text(duration.us()))};
}

Refusal check_times(const JobRequest& request) {
  if (Refusal r = check_duration("estimate", request.estimate, kLongestDuration)) return r;
  if (Refusal r = check_duration("time_limit", request.time_limit, kLongestDuration)) return r;
  if (Refusal r = check_duration("prerun", request.prerun, kLongestDuration)) return r;
  return check_duration("grace", request.grace.value_or(Duration()), kMostGrace);
}

Refusal check_on_lost(const OnLost& on_lost) {
  const auto within = [](const char* name, Duration value, Duration least) -> Refusal {
    if (value >= least && value <= kLongestDuration) return std::nullopt;
    return Error{fmt::format("on_lost: {}: not between {} and {} seconds: {}", name,
                             seconds_text(least.us()), kLongestDuration.us() / 1'000'000,
                             seconds_text(value.us()))};
  };
  const Duration kept = on_lost.kept_for();
  const Duration stops = on_lost.stops_after();
  if (Refusal r = within("keep_for", kept, kLeastKept)) return r;
  if (Refusal r = within("stop_on_agent_after", stops, kLeastStopAfter)) return r;
  if (stops < kept) return std::nullopt;
  return Error{fmt::format(
      "on_lost: stop_on_agent_after, {} s, is not below keep_for, {} s: the job could run twice",
      seconds_text(stops.us()), seconds_text(kept.us()))};
}

Refusal check_order(const JobRequest& request) {
  if (request.priority < -kMostPriority || request.priority > kMostPriority) {
    return Error{fmt::format("priority: not between {} and {}: {}", -kMostPriority, kMostPriority,
                             request.priority)};
  }
  const std::int32_t retries = request.retries.value_or(0);
  if (retries < 0 || retries > kMostRequestRetries) {
    return Error{fmt::format("retries: not between 0 and {}: {}", kMostRequestRetries, retries)};
  }
  for (const auto* jobs : {&request.after_ok, &request.after_any}) {
    const char* field = jobs == &request.after_ok ? "after_ok" : "after_any";
    for (const std::uint64_t job : *jobs) {
      if (job == 0 || job > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return Error{fmt::format("{}: not a job's number: {}", field, job)};
      }
    }
    if (request.after_ok.size() + request.after_any.size() > kMostDependencies) {
      return Error{fmt::format("{}: waits for more than {} jobs", field, kMostDependencies)};
    }
  }
  return std::nullopt;
}

Refusal check_array(const ArrayRange& array) {
  if (array.first < 0 || array.last < array.first) {
    return Error{
        fmt::format("array: does not ascend from 0 or more: {}-{}", array.first, array.last)};
  }
  if (array.step < 1) return Error{fmt::format("array: no step: {}", array.step)};
  if (array.at_once < 0) return Error{fmt::format("array: at once: {}", array.at_once)};
  if (array.size() > kMostArrayJobs) {
    return Error{fmt::format("array: more than {} jobs: {}", kMostArrayJobs, array.size())};
  }
  return std::nullopt;
}

Refusal check_size(const JobRequest& request) {
  constexpr std::size_t kLongestEscape = 6;       // "\u0001"
  constexpr std::size_t kMostOfTheRest = 32'768;  // Numbers, short texts and a thousand jobs.
  std::size_t bytes = request.cwd.size() + 3;
  for (const std::string& word : request.command) bytes += word.size() + 3;
  for (const auto& [name, value] : request.env) bytes += name.size() + value.size() + 6;
  // Nearly every request is far below, so nothing has to be written to know it.
  if (bytes * kLongestEscape + kMostOfTheRest <= kMostRequestBytes) return std::nullopt;
  if (request_json(request).size() <= kMostRequestBytes) return std::nullopt;
  return Error{fmt::format("command: with env more than {} KiB", kMostRequestBytes >> 10U)};
}

// The program a command runs: of a shell's text the first word, of a path the last part.
std::string_view program(const std::vector<std::string>& command) {
  std::string_view word = command.empty() ? "" : std::string_view(command[0]);
  if (command.size() >= 3 && command[1] == "-c" && word.ends_with("sh")) {
    word = trim(command[2]);
    word = word.substr(0, word.find_first_of(" \t\r\n;&|"));
  }
  return word.substr(word.find_last_of('/') + 1);
}

}  // namespace

std::string name_from(std::string_view word) {
  std::string name;
  for (const char c : word.substr(0, kMostNameBytes)) {
    const bool inner = (c == '.' || c == '-') && !name.empty();
    name += is_letter(c) || is_digit(c) || inner ? c : '_';
  }
  return name.empty() ? "job" : name;
}

void complete_request(JobRequest& request) {
  if (request.name.empty()) request.name = name_from(program(request.command));
  if (request.most > 0 && request.fewest == 0) request.fewest = request.gpus;
  if (request.fewest > 0 && request.most == 0) request.most = request.gpus;
}

Refusal check_request(const JobRequest& request) {
  if (Refusal refusal = check_name(request.name)) return refusal;
  if (Refusal refusal = check_label("tenant", request.tenant)) return refusal;
  if (Refusal refusal = check_label("gpu_type", request.gpu_type)) return refusal;
  if (Refusal refusal = check_label("model", request.model)) return refusal;
  if (Refusal refusal = check_command(request)) return refusal;
  if (request.env.size() > kMostVariables) {
    return Error{fmt::format("env: more than {} variables", kMostVariables)};
  }
  for (const auto& [name, value] : request.env) {
    if (Refusal refusal = check_variable(name, value)) return refusal;
  }
  if (Refusal refusal = check_gpus(request)) return refusal;
  if (Refusal refusal = check_amounts(request)) return refusal;
  if (Refusal refusal = check_times(request)) return refusal;
  if (Refusal refusal = check_on_lost(request.on_lost)) return refusal;
  if (Refusal refusal = check_order(request)) return refusal;
  if (request.array) {
    if (Refusal refusal = check_array(*request.array)) return refusal;
  }
  return check_size(request);
}

Result<ArrayRange> parse_array(std::string_view text) {
  const Error wrong{"not an array's range: " + in_quotes(text) + "; write 0-9, 0-9:2 or 0-9%3"};
  const auto number = [](std::string_view digits, std::int32_t& to) {
    const Result<std::int64_t> value = parse_int(digits);
    if (!value.ok() || value.value() < 0 || value.value() > INT32_MAX) return false;
    to = static_cast<std::int32_t>(value.value());
    return true;
  };
  ArrayRange array;
  std::string_view rest = text;
  const auto cut = [&](char mark, std::int32_t& to) {  // What follows the mark, if it is there.
    const std::size_t at = rest.find(mark);
    if (at == std::string_view::npos) return true;
    const bool good = number(rest.substr(at + 1), to);
    rest = rest.substr(0, at);
    return good;
  };
  if (!cut('%', array.at_once) || !cut(':', array.step)) return wrong;
  array.last = -1;
  if (!cut('-', array.last) || !number(rest, array.first)) return wrong;
  if (array.last < 0) array.last = array.first;
  if (Refusal refusal = check_array(array)) return Error{refusal->message.substr(7)};
  return array;
}

std::string array_text(const ArrayRange& array) {
  std::string text = std::to_string(array.first);
  if (array.last != array.first || array.step != 1) text += fmt::format("-{}", array.last);
  if (array.step != 1) text += fmt::format(":{}", array.step);
  if (array.at_once != 0) text += fmt::format("%{}", array.at_once);
  return text;
}

}  // namespace muster
