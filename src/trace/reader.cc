#include "trace/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/topology.h"
#include "trace/csv.h"
#include "trace/format.h"
#include "trace/text_file.h"
#include "trace/values.h"

namespace muster {

namespace {

constexpr std::int64_t kMostGpus = std::int64_t{kMostNodes} * kMostGpusPerNode;

class Parser {
 public:
  Parser(std::string_view text, std::string_view source, const FormatSpec* format,
         const ProfileTable& profiles)
      : text_(text), lines_(text), format_(format), profiles_(profiles) {
    trace_.source = source;
    const auto rows = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    trace_.jobs.reserve(std::min<std::size_t>(rows, 1'000'000));  // A guess must not cost much.
  }

  Result<Trace> run();

 private:
  bool says_nothing(std::string_view line) const;  // Blank, or a comment where there are such.
  bool next_line();  // Goes to the next line that says something; false at the end.
  std::int64_t line_of(std::size_t job) const;
  Refusal split_line();
  Refusal start();  // Settles the format and the columns from the first line.
  Refusal map_header();
  Refusal parse_row();
  Refusal parse_field(std::size_t column, std::string_view text, TraceJob& job);
  Refusal set_id(std::size_t column, std::string_view text, TraceJob& job);
  Refusal set_gpus(std::size_t column, std::string_view text, std::int32_t& out);
  Refusal set_submit(std::size_t column, std::string_view text, TraceJob& job);
  Refusal set_model(std::size_t column, std::string_view text, TraceJob& job);
  Refusal set_seconds(std::size_t column, std::string_view text, Duration& out);
  Refusal set_count(std::size_t column, std::string_view text, std::int64_t& out);
  Refusal set_name(std::size_t column, std::string_view text, NameTable& table, std::uint32_t& out);
  Refusal check_gpus(const TraceJob& job) const;
  Refusal derive_duration(TraceJob& job);
  void note_models();

  Error fail(std::string_view what) const {
    return {fmt::format("{}:{}: {}", trace_.source, lines_.number(), what)};
  }
  Error fail(std::size_t column, std::string_view what) const {
    return fail(fmt::format("{}: {}", names_[column], what));
  }
  std::size_t column_of(Field field) const {
    return static_cast<std::size_t>(std::find(fields_.begin(), fields_.end(), field) -
                                    fields_.begin());
  }

  Trace trace_;
  std::string_view text_;
  LineReader lines_;
  FieldSplitter splitter_;
  const FormatSpec* format_;
  const ProfileTable& profiles_;
  std::vector<std::string> names_;  // Columns as the file names them, and what each fills in.
  std::vector<Field> fields_;
  bool ids_given_ = false;
  std::int64_t first_row_line_ = 0;
  IdCheck ids_;
  std::vector<ProfileId> model_profiles_ = {ProfileTable::kUnknown};  // By model.
};

bool Parser::says_nothing(std::string_view line) const {
  const bool comments = format_ == nullptr || format_->is_ours;
  return (comments && line.starts_with('#')) || trim(line).empty();
}

bool Parser::next_line() {
  while (lines_.next()) {
    if (!says_nothing(lines_.line())) return true;
  }
  return false;
}

// Only errors ask for this, so it is cheaper to look again than to remember the line of every job.
std::int64_t Parser::line_of(std::size_t job) const {
  LineReader lines(text_);
  while (lines.next() && lines.number() < first_row_line_) {
  }
  while (job > 0 && lines.next()) {
    if (!says_nothing(lines.line())) --job;
  }
  return lines.number();
}

Refusal Parser::split_line() {
  if (lines_.line().size() > kLongestLine) {
    return fail(
        fmt::format("line longer than {} bytes: {}", kLongestLine, in_quotes(lines_.line())));
  }
  if (const Refusal refusal = splitter_.split(lines_.line())) return fail(refusal->message);
  return std::nullopt;
}

Refusal Parser::start() {
  if (!next_line()) {
    return Error{fmt::format("{}:1: no jobs: the file is empty", trace_.source)};
  }
  if (Refusal refusal = split_line()) return refusal;
  if (format_ == nullptr) format_ = detect_format(splitter_.fields());
  if (format_ == nullptr) {
    std::vector<std::string_view> names;
    for (const TraceFormat& format : trace_formats()) names.push_back(format.name);
    return fail(fmt::format("header: of no trace format we know: {}; one of: {}",
                            in_quotes(lines_.line()), fmt::join(names, ", ")));
  }
  trace_.format = format_->name;
  if (format_->has_header) {
    if (Refusal refusal = map_header()) return refusal;
  } else {
    for (const FormatColumn& column : format_->columns) {
      names_.emplace_back(column.name);
      fields_.push_back(column.field);
    }
  }
  ids_given_ = std::find(fields_.begin(), fields_.end(), Field::kId) != fields_.end();
  return format_->has_header ? std::nullopt : parse_row();
}

Refusal Parser::map_header() {
  std::vector<std::string_view> known;
  for (const FormatColumn& column : format_->columns) known.push_back(column.name);
  std::vector<std::string> unused;
  for (const std::string_view name : splitter_.fields()) {
    names_.emplace_back(name);
    if (const char* fault = text_fault(name)) {
      return fail(fmt::format("header: {}: {}", fault, in_quotes(name)));
    }
    const auto at = std::find(known.begin(), known.end(), name);
    if (at == known.end()) {
      if (format_->is_ours) {
        return fail(
            fmt::format("header: unknown column: {}{}", in_quotes(name), suggestion(name, known)));
      }
      unused.push_back(in_quotes(name));
      fields_.push_back(Field::kIgnored);
      continue;
    }
    if (std::find(names_.begin(), names_.end() - 1, name) != names_.end() - 1) {
      return fail(fmt::format("{}: column named twice: {}", name, in_quotes(name)));
    }
    fields_.push_back(format_->columns[static_cast<std::size_t>(at - known.begin())].field);
  }
  for (const FormatColumn& column : format_->columns) {
    if (column.need == Need::kOptional) continue;
    if (std::find(names_.begin(), names_.end(), column.name) != names_.end()) continue;
    return fail(fmt::format("{}: column missing from the header: {}", column.name,
                            in_quotes(lines_.line())));
  }
  if (!unused.empty()) {
    trace_.notes.push_back(fmt::format("{} column{} not used: {}", unused.size(),
                                       unused.size() == 1 ? " is" : "s are", first_few(unused)));
  }
  return std::nullopt;
}

Refusal Parser::parse_row() {
  const std::vector<std::string_view>& cells = splitter_.fields();
  if (cells.size() != fields_.size()) {
    return fail(fmt::format("columns: {} where the {} {}: {}", cells.size(),
                            format_->has_header ? "header has" : "format has", fields_.size(),
                            in_quotes(lines_.line())));
  }
  if (trace_.jobs.size() == kMostJobs) {
    return fail(fmt::format("more than {} jobs, the most we read", kMostJobs));
  }
  if (trace_.jobs.empty()) first_row_line_ = lines_.number();
  TraceJob job;
  if (!ids_given_) job.id = std::to_string(trace_.jobs.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (Refusal refusal = parse_field(i, cells[i], job)) return refusal;
  }
  if (Refusal refusal = check_gpus(job)) return refusal;
  if (format_->models == ModelRule::kTimedProfile) {
    if (Refusal refusal = derive_duration(job)) return refusal;
  }
  trace_.jobs.push_back(std::move(job));
  return std::nullopt;
}

Refusal Parser::parse_field(std::size_t column, std::string_view text, TraceJob& job) {
  switch (fields_[column]) {
    case Field::kIgnored:
      return std::nullopt;
    case Field::kId:
      return set_id(column, text, job);
    case Field::kSubmit:
      return set_submit(column, text, job);
    case Field::kGpus:
      return set_gpus(column, text, job.gpus);
    case Field::kFewest:
      if (text.empty()) return std::nullopt;
      return set_gpus(column, text, job.fewest);
    case Field::kMost:
      if (text.empty()) return std::nullopt;
      return set_gpus(column, text, job.most);
    case Field::kDuration:
      return set_seconds(column, text, job.duration);
    case Field::kEstimate:
      if (text.empty()) return std::nullopt;
      return set_seconds(column, text, job.user_estimate);
    case Field::kIterations:
      if (text.empty() && format_->models != ModelRule::kTimedProfile) return std::nullopt;
      return set_count(column, text, job.iterations);
    case Field::kModel:
      return set_model(column, text, job);
    case Field::kUser:
      return set_name(column, text, trace_.users, job.user);
    case Field::kTenant:
      return set_name(column, text, trace_.tenants, job.tenant);
    case Field::kName:
      return set_name(column, text, trace_.names, job.name);
    case Field::kGpuType:
      return set_name(column, text, trace_.gpu_types, job.gpu_type);
  }
  return std::nullopt;
}

Refusal Parser::set_id(std::size_t column, std::string_view text, TraceJob& job) {
  if (text.empty()) return fail(column, "empty: ''");
  if (const char* fault = text_fault(text)) {
    return fail(column, fmt::format("{}: {}", fault, in_quotes(text)));
  }
  if (const std::optional<std::size_t> earlier = ids_.seen(trace_.jobs, text)) {
    return fail(column, fmt::format("given twice: {}; first on line {}", in_quotes(text),
                                    line_of(*earlier)));
  }
  job.id = text;
  return std::nullopt;
}

Refusal Parser::set_submit(std::size_t column, std::string_view text, TraceJob& job) {
  Duration since_start;
  if (Refusal refusal = set_seconds(column, text, since_start)) return refusal;
  job.submit = Instant::at(since_start);
  if (!trace_.jobs.empty() && job.submit < trace_.jobs.back().submit) {
    return fail(column, fmt::format("{} is before {} of the line above; sort the file by {}",
                                    seconds_text(job.submit.us()),
                                    seconds_text(trace_.jobs.back().submit.us()), names_[column]));
  }
  return std::nullopt;
}

Refusal Parser::set_gpus(std::size_t column, std::string_view text, std::int32_t& out) {
  std::int64_t gpus = 0;
  if (Refusal refusal = set_count(column, text, gpus)) return refusal;
  if (gpus > kMostGpus) {
    return fail(column, fmt::format("must be at most {}: {}", kMostGpus, in_quotes(text)));
  }
  out = static_cast<std::int32_t>(gpus);
  return std::nullopt;
}

// Of a whole row, since columns come in any order.
Refusal Parser::check_gpus(const TraceJob& job) const {
  if (job.gpus == 0) return fail(column_of(Field::kGpus), "must be at least 1: '0'");
  const auto beyond = [&](Field field, std::string_view side, std::int32_t count) {
    return fail(column_of(field), fmt::format("{} its {} GPUs: '{}'", side, job.gpus, count));
  };
  if (job.fewest > job.gpus) return beyond(Field::kFewest, "above", job.fewest);
  if (job.most > 0 && job.most < job.gpus) return beyond(Field::kMost, "below", job.most);
  return std::nullopt;
}

Refusal Parser::set_seconds(std::size_t column, std::string_view text, Duration& out) {
  if (const std::optional<Duration> plain = plain_seconds(text)) {
    out = *plain;
    return std::nullopt;
  }
  const Result<Duration> seconds = parse_seconds(text);
  if (!seconds.ok()) return fail(column, seconds.error().message);
  out = seconds.value();
  return std::nullopt;
}

Refusal Parser::set_count(std::size_t column, std::string_view text, std::int64_t& out) {
  const std::optional<std::int64_t> count = whole_number(text);
  if (!count) return fail(column, parse_int(text).error().message);
  if (*count < 0) return fail(column, "negative: " + in_quotes(text));
  out = *count;
  return std::nullopt;
}

Refusal Parser::set_name(std::size_t column, std::string_view text, NameTable& table,
                         std::uint32_t& out) {
  const std::size_t known = table.size();
  out = table.intern(text);
  if (table.size() == known) return std::nullopt;  // Looked at when it was first seen.
  if (const char* fault = text_fault(text)) {
    return fail(column, fmt::format("{}: {}", fault, in_quotes(text)));
  }
  return std::nullopt;
}

Refusal Parser::set_model(std::size_t column, std::string_view text, TraceJob& job) {
  if (Refusal refusal = set_name(column, text, trace_.models, job.model)) return refusal;
  if (job.model == model_profiles_.size()) model_profiles_.push_back(profiles_.find(text));
  const ProfileId profile = model_profiles_[job.model];
  const bool optional = format_->models == ModelRule::kProfile && text.empty();
  if (format_->models == ModelRule::kFreeText || optional) return std::nullopt;
  if (profile == ProfileTable::kUnknown) {
    const std::vector<std::string_view> known = profiles_.names();
    return fail(column,
                fmt::format("no profile of that name: {}{}", in_quotes(text),
                            known.empty() ? "; no profiles were given" : suggestion(text, known)));
  }
  if (format_->models == ModelRule::kTimedProfile && profiles_[profile].iteration_seconds() <= 0) {
    return fail(column, "its profile does not say how long an iteration takes: " + in_quotes(text));
  }
  return std::nullopt;
}

Refusal Parser::derive_duration(TraceJob& job) {
  const Profile& profile = profiles_[model_profiles_[job.model]];
  const double seconds = static_cast<double>(job.iterations) * profile.iteration_seconds();
  if (seconds > kLongestDuration.in_seconds()) {
    return fail(column_of(Field::kIterations),
                fmt::format("too long a time at {} s each: '{}'", profile.iteration_seconds(),
                            job.iterations));
  }
  job.duration = Duration::micros(std::llround(seconds * 1e6));
  return std::nullopt;
}

void Parser::note_models() {
  std::vector<bool> counted(trace_.models.size(), false);
  std::vector<std::string> names;
  std::size_t jobs = 0;
  for (const TraceJob& job : trace_.jobs) {
    if (job.model == 0 || model_profiles_[job.model] != ProfileTable::kUnknown) continue;
    ++jobs;
    if (!counted[job.model]) names.push_back(trace_.models[job.model]);
    counted[job.model] = true;
  }
  if (jobs == 0) return;
  trace_.notes.push_back(
      fmt::format("{} without a profile: {}",
                  jobs == 1 ? "1 job has a model" : fmt::format("{} jobs have models", jobs),
                  first_few(names)));
}

Result<Trace> Parser::run() {
  if (const Refusal refusal = start()) return *refusal;
  while (next_line()) {
    if (const Refusal refusal = split_line()) return *refusal;
    if (const Refusal refusal = parse_row()) return *refusal;
  }
  if (trace_.jobs.empty()) return fail("no jobs: nothing after the header");
  note_models();
  return std::move(trace_);
}

Result<const FormatSpec*> choose_format(std::string_view name) {
  if (name.empty()) return nullptr;
  if (const FormatSpec* format = find_format(name)) return format;
  std::vector<std::string_view> names;
  for (const TraceFormat& format : trace_formats()) names.push_back(format.name);
  return Error{
      fmt::format("format: no such trace format: {}{}", in_quotes(name), suggestion(name, names))};
}

}  // namespace

Result<Trace> read_trace(const std::string& path, std::string_view format,
                         const ProfileTable& profiles) {
  if (const Result<const FormatSpec*> chosen = choose_format(format); !chosen.ok()) {
    return chosen.error();
  }
  const Result<std::string> text = read_text_file(path);
  if (!text.ok()) return text.error();
  return parse_trace(text.value(), path, format, profiles);
}

Result<Trace> parse_trace(std::string_view text, std::string_view source_name,
                          std::string_view format, const ProfileTable& profiles) {
  const Result<const FormatSpec*> chosen = choose_format(format);
  if (!chosen.ok()) return chosen.error();
  if (looks_binary(text)) return Error{fmt::format("{}:1: not a text file", source_name)};
  return Parser(text, source_name, chosen.value(), profiles).run();
}

}  // namespace muster
