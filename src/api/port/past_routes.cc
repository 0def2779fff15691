#include "api/port/past_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text/text.h"

namespace muster {
namespace {

constexpr std::int64_t kMaxRunKey = 9'999;

// Reads the parameters that all requests about the past share.
template <class C>
MaybeError read_stretch(const RequestTarget& target, C& call) {
  const Result<std::int64_t> run = whole(target, "run", 0, kMaxRunKey, 0);
  if (!run.ok()) return run.error();
  if (target.find("run") != nullptr) call.run = static_cast<std::size_t>(run.value());
  const Result<std::optional<double>> from = seconds_or_none(target, "from");
  if (!from.ok()) return from.error();
  const Result<std::optional<double>> to = seconds_or_none(target, "to");
  if (!to.ok()) return to.error();
  call.from = from.value();
  call.to = to.value();
  if (call.from && call.to && *call.from >= *call.to)
    return Error{"to: must be later than 'from'", ErrorCode::kInvalid};
  return std::nullopt;
}

}  // namespace

Result<Routed> read_timeline(const RequestTarget& target, const HttpRequest&) {
  ShowTimeline call;
  if (const MaybeError refusal = read_stretch(target, call)) return *refusal;
  return Routed{.call = call};
}

Result<Routed> read_usage(const RequestTarget& target, const HttpRequest&) {
  ShowUsage call;
  if (const MaybeError refusal = read_stretch(target, call)) return *refusal;
  const Result<std::int64_t> points =
      whole(target, "points", 1, 1'000, static_cast<std::int64_t>(call.points));
  if (!points.ok()) return points.error();
  call.points = static_cast<std::size_t>(points.value());
  return Routed{.call = call};
}

Result<Routed> read_compare(const RequestTarget& target, const HttpRequest&) {
  constexpr std::size_t kMaxCompared = 8;
  CompareRuns call;
  const std::string* const runs = target.find("runs");
  if (runs == nullptr || runs->empty())
    return Error{"runs: required, such as runs=0,1", ErrorCode::kInvalid};
  for (const std::string_view word : split(*runs, ',')) {
    const Result<std::int64_t> run = parse_int(word);
    if (!run.ok()) return Error{"runs: " + run.error().message, ErrorCode::kInvalid};
    if (run.value() < 0 || run.value() > kMaxRunKey) {
      return Error{fmt::format("runs: not between 0 and {}: {}", kMaxRunKey, run.value()),
                   ErrorCode::kInvalid};
    }
    const auto key = static_cast<std::size_t>(run.value());
    if (std::find(call.runs.begin(), call.runs.end(), key) != call.runs.end()) {
      return Error{fmt::format("runs: given twice: {}", key), ErrorCode::kInvalid};
    }
    call.runs.push_back(key);
  }
  if (call.runs.size() > kMaxCompared) {
    return Error{fmt::format("runs: at most {} runs can be compared, not {}", kMaxCompared,
                             call.runs.size()),
                 ErrorCode::kInvalid};
  }
  const Result<std::int64_t> baseline =
      whole(target, "baseline", 0, kMaxRunKey, static_cast<std::int64_t>(call.runs.front()));
  if (!baseline.ok()) return baseline.error();
  call.baseline = static_cast<std::size_t>(baseline.value());
  if (std::find(call.runs.begin(), call.runs.end(), call.baseline) == call.runs.end()) {
    return Error{fmt::format("baseline: {} is not one of 'runs'", call.baseline),
                 ErrorCode::kInvalid};
  }
  return Routed{.call = std::move(call)};
}

Result<Routed> read_page(const RequestTarget& target, const HttpRequest&) {
  const Result<std::int64_t> key = parse_int(target.path[2]);
  if (!key.ok() || key.value() < 0) {
    return Error{"not a page number: " + in_quotes(target.path[2]), ErrorCode::kInvalid};
  }
  return Routed{.call = ShowPage{static_cast<std::size_t>(key.value())}};
}

Result<Routed> read_what_if(const RequestTarget& target, const HttpRequest&) {
  ShowWhatIf call;
  for (const auto& [name, part] : {std::pair("policy", &call.policy),
                                   {"mechanism", &call.mechanism},
                                   {"placement", &call.placement}}) {
    Result<std::string> text = name_or_none(target, name);
    if (!text.ok()) return text.error();
    *part = std::move(text.value());
  }
  const Result<std::optional<double>> since = seconds_or_none(target, "since");
  if (!since.ok()) return since.error();
  call.since = since.value();
  return Routed{.call = std::move(call)};
}

}  // namespace muster
