#include "workload/trace/row_reader.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/text/numbers.h"
#include "base/text/text.h"

namespace muster {

namespace {

// GPUs of a job whose instances need parts of them: what they come to together, rounded up, since
// the instances of one job may share a GPU. To the millionth, so that 100 times 0.07 is 7.
struct WholeGpus {
  std::int64_t gpus;
  bool rounded_up;
};

WholeGpus whole_gpus(double total) {
  constexpr std::int64_t kMillion = 1'000'000;
  std::int64_t millionths = std::llround(total * static_cast<double>(kMillion));
  if (millionths == 0 && total > 0) millionths = 1;
  return {(millionths + kMillion - 1) / kMillion, millionths % kMillion != 0};
}

bool needs_parts(const RowNumbers& row) {
  if (!row.gpu_parts) return row.gpu_milli < 1000;
  return whole_gpus(*row.gpu_parts * static_cast<double>(row.instances)).rounded_up;
}

// "LM (batch size 10)", as Gavel writes it, is LM with 10.
struct SizedModel {
  std::string_view model;
  std::int64_t batch;
};

SizedModel sized_model(std::string_view text, std::int64_t batch) {
  constexpr std::string_view kMark = " (batch size ";
  const std::size_t at = text.rfind(kMark);
  if (at == std::string_view::npos || !text.ends_with(')')) return {text, batch};
  std::string_view digits = text.substr(at + kMark.size());
  digits.remove_suffix(1);
  const std::optional<std::int64_t> size = whole_number(digits);
  if (!size || *size < 1) return {text, batch};
  return {text.substr(0, at), *size};
}

}  // namespace

RowReader::RowReader(const FormatSpec& format, Columns columns, const TraceFacts& facts,
                     Trace& trace)
    : format_(format),
      columns_(std::move(columns)),
      facts_(facts),
      trace_(trace),
      id_column_(columns_.find(Field::kId)),
      submit_column_(columns_.find(Field::kSubmit)),
      numbers_(format_, columns_),
      names_(format_, columns_, facts_.profiles, trace),
      tally_(format_) {}

Tally RowReader::tally() const {
  Tally tally = tally_;
  tally.several_types = names_.jobs_with_choice();
  return tally;
}

Refusal RowReader::read(const std::vector<std::string_view>& cells, std::size_t number,
                        std::optional<TraceJob>& kept) {
  TraceJob& job = kept.emplace();
  RowNumbers row;
  if (Refusal refusal = numbers_.read(cells, row)) return refusal;
  if (Refusal refusal = settle_gpus(row, job)) return refusal;
  if (const std::optional<LeftOut> reason = reason_to_leave_out(row, job)) {
    ++tally_.left_out[static_cast<std::size_t>(*reason)];
    kept.reset();
    return std::nullopt;
  }
  if (Refusal refusal = check_range(row, job)) return refusal;
  job.fewest = static_cast<std::int32_t>(row.fewest);
  job.most = static_cast<std::int32_t>(row.most);
  job.submit = Instant::at(row.submit ? *row.submit : *row.start);
  if (Refusal refusal = check_order(job)) return refusal;
  if (!id_column_) job.id = std::to_string(number);
  if (Refusal refusal = names_.read(cells, job)) return refusal;
  job.user_estimate = row.estimate;
  job.iterations = row.iterations;
  if (Refusal refusal = settle_duration(row, job)) return refusal;
  count(row, job, submit_column_ ? cells[*submit_column_] : std::string_view());
  return std::nullopt;
}

Refusal RowReader::settle_gpus(const RowNumbers& row, TraceJob& job) const {
  std::int64_t gpus = row.gpus ? *row.gpus : row.gpus_held.value_or(0);
  if (row.gpu_parts) {
    const double total = *row.gpu_parts * static_cast<double>(row.instances);
    if (total > static_cast<double>(kMostJobGpus)) {
      const Field field = columns_.find(Field::kGpuParts) ? Field::kGpuParts : Field::kGpuPercent;
      return columns_.fail(
          field, fmt::format("must come to at most {} GPUs: '{:g}'", kMostJobGpus, total));
    }
    gpus = whole_gpus(total).gpus;
  }
  job.gpus = static_cast<std::int32_t>(gpus);
  return std::nullopt;
}

// Of a whole row, since columns come in any order.
Refusal RowReader::check_range(const RowNumbers& row, const TraceJob& job) const {
  if (job.gpus == 0) return columns_.fail(Field::kGpus, "must be at least 1: '0'");
  const auto beyond = [&](Field field, std::string_view side, std::int64_t count) {
    return columns_.fail(field, fmt::format("{} its {} GPUs: '{}'", side, job.gpus, count));
  };
  if (row.fewest > job.gpus) return beyond(Field::kFewest, "above", row.fewest);
  if (row.most > 0 && row.most < job.gpus) return beyond(Field::kMost, "below", row.most);
  return std::nullopt;
}

std::optional<LeftOut> RowReader::reason_to_leave_out(const RowNumbers& row,
                                                      const TraceJob& job) const {
  if (format_.rows == Rows::kAll) return std::nullopt;
  const Outcome outcome = row.state ? format_.states[*row.state].outcome : Outcome::kDone;
  if (outcome == Outcome::kPart) return LeftOut::kPart;
  if (job.gpus == 0) return LeftOut::kNoGpus;
  if (outcome == Outcome::kNeverRan) return LeftOut::kNeverRan;
  if (outcome == Outcome::kNotEnded) return LeftOut::kNotEnded;
  if (format_.timing == Timing::kGiven && !row.duration) return LeftOut::kNeverRan;
  if (format_.timing != Timing::kClock) return std::nullopt;
  if (!row.start) return LeftOut::kNeverRan;
  if (!row.end) return LeftOut::kNotEnded;
  if (*row.end < *row.start) return LeftOut::kEndsEarly;
  return std::nullopt;
}

Refusal RowReader::check_order(const TraceJob& job) const {
  if (format_.rows == Rows::kUsable || !latest_ || job.submit >= *latest_) return std::nullopt;
  const std::size_t column = *columns_.find(Field::kSubmit);
  return columns_.fail(column,
                       fmt::format("{} is before {} of the line above; sort the file by {}",
                                   seconds_text(job.submit.us()), seconds_text(latest_->us()),
                                   columns_.names[*submit_column_]));
}

Refusal RowReader::settle_duration(const RowNumbers& row, TraceJob& job) const {
  switch (format_.timing) {
    case Timing::kGiven:
      job.duration = *row.duration;
      return std::nullopt;
    case Timing::kClock:
      job.duration = *row.end - *row.start;
      return std::nullopt;
    case Timing::kIterations: {
      const double each = facts_.profiles[names_.profile_of(job.model)].iteration_seconds();
      return set_duration(static_cast<double>(job.iterations) * each, each, job);
    }
    case Timing::kThroughput:
      return time_steps(row, job);
  }
  return std::nullopt;
}

Refusal RowReader::time_steps(const RowNumbers& row, TraceJob& job) const {
  const std::string& name = trace_.models[job.model];
  const bool steps_given = columns_.find(Field::kIterations).has_value();
  const auto [model, batch] = sized_model(name, row.batch);
  if (facts_.throughputs != nullptr) {
    if (const auto known = facts_.throughputs->find(model, batch, job.gpus)) {
      if (!steps_given) job.iterations = known->steps;
      if (!steps_given && known->steps == 0) {
        return columns_.fail(
            Field::kModel,
            "neither the trace nor the throughputs give its steps: " + in_quotes(name));
      }
      const double each = 1 / known->steps_per_second;
      return set_duration(static_cast<double>(job.iterations) * each, each, job);
    }
  }
  const double each = facts_.profiles[names_.profile_of(job.model)].iteration_seconds();
  if (steps_given && each > 0) {
    return set_duration(static_cast<double>(job.iterations) * each, each, job);
  }
  if (facts_.throughputs == nullptr) {
    return columns_.fail(
        Field::kModel,
        "its run time is not in the trace, and no throughputs were given: " + in_quotes(name));
  }
  const std::vector<std::string> others = facts_.throughputs->entries_of(model);
  return columns_.fail(Field::kModel,
                       fmt::format("no throughput with batch size {} on {} GPU{}: {}{}", batch,
                                   job.gpus, job.gpus == 1 ? "" : "s", in_quotes(model),
                                   others.empty() ? suggestion(model, facts_.throughputs->models())
                                                  : "; there is " + first_few(others)));
}

Refusal RowReader::set_duration(double seconds, double each, TraceJob& job) const {
  if (seconds > kLongestDuration.in_seconds()) {
    const Field field = columns_.find(Field::kIterations) ? Field::kIterations : Field::kModel;
    return columns_.fail(field,
                         fmt::format("too long a time at {} s each: '{}'", each, job.iterations));
  }
  job.duration = Duration::micros(std::llround(seconds * 1e6));
  return std::nullopt;
}

void RowReader::count(const RowNumbers& row, const TraceJob& job, std::string_view submit_text) {
  if (row.state && format_.states[*row.state].outcome == Outcome::kCutShort) {
    ++tally_.cut_short[*row.state];
  }
  if (needs_parts(row)) ++tally_.rounded_up;
  if (latest_ && job.submit < *latest_) ++tally_.late;
  if (!latest_ || job.submit > *latest_) latest_ = job.submit;
  if (!earliest_ || job.submit < *earliest_) {
    earliest_ = job.submit;
    if (format_.has_dates) first_date_ = submit_text;
  }
}

}  // namespace muster
