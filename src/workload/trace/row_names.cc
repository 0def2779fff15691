#include "workload/trace/row_names.h"

#include <fmt/format.h>

#include "base/file/csv.h"
#include "base/text/text.h"
#include "base/text/utf8.h"

namespace muster {

NameReader::NameReader(const FormatSpec& format, const Columns& columns,
                       const ProfileTable& profiles, Trace& trace)
    : format_(format), columns_(columns), profiles_(profiles), trace_(trace) {
  for (std::size_t i = 0; i < columns.fields.size(); ++i) {
    if (kind_of(columns.fields[i]) == FieldKind::kText) places_.push_back(i);
  }
}

MaybeError NameReader::read(const std::vector<std::string_view>& cells, TraceJob& job) {
  for (const std::size_t column : places_) {
    const bool missing = stands_for_nothing(format_, cells[column]);
    const std::string_view text = missing ? std::string_view() : cells[column];
    if (MaybeError refusal = read_cell(column, text, job)) return refusal;
  }
  return std::nullopt;
}

MaybeError NameReader::read_cell(std::size_t column, std::string_view text, TraceJob& job) {
  switch (columns_.fields[column]) {
    case Field::kId:
      return set_id(column, text, job);
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
    case Field::kGpuChoice:
      return set_choice(column, text, job);
    default:
      return std::nullopt;
  }
}

MaybeError NameReader::check_text(std::size_t column, std::string_view text) const {
  const char* const fault = text_fault(text);
  if (fault == nullptr) return std::nullopt;
  return columns_.fail(column, fmt::format("{}: {}", fault, in_quotes(text)));
}

MaybeError NameReader::set_id(std::size_t column, std::string_view text, TraceJob& job) const {
  if (text.empty()) return columns_.fail(column, "empty: ''");
  if (MaybeError refusal = check_text(column, text)) return refusal;
  job.id = text;
  return std::nullopt;
}

MaybeError NameReader::set_name(std::size_t column, std::string_view text, NameTable& table,
                                std::uint32_t& out) {
  const std::size_t known = table.size();
  out = table.intern(text);
  if (table.size() == known) return std::nullopt;  // Already checked when it was first added.
  return check_text(column, text);
}

MaybeError NameReader::set_model(std::size_t column, std::string_view text, TraceJob& job) {
  if (MaybeError refusal = set_name(column, text, trace_.models, job.model)) return refusal;
  if (job.model == model_profiles_.size()) model_profiles_.push_back(profiles_.find(text));
  const ProfileId profile = model_profiles_[job.model];
  const bool optional = format_.models == ModelRule::kProfile && text.empty();
  if (format_.models == ModelRule::kFreeText || optional) return std::nullopt;
  if (profile == ProfileTable::kUnknown) {
    const std::vector<std::string_view> known = profiles_.names();
    return columns_.fail(
        column, fmt::format("no profile of that name: {}{}", in_quotes(text),
                            known.empty() ? "; no profiles were given" : suggestion(text, known)));
  }
  if (format_.models == ModelRule::kTimedProfile && profiles_[profile].iteration_seconds() <= 0) {
    return columns_.fail(column, "its profile has no iteration time: " + in_quotes(text));
  }
  return std::nullopt;
}

// A job can require one GPU type or accept any. It cannot require one of several types.
MaybeError NameReader::set_choice(std::size_t column, std::string_view text, TraceJob& job) {
  if (text.find('|') == std::string_view::npos) {
    return set_name(column, text, trace_.gpu_types, job.gpu_type);
  }
  ++jobs_with_choice_;
  return check_text(column, text);
}

}  // namespace muster
