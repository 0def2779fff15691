#include "engine/model/fields.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/text/text.h"

namespace muster {

namespace {

using As = Written::As;

constexpr std::array<RequestField, 25> kFields = {{
    {"name", &JobRequest::name},         {"tenant", &JobRequest::tenant},
    {"command", &JobRequest::command},   {"env", &JobRequest::env},
    {"cwd", &JobRequest::cwd},           {"gpus", &JobRequest::gpus},
    {"fewest", &JobRequest::fewest},     {"most", &JobRequest::most},
    {"cpus", &JobRequest::cpus},         {"mem", &JobRequest::mem},
    {"spread", &JobRequest::spread},     {"gpu_type", &JobRequest::gpu_type},
    {"model", &JobRequest::model},       {"launch_per", &JobRequest::launch_per},
    {"estimate", &JobRequest::estimate}, {"time_limit", &JobRequest::time_limit},
    {"grace", &JobRequest::grace},       {"priority", &JobRequest::priority},
    {"retries", &JobRequest::retries},   {"on_lost", &JobRequest::on_lost},
    {"prerun", &JobRequest::prerun},     {"hold", &JobRequest::hold},
    {"after_ok", &JobRequest::after_ok}, {"after_any", &JobRequest::after_any},
    {"array", &JobRequest::array},
}};

Error wrong(std::string_view wanted, Written value) {
  std::string why = "not " + std::string(wanted) + ": ";
  why += value.as == As::kNothing ? "nothing" : in_quotes(value.text);
  return Error{why};
}

Error too_many(std::size_t most, const char* what) {
  return Error{"more than " + std::to_string(most) + " " + what};
}

MaybeError put(std::string& to, Written value) {
  if (value.as != As::kText && value.as != As::kPlain) return wrong("text", value);
  to = value.text;
  return std::nullopt;
}

MaybeError put(std::int32_t& to, Written value) {
  if (value.as != As::kNumber && value.as != As::kPlain) return wrong("a whole number", value);
  const Result<std::int64_t> number = parse_int(value.text);
  if (!number.ok()) return number.error();
  if (number.value() < std::numeric_limits<std::int32_t>::min() ||
      number.value() > std::numeric_limits<std::int32_t>::max()) {
    return Error{"number too large: " + in_quotes(value.text)};
  }
  to = static_cast<std::int32_t>(number.value());
  return std::nullopt;
}

MaybeError put(std::uint64_t& to, Written value) {
  if (value.as != As::kNumber && value.as != As::kPlain) return wrong("a job id", value);
  const Result<std::int64_t> number = parse_int(value.text);
  if (!number.ok() || number.value() < 1) return wrong("a job id", value);
  to = static_cast<std::uint64_t>(number.value());
  return std::nullopt;
}

MaybeError put(bool& to, Written value) {
  const bool fits = value.as == As::kFlag || value.as == As::kPlain;
  if (!fits || (value.text != "true" && value.text != "false")) {
    return wrong("true or false", value);
  }
  to = value.text == "true";
  return std::nullopt;
}

MaybeError put(Duration& to, Written value) {
  if (value.as == As::kFlag || value.as == As::kNothing) return wrong("a duration", value);
  const Result<Duration> duration = parse_duration(value.text);
  if (!duration.ok()) return duration.error();
  to = duration.value();
  return std::nullopt;
}

// Accepts one of two words. Sets `is_second` to true if the value is the second word.
MaybeError put_word(bool& is_second, const std::array<std::string_view, 2>& words, Written value) {
  if (value.as != As::kText && value.as != As::kPlain) {
    return wrong(std::string(words[0]) + " or " + std::string(words[1]), value);
  }
  const auto* const word = std::find(words.begin(), words.end(), value.text);
  if (word == words.end()) {
    return Error{"unknown: " + in_quotes(value.text) + suggestion(value.text, words)};
  }
  is_second = word != words.begin();
  return std::nullopt;
}

MaybeError put(LaunchPer& to, Written value) {
  bool per_gpu = false;
  MaybeError refusal = put_word(per_gpu, {"node", "gpu"}, value);
  to = per_gpu ? LaunchPer::kGpu : LaunchPer::kNode;
  return refusal;
}

MaybeError put(OnLost::Then& to, Written value) {
  bool fails = false;
  MaybeError refusal = put_word(fails, {"requeue", "fail"}, value);
  to = fails ? OnLost::Then::kFail : OnLost::Then::kRequeue;
  return refusal;
}

// Stores the parsed value in `to`, or returns the parse error.
template <class T>
MaybeError take(const Result<T>& parsed, T& to) {
  if (!parsed.ok()) return parsed.error();
  to = parsed.value();
  return std::nullopt;
}

bool is_text(Written value) { return value.as == As::kText || value.as == As::kPlain; }

MaybeError put(CpuAmount& to, Written value) {
  if (value.as != As::kNumber && value.as != As::kPlain) return wrong("a number of CPUs", value);
  return take(parse_cpus(value.text), to);
}

MaybeError put(MemAmount& to, Written value) {
  if (!is_text(value)) return wrong("text such as \"64G\" or \"512M\"", value);
  return take(parse_mem(value.text), to);
}

MaybeError put(ArrayRange& to, Written value) {
  if (!is_text(value)) return wrong("text such as \"0-9\" or \"0-9:2%3\"", value);
  return take(parse_array(value.text), to);
}

template <class T>
MaybeError put(std::optional<T>& to, Written value) {
  return put(to.emplace(), value);
}

MaybeError put(std::vector<std::string>& to, Written value) {
  if (value.as != As::kText && value.as != As::kPlain) {
    return wrong("a list of strings or a shell command", value);
  }
  to = {"/bin/sh", "-c", std::string(value.text)};
  return std::nullopt;
}

MaybeError put(std::vector<std::uint64_t>& to, Written value) {
  return put(to.emplace_back(), value);
}

// A single word sets `then`, the action after keep_for.
MaybeError put(OnLost& to, Written value) { return put(to.then, value); }

MaybeError put(std::map<std::string, std::string>&, Written) {
  return Error{"not a map of variables"};
}

MaybeError add(std::vector<std::string>& to, Written value) {
  if (to.size() == kMaxCommandWords) return too_many(kMaxCommandWords, "words");
  return put(to.emplace_back(), value);
}

MaybeError add(std::vector<std::uint64_t>& to, Written value) {
  if (to.size() == kMaxDependencies) return too_many(kMaxDependencies, "jobs");
  return put(to.emplace_back(), value);
}

template <class T>
MaybeError add(T&, Written) {
  return Error{"must not be a list"};
}

MaybeError add_named(std::map<std::string, std::string>& to, std::string_view name, Written value) {
  if (to.size() == kMaxVariables) return too_many(kMaxVariables, "variables");
  const auto [at, added] = to.try_emplace(std::string(name));
  if (!added) return Error{"given twice"};
  // The value may be a secret, so the message does not contain it.
  return put(at->second, value) ? MaybeError(Error{"not text"}) : std::nullopt;
}

MaybeError add_named(OnLost& to, std::string_view name, Written value) {
  constexpr std::array<std::string_view, 3> kNames = {"keep_for", "then", "stop_on_agent_after"};
  const auto put_once = [&](auto& member) -> MaybeError {
    if (member) return Error{"given twice"};
    return put(member, value);
  };
  if (name == kNames[0]) return put_once(to.keep_for);
  if (name == kNames[1]) return put_once(to.then);
  if (name == kNames[2]) return put_once(to.stop_on_agent_after);
  return Error{"unknown key" + suggestion(name, kNames)};
}

template <class T>
MaybeError add_named(T&, std::string_view, Written) {
  return Error{"must not be a map"};
}

}  // namespace

bool RequestField::takes_list() const {
  return std::holds_alternative<std::vector<std::string> JobRequest::*>(member) ||
         std::holds_alternative<std::vector<std::uint64_t> JobRequest::*>(member);
}

bool RequestField::takes_map() const {
  return std::holds_alternative<std::map<std::string, std::string> JobRequest::*>(member) ||
         std::holds_alternative<OnLost JobRequest::*>(member);
}

std::span<const RequestField> request_fields() { return kFields; }

const RequestField* request_field(std::string_view name) {
  const auto* const found = std::find_if(kFields.begin(), kFields.end(),
                                         [&](const RequestField& f) { return f.name == name; });
  return found == kFields.end() ? nullptr : found;
}

std::string unknown_field(std::string_view name) {
  std::vector<std::string_view> names;
  for (const RequestField& field : kFields) names.push_back(field.name);
  return "unknown key: " + in_quotes(name) + suggestion(name, names);
}

MaybeError set_field(JobRequest& request, const RequestField& field, Written value) {
  return std::visit([&](auto member) { return put(request.*member, value); }, field.member);
}

MaybeError add_to_field(JobRequest& request, const RequestField& field, Written value) {
  return std::visit([&](auto member) { return add(request.*member, value); }, field.member);
}

MaybeError add_to_map(JobRequest& request, const RequestField& field, std::string_view name,
                      Written value) {
  MaybeError refusal = std::visit(
      [&](auto member) { return add_named(request.*member, name, value); }, field.member);
  if (refusal) refusal->message = in_quotes(name) + ": " + refusal->message;
  return refusal;
}

}  // namespace muster
