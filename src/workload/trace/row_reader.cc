#include "workload/trace/row_reader.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/text/numbers.h"
#include "base/text/text.h"

namespace muster {

namespace {

// GPUs of a job whose instances need fractions of GPUs. The total is rounded up, not each instance,
// because instances of one job may share a GPU. Precise to a millionth, so that 100 * 0.07 is 7.
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

// A model name and a batch size. Gavel writes both as "LM (batch size 10)".
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

ReadSummary RowReader::tally() const {
  ReadSummary tally = tally_;
  tally.several_types = names_.jobs_with_choice();
  return tally;
}

MaybeError RowReader::read(const std::vector<std::string_view>& cells, std::size_t number,
                           std::optional<TraceJob>& kept) {
  TraceJob& job = kept.emplace();
  RowNumbers row;
  if (MaybeError refusal = numbers_.read(cells, row)) return refusal;
  if (MaybeError refusal = settle_gpus(row, job)) return refusal;
  if (const std::optional<SkippedRows> reason = reason_to_leave_out(row, job)) {
    ++tally_.left_out[static_cast<std::size_t>(*reason)];
    kept.reset();
    return std::nullopt;
  }
  if (MaybeError refusal = check_range(row, job)) return refusal;
  job.fewest = static_cast<std::int32_t>(row.fewest);
  job.most = static_cast<std::int32_t>(row.most);
  job.submit = Instant::at(row.submit ? *row.submit : *row.start);
  if (MaybeError refusal = check_order(job)) return refusal;
  if (!id_column_) job.id = std::to_string(number);
  if (MaybeError refusal = names_.read(cells, job)) return refusal;
  job.user_estimate = row.estimate;
  job.iterations = row.iterations;
  if (MaybeError refusal = settle_duration(row, job)) return refusal;
  count(row, job, submit_column_ ? cells[*submit_column_] : std::string_view());
  return std::nullopt;
}

MaybeError RowReader::settle_gpus(const RowNumbers& row, TraceJob& job) const {
  std::int64_t gpus = row.gpus ? *row.gpus : row.gpus_held.value_or(0);
  if (row.gpu_parts) {
    const double total = *row.gpu_parts * static_cast<double>(row.instances);
    if (total > static_cast<double>(kMaxJobGpus)) {
      const Field field = columns_.find(Field::kGpuParts) ? Field::kGpuParts : Field::kGpuPercent;
      return columns_.fail(
          field, fmt::format("must be at most {} GPUs in total: '{:g}'", kMaxJobGpus, total));
    }
    gpus = whole_gpus(total).gpus;
  }
  job.gpus = static_cast<std::int32_t>(gpus);
  return std::nullopt;
}

// Checks a whole row, because columns can be in any order.
MaybeError RowReader::check_range(const RowNumbers& row, const TraceJob& job) const {
  if (job.gpus == 0) return columns_.fail(Field::kGpus, "must be at least 1: '0'");
  const auto beyond = [&](Field field, std::string_view side, std::int64_t count) {
    return columns_.fail(field, fmt::format("{} the job's {} GPUs: '{}'", side, job.gpus, count));
  };
  if (row.fewest > job.gpus) return beyond(Field::kMin, "above", row.fewest);
  if (row.most > 0 && row.most < job.gpus) return beyond(Field::kMax, "below", row.most);
  return std::nullopt;
}

std::optional<SkippedRows> RowReader::reason_to_leave_out(const RowNumbers& row,
                                                          const TraceJob& job) const {
  if (format_.rows == Rows::kAll) return std::nullopt;
  const Outcome outcome = row.state ? format_.states[*row.state].outcome : Outcome::kDone;
  if (outcome == Outcome::kPart) return SkippedRows::kPart;
  if (job.gpus == 0) return SkippedRows::kNoGpus;
  if (outcome == Outcome::kNeverRan) return SkippedRows::kNeverRan;
  if (outcome == Outcome::kNotEnded) return SkippedRows::kNotEnded;
  if (format_.timing == Timing::kGiven && !row.duration) return SkippedRows::kNeverRan;
  if (format_.timing != Timing::kClock) return std::nullopt;
  if (!row.start) return SkippedRows::kNeverRan;
  if (!row.end) return SkippedRows::kNotEnded;
  if (*row.end < *row.start) return SkippedRows::kEndsEarly;
  return std::nullopt;
}

MaybeError RowReader::check_order(const TraceJob& job) const {
  if (format_.rows == Rows::kUsable || !latest_ || job.submit >= *latest_) return std::nullopt;
  const std::size_t column = *columns_.find(Field::kSubmit);
  return columns_.fail(column,
                       fmt::format("{} is earlier than {} in a line above; sort the file by {}",
                                   seconds_text(job.submit.us()), seconds_text(latest_->us()),
                                   columns_.names[*submit_column_]));
}

MaybeError RowReader::settle_duration(const RowNumbers& row, TraceJob& job) const {
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

MaybeError RowReader::time_steps(const RowNumbers& row, TraceJob& job) const {
  const std::string& name = trace_.models[job.model];
  const bool steps_given = columns_.find(Field::kIterations).has_value();
  const auto [model, batch] = sized_model(name, row.batch);
  if (facts_.throughputs != nullptr) {
    if (const auto known = facts_.throughputs->find(model, batch, job.gpus)) {
      if (!steps_given) job.iterations = known->steps;
      if (!steps_given && known->steps == 0) {
        return columns_.fail(
            Field::kModel,
            "its number of steps is in neither the trace nor the throughputs: " + in_quotes(name));
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
    return columns_.fail(Field::kModel,
                         "the trace has no run time; use --throughputs FILE: " + in_quotes(name));
  }
  const std::vector<std::string> others = facts_.throughputs->entries_of(model);
  return columns_.fail(Field::kModel,
                       fmt::format("no throughput with batch size {} on {} GPU{}: {}{}", batch,
                                   job.gpus, job.gpus == 1 ? "" : "s", in_quotes(model),
                                   others.empty() ? suggestion(model, facts_.throughputs->models())
                                                  : "; available: " + first_few(others)));
}

MaybeError RowReader::set_duration(double seconds, double each, TraceJob& job) const {
  if (seconds > kLongestDuration.in_seconds()) {
    const Field field = columns_.find(Field::kIterations) ? Field::kIterations : Field::kModel;
    return columns_.fail(
        field, fmt::format("run time too long at {} s per step: '{}'", each, job.iterations));
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
