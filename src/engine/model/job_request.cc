#include "engine/model/job_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <limits>

#include "base/text/text.h"
#include "base/text/utf8.h"

namespace muster {

namespace {

// For names of tenants, models and GPU types. base/file/ uses the same limit.
constexpr std::size_t kMaxLabelBytes = 64;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_printable(char c) { return c >= 0x20 && c < 0x7f; }

// Rejects zero bytes and invalid UTF-8. Applies to all free text in a request.
MaybeError check_text(std::string_view field, std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    return Error{fmt::format("{}: a zero byte in {}", field, in_quotes(text))};
  }
  if (!is_utf8(text)) return Error{fmt::format("{}: not UTF-8: {}", field, in_quotes(text))};
  return std::nullopt;
}

MaybeError check_name(const std::string& name) {
  if (name.empty()) return Error{"name: empty"};
  if (name.size() > kMaxNameBytes) {
    return Error{
        fmt::format("name: longer than {} characters: {}", kMaxNameBytes, in_quotes(name))};
  }
  const bool plain = std::all_of(name.begin(), name.end(), is_printable);
  if (!plain || name.find('/') != std::string::npos || name[0] == '.' || trim(name) != name) {
    return Error{
        "name: must be printable ASCII without '/'; must not start with a dot or space, or end "
        "with a space: " +
        in_quotes(name)};
  }
  return std::nullopt;
}

// Tenant, model and GPU type names also occur in files, so they follow the naming rules of files.
MaybeError check_label(const char* field, const std::string& label) {
  const auto allowed = [](char c) {
    return is_letter(c) || is_digit(c) || std::string_view("._-+:/").find(c) != std::string::npos;
  };
  if (label.size() <= kMaxLabelBytes && std::all_of(label.begin(), label.end(), allowed)) {
    return std::nullopt;
  }
  return Error{fmt::format("{}: not a name of up to {} letters, digits and . _ - + : /: {}", field,
                           kMaxLabelBytes, in_quotes(label))};
}

MaybeError check_command(const JobRequest& request) {
  if (request.command.empty() || request.command[0].empty()) return Error{"command: required"};
  if (request.command.size() > kMaxCommandWords) {
    return Error{fmt::format("command: more than {} words", kMaxCommandWords)};
  }
  for (const std::string& word : request.command) {
    if (MaybeError refusal = check_text("command", word)) return refusal;
    if (word.size() >= kMaxWordBytes) {
      return Error{fmt::format("command: a word of {} bytes, more than {}: {}", word.size(),
                               kMaxWordBytes - 1, in_quotes(word))};
    }
  }
  const std::string& cwd = request.cwd;
  if (cwd.empty() || cwd[0] != '/' || cwd.size() >= PATH_MAX) {
    return Error{"cwd: not an absolute path: " + in_quotes(cwd)};
  }
  return check_text("cwd", cwd);
}

MaybeError check_variable(const std::string& name, const std::string& value) {
  const auto allowed = [](char c) { return is_letter(c) || is_digit(c) || c == '_'; };
  if (name.empty() || is_digit(name[0]) || !std::all_of(name.begin(), name.end(), allowed)) {
    return Error{"env: not a variable name: " + in_quotes(name)};
  }
  if (name.starts_with("MUSTER_"))
    return Error{"env: " + in_quotes(name) +
                 " is reserved; Muster sets all variables named MUSTER_*"};
  if (name.size() + 1 + value.size() >= kMaxWordBytes) {
    return Error{fmt::format("env: {} is longer than {} bytes", in_quotes(name), kMaxWordBytes)};
  }
  // The value may be a secret, so the message does not contain it.
  if (check_text("env", value)) {
    return Error{
        fmt::format("env: {}: the value is not UTF-8 or has a zero byte", in_quotes(name))};
  }
  return std::nullopt;
}

MaybeError check_gpus(const JobRequest& request) {
  const auto within = [](std::int32_t value) { return value >= 1 && value <= kMaxRequestGpus; };
  if (!within(request.gpus)) {
    return Error{fmt::format("gpus: not between 1 and {}: {}", kMaxRequestGpus, request.gpus)};
  }
  if (request.fewest == 0 && request.most == 0) return std::nullopt;
  if (!within(request.fewest) || request.fewest > request.gpus) {
    return Error{
        fmt::format("fewest: not between 1 and gpus ({}): {}", request.gpus, request.fewest)};
  }
  if (!within(request.most) || request.most < request.gpus) {
    return Error{fmt::format("most: not between gpus ({}) and {}: {}", request.gpus,
                             kMaxRequestGpus, request.most)};
  }
  return std::nullopt;
}

MaybeError check_amounts(const JobRequest& request) {
  if (request.cpus && (request.cpus->milli < 1 || *request.cpus > kMaxRequestCpus)) {
    return Error{fmt::format("cpus: not between 0.001 and {}: {}", cpus_text(kMaxRequestCpus),
                             cpus_text(*request.cpus))};
  }
  if (request.mem && (request.mem->mib < 1 || *request.mem > kMaxRequestMem)) {
    return Error{fmt::format("mem: not between 1M and {}: {}", mem_text(kMaxRequestMem),
                             mem_text(*request.mem))};
  }
  const std::int32_t spread = request.spread.value_or(1);
  if (spread >= 1 && spread <= kMaxRequestGpus) return std::nullopt;
  return Error{fmt::format("spread: not between 1 and {} nodes: {}", kMaxRequestGpus, spread)};
}

MaybeError check_duration(const char* field, Duration duration, Duration most) {
  if (duration >= Duration() && duration <= most) return std::nullopt;
  return Error{fmt::format("{}: not between 0 and {} seconds: {}", field, most.us() / 1'000'000,
                           seconds_text(duration.us()))};
}

MaybeError check_times(const JobRequest& request) {
  if (MaybeError r = check_duration("estimate", request.estimate, kLongestDuration)) return r;
  if (MaybeError r = check_duration("time_limit", request.time_limit, kLongestDuration)) return r;
  if (MaybeError r = check_duration("prerun", request.prerun, kLongestDuration)) return r;
  return check_duration("grace", request.grace.value_or(Duration()), kMaxGrace);
}

MaybeError check_on_lost(const OnLost& on_lost) {
  const auto within = [](const char* name, Duration value, Duration least) -> MaybeError {
    if (value >= least && value <= kLongestDuration) return std::nullopt;
    return Error{fmt::format("on_lost: {}: not between {} and {} seconds: {}", name,
                             seconds_text(least.us()), kLongestDuration.us() / 1'000'000,
                             seconds_text(value.us()))};
  };
  const Duration kept = on_lost.kept_for();
  const Duration stops = on_lost.stops_after();
  if (MaybeError r = within("keep_for", kept, kMinKept)) return r;
  if (MaybeError r = within("stop_on_agent_after", stops, kMinStopAfter)) return r;
  if (stops < kept) return std::nullopt;
  return Error{
      fmt::format("on_lost: stop_on_agent_after ({} s) must be less than keep_for ({} s), or the "
                  "job could run twice",
                  seconds_text(stops.us()), seconds_text(kept.us()))};
}

MaybeError check_order(const JobRequest& request) {
  if (request.priority < -kMaxPriority || request.priority > kMaxPriority) {
    return Error{fmt::format("priority: not between {} and {}: {}", -kMaxPriority, kMaxPriority,
                             request.priority)};
  }
  const std::int32_t retries = request.retries.value_or(0);
  if (retries < 0 || retries > kMaxRequestRetries) {
    return Error{fmt::format("retries: not between 0 and {}: {}", kMaxRequestRetries, retries)};
  }
  for (const auto* jobs : {&request.after_ok, &request.after_any}) {
    const char* field = jobs == &request.after_ok ? "after_ok" : "after_any";
    for (const std::uint64_t job : *jobs) {
      if (job == 0 || job > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return Error{fmt::format("{}: not a job id: {}", field, job)};
      }
    }
    if (request.after_ok.size() + request.after_any.size() > kMaxDependencies) {
      return Error{fmt::format("{}: depends on more than {} jobs", field, kMaxDependencies)};
    }
  }
  return std::nullopt;
}

MaybeError check_array(const ArrayRange& array) {
  if (array.first < 0 || array.last < array.first) {
    return Error{fmt::format("array: first index must be from 0 to the last index: {}-{}",
                             array.first, array.last)};
  }
  if (array.step < 1) return Error{fmt::format("array: step must be at least 1: {}", array.step)};
  if (array.at_once < 0)
    return Error{
        fmt::format("array: number of concurrent jobs must not be negative: {}", array.at_once)};
  if (array.size() > kMaxArrayJobs) {
    return Error{fmt::format("array: more than {} jobs: {}", kMaxArrayJobs, array.size())};
  }
  return std::nullopt;
}

MaybeError check_size(const JobRequest& request) {
  constexpr std::size_t kLongestEscape = 6;  // "\u0001"
  // Covers numbers, short texts and 1,000 dependencies.
  constexpr std::size_t kMaxOfTheRest = 32'768;
  std::size_t bytes = request.cwd.size() + 3;
  for (const std::string& word : request.command) bytes += word.size() + 3;
  for (const auto& [name, value] : request.env) bytes += name.size() + value.size() + 6;
  // Most requests are far below the limit, so this estimate avoids writing their JSON.
  if (bytes * kLongestEscape + kMaxOfTheRest <= kMaxRequestBytes) return std::nullopt;
  if (request_json(request).size() <= kMaxRequestBytes) return std::nullopt;
  return Error{
      fmt::format("command: larger than {} KiB together with env", kMaxRequestBytes >> 10U)};
}

// Returns the base name of the program. For `sh -c TEXT`, this is the first word of TEXT that sets
// no variable: the value of a variable may be a secret.
std::string_view program(const std::vector<std::string>& command) {
  std::string_view word = command.empty() ? "" : std::string_view(command[0]);
  if (command.size() >= 3 && command[1] == "-c" && word.ends_with("sh")) {
    constexpr const char* kEnd = " \t\r\n;&|";
    std::string_view text = command[2];
    do {
      text = trim(text);
      word = text.substr(0, text.find_first_of(kEnd));
      text.remove_prefix(word.size());
    } while (word.find('=') != std::string_view::npos);
  }
  return word.substr(word.find_last_of('/') + 1);
}

}  // namespace

std::string name_from(std::string_view word) {
  std::string name;
  for (const char c : word.substr(0, kMaxNameBytes)) {
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

MaybeError check_request(const JobRequest& request) {
  if (MaybeError refusal = check_name(request.name)) return refusal;
  if (MaybeError refusal = check_label("tenant", request.tenant)) return refusal;
  if (MaybeError refusal = check_label("gpu_type", request.gpu_type)) return refusal;
  if (MaybeError refusal = check_label("model", request.model)) return refusal;
  if (MaybeError refusal = check_command(request)) return refusal;
  if (request.env.size() > kMaxVariables) {
    return Error{fmt::format("env: more than {} variables", kMaxVariables)};
  }
  for (const auto& [name, value] : request.env) {
    if (MaybeError refusal = check_variable(name, value)) return refusal;
  }
  if (MaybeError refusal = check_gpus(request)) return refusal;
  if (MaybeError refusal = check_amounts(request)) return refusal;
  if (MaybeError refusal = check_times(request)) return refusal;
  if (MaybeError refusal = check_on_lost(request.on_lost)) return refusal;
  if (MaybeError refusal = check_order(request)) return refusal;
  if (request.array) {
    if (MaybeError refusal = check_array(*request.array)) return refusal;
  }
  return check_size(request);
}

Result<ArrayRange> parse_array(std::string_view text) {
  const Error wrong{"not an array range: " + in_quotes(text) + "; write 0-9, 0-9:2 or 0-9%3"};
  const auto number = [](std::string_view digits, std::int32_t& to) {
    const Result<std::int64_t> value = parse_int(digits);
    if (!value.ok() || value.value() < 0 || value.value() > INT32_MAX) return false;
    to = static_cast<std::int32_t>(value.value());
    return true;
  };
  ArrayRange array;
  std::string_view rest = text;
  // Parses and removes the number after `mark`, if present.
  const auto cut = [&](char mark, std::int32_t& to) {
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
  if (MaybeError refusal = check_array(array)) return Error{refusal->message.substr(7)};
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
