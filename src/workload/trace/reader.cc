#include "workload/trace/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/file/csv.h"
#include "base/file/text_file.h"
#include "base/text/text.h"
#include "workload/trace/columns.h"
#include "workload/trace/format.h"
#include "workload/trace/read_summary.h"
#include "workload/trace/row_reader.h"
#include "workload/trace/values.h"

namespace muster {

namespace {

std::vector<std::string_view> format_names() {
  std::vector<std::string_view> names;
  for (const TraceFormat& format : trace_formats()) names.push_back(format.name);
  return names;
}

class Parser {
 public:
  // REQUIRES: format_name is empty or the name of a format.
  Parser(std::string_view text, std::string_view source, std::string_view format_name,
         const TraceFacts& facts)
      : text_(text),
        lines_(text),
        format_name_(format_name),
        format_(find_format(format_name)),
        facts_(facts) {
    trace_.source = source;
    const auto rows = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    // Limited, because most lines may turn out not to be jobs.
    trace_.jobs.reserve(std::min<std::size_t>(rows, 1'000'000));
  }

  Result<Trace> run();

 private:
  bool is_blank_or_comment(std::string_view line) const;
  bool next_line();  // Advances to the next line with content; returns false at the end.
  std::int64_t line_of(std::string_view id) const;
  MaybeError split_line();
  MaybeError start();  // Determines the format and the columns from the first line.
  MaybeError parse_row();
  MaybeError check_id(const TraceJob& job);
  void settle_times();
  void note_columns();
  void note_models();

  Error fail(std::string_view what) const {
    return {fmt::format("{}:{}: {}", trace_.source, lines_.number(), what)};
  }

  Trace trace_;
  std::string_view text_;
  LineReader lines_;
  FieldSplitter splitter_;
  std::string_view format_name_;
  const FormatSpec* format_;  // Before the first line: any variant of that name, or null.
  TraceFacts facts_;
  std::optional<RowReader> rows_;
  std::size_t row_count_ = 0;
  std::int64_t first_row_line_ = 0;
  std::optional<std::size_t> id_column_;
  IdCheck ids_;
};

bool Parser::is_blank_or_comment(std::string_view line) const {
  if (trim(line).empty()) return true;
  if (format_ == nullptr) return line.starts_with('#') || line.starts_with(';');
  return format_->comment != '\0' && line.front() == format_->comment;
}

bool Parser::next_line() {
  while (lines_.next()) {
    if (!is_blank_or_comment(lines_.line())) return true;
  }
  return false;
}

// Only errors need this, so it is cheaper to read the file again than to store the line of each
// job.
std::int64_t Parser::line_of(std::string_view id) const {
  LineReader lines(text_);
  FieldSplitter splitter;
  while (lines.next()) {
    if (lines.number() < first_row_line_ || is_blank_or_comment(lines.line())) continue;
    if (splitter.split(lines.line(), format_->separator)) continue;
    if (splitter.fields().size() > *id_column_ && splitter.fields()[*id_column_] == id) break;
  }
  return lines.number();
}

MaybeError Parser::split_line() {
  if (lines_.line().size() > kLongestLine) {
    return fail(
        fmt::format("line longer than {} bytes: {}", kLongestLine, in_quotes(lines_.line())));
  }
  const Separator separator = format_ == nullptr ? Separator::kComma : format_->separator;
  if (const MaybeError refusal = splitter_.split(lines_.line(), separator)) {
    return fail(refusal->message);
  }
  return std::nullopt;
}

MaybeError Parser::start() {
  if (!next_line()) {
    return Error{fmt::format("{}:1: no jobs: the file is empty", trace_.source)};
  }
  if (lines_.line().size() <= kLongestLine) format_ = detect_format(lines_.line(), format_name_);
  if (MaybeError refusal = split_line()) return refusal;
  if (format_ == nullptr) {
    return fail(fmt::format("header: matches no known trace format: {}; known formats: {}",
                            in_quotes(lines_.line()), fmt::join(format_names(), ", ")));
  }
  trace_.format = format_->name;
  Result<Columns> columns = format_->has_header
                                ? map_header(*format_, splitter_.fields(), lines_.line())
                                : plain_columns(*format_);
  if (!columns.ok()) return fail(columns.error().message);
  id_column_ = columns.value().find(Field::kId);
  rows_.emplace(*format_, std::move(columns).value(), facts_, trace_);
  note_columns();
  return format_->has_header ? std::nullopt : parse_row();
}

MaybeError Parser::parse_row() {
  const std::vector<std::string_view>& cells = splitter_.fields();
  const std::size_t width = rows_->columns().fields.size();
  if (cells.size() != width) {
    return fail(fmt::format("columns: {} where the {} has {}: {}", cells.size(),
                            format_->has_header ? "header" : "format", width,
                            in_quotes(lines_.line())));
  }
  if (trace_.jobs.size() == kMaxJobs) {
    return fail(fmt::format("too many jobs; the maximum is {}", kMaxJobs));
  }
  if (row_count_ == 0) first_row_line_ = lines_.number();
  std::optional<TraceJob> job;
  if (const MaybeError refusal = rows_->read(cells, row_count_++, job))
    return fail(refusal->message);
  if (!job) return std::nullopt;
  if (MaybeError refusal = check_id(*job)) return refusal;
  trace_.jobs.push_back(std::move(*job));
  return std::nullopt;
}

MaybeError Parser::check_id(const TraceJob& job) {
  if (!id_column_ || !ids_.seen(trace_.jobs, job.id)) return std::nullopt;
  return fail(fmt::format("{}: given twice: {}; first on line {}",
                          rows_->columns().names[*id_column_], in_quotes(job.id), line_of(job.id)));
}

// Sorts the jobs by arrival and converts dates to seconds since the first submission.
void Parser::settle_times() {
  if (rows_->tally().late > 0) {
    std::stable_sort(trace_.jobs.begin(), trace_.jobs.end(),
                     [](const TraceJob& a, const TraceJob& b) { return a.submit < b.submit; });
    renumber_names(trace_);
  }
  if (!format_->has_dates) return;
  const Duration zero = trace_.jobs.front().submit - Instant();
  for (TraceJob& job : trace_.jobs) job.submit = job.submit - zero;
  trace_.notes.push_back(fmt::format("time 0 is {}", rows_->first_date()));
}

void Parser::note_columns() {
  const std::vector<std::string>& unused = rows_->columns().unused;
  if (unused.empty()) return;
  trace_.notes.push_back(fmt::format("{} column{} not used: {}", unused.size(),
                                     unused.size() == 1 ? " is" : "s are", first_few(unused)));
}

void Parser::note_models() {
  std::vector<std::size_t> jobs_of(trace_.models.size(), 0);
  for (const TraceJob& job : trace_.jobs) ++jobs_of[job.model];
  std::vector<std::string> names;
  std::size_t jobs = 0;
  for (std::uint32_t model = 1; model < trace_.models.size(); ++model) {
    if (facts_.profiles.find(trace_.models[model]) != ProfileTable::kUnknown) continue;
    names.push_back(trace_.models[model]);
    jobs += jobs_of[model];
  }
  if (jobs == 0) return;
  trace_.notes.push_back(
      fmt::format("{} without a profile: {}",
                  jobs == 1 ? "1 job has a model" : fmt::format("{} jobs have models", jobs),
                  first_few(names)));
}

Result<Trace> Parser::run() {
  if (const MaybeError refusal = start()) return *refusal;
  while (next_line()) {
    if (const MaybeError refusal = split_line()) return *refusal;
    if (const MaybeError refusal = parse_row()) return *refusal;
  }
  if (row_count_ == 0) return fail("no jobs: nothing after the header");
  const std::vector<std::string> changes = notes_of(rows_->tally(), *format_);
  if (trace_.jobs.empty()) {
    return fail(fmt::format("no jobs: {}", fmt::join(changes, "; ")));
  }
  if (!format_->note.empty()) trace_.notes.emplace_back(format_->note);
  trace_.notes.insert(trace_.notes.end(), changes.begin(), changes.end());
  settle_times();
  note_models();
  return std::move(trace_);
}

MaybeError check_format(std::string_view name) {
  if (name.empty() || find_format(name) != nullptr) return std::nullopt;
  return Error{fmt::format("format: no such trace format: {}{}", in_quotes(name),
                           suggestion(name, format_names()))};
}

}  // namespace

std::vector<TraceFormat> trace_formats() {
  std::vector<TraceFormat> formats;
  for (const FormatSpec& spec : format_specs()) {
    if (!spec.doc.empty()) formats.push_back({spec.name, spec.doc});
  }
  return formats;
}

Result<Trace> read_trace(const std::string& path, std::string_view format,
                         const ProfileTable& profiles, const ThroughputTable* throughputs) {
  if (const MaybeError refusal = check_format(format)) return *refusal;
  const Result<std::string> text = read_text_file(path);
  if (!text.ok()) return text.error();
  return parse_trace(text.value(), path, format, profiles, throughputs);
}

Result<Trace> parse_trace(std::string_view text, std::string_view source_name,
                          std::string_view format, const ProfileTable& profiles,
                          const ThroughputTable* throughputs) {
  if (const MaybeError refusal = check_format(format)) return *refusal;
  if (looks_binary(text)) return Error{fmt::format("{}:1: not a text file", source_name)};
  return Parser(text, source_name, format, {profiles, throughputs}).run();
}

}  // namespace muster
