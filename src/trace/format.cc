#include "trace/format.h"

#include <algorithm>

#include "base/text.h"

namespace muster {

namespace {

constexpr FormatColumn kMusterColumns[] = {
    {"job_id", Field::kId, Need::kOptional},
    {"submit_s", Field::kSubmit, Need::kRequired},
    {"gpus", Field::kGpus, Need::kRequired},
    {"min_gpus", Field::kFewest, Need::kOptional},
    {"max_gpus", Field::kMost, Need::kOptional},
    {"duration_s", Field::kDuration, Need::kRequired},
    {"estimate_s", Field::kEstimate, Need::kOptional},
    {"user", Field::kUser, Need::kOptional},
    {"tenant", Field::kTenant, Need::kOptional},
    {"name", Field::kName, Need::kOptional},
    {"model", Field::kModel, Need::kOptional},
    {"gpu_type", Field::kGpuType, Need::kOptional},
    {"iterations", Field::kIterations, Need::kOptional},
};

constexpr FormatColumn kTiresiasColumns[] = {
    {"job_id", Field::kId, Need::kOptional},
    {"num_gpu", Field::kGpus, Need::kRequired},
    {"submit_time", Field::kSubmit, Need::kRequired},
    {"iterations", Field::kIterations, Need::kOptional},
    {"model_name", Field::kModel, Need::kOptional},
    {"duration", Field::kDuration, Need::kRequired},
    {"interval", Field::kIgnored, Need::kOptional},  // The gap to the next job: says nothing new.
};

constexpr FormatColumn kSynergyColumns[] = {
    {"job_id", Field::kId, Need::kRequired},
    {"model", Field::kModel, Need::kRequired},
    {"arrival_seconds", Field::kSubmit, Need::kRequired},
    {"total_iterations", Field::kIterations, Need::kRequired},
    {"gpu_demand", Field::kGpus, Need::kRequired},
};

constexpr FormatColumn kPhillyColumns[] = {
    {"job_id", Field::kId, Need::kOptional},
    {"vc", Field::kTenant, Need::kOptional},
    {"submit_time_s", Field::kSubmit, Need::kRequired},
    {"num_gpus", Field::kGpus, Need::kRequired},
    {"duration_s", Field::kDuration, Need::kRequired},
};

constexpr FormatColumn kPhillyVcsColumns[] = {
    {"job_id", Field::kId, Need::kOptional},
    {"vc", Field::kTenant, Need::kOptional},
    {"submit_time_s", Field::kSubmit, Need::kRequired},
    {"num_gpus", Field::kGpus, Need::kRequired},
    {"duration_s", Field::kDuration, Need::kRequired},
    {"model", Field::kModel, Need::kOptional},
    {"vc_rel_submit_s", Field::kIgnored, Need::kOptional},  // The same arrival on the VC's clock.
};

constexpr FormatSpec kSpecs[] = {
    {"muster", kMusterColumns, ModelRule::kProfile, true, true},
    {"tiresias", kTiresiasColumns, ModelRule::kFreeText, true, false},
    {"synergy", kSynergyColumns, ModelRule::kTimedProfile, false, false},
    {"philly", kPhillyColumns, ModelRule::kFreeText, true, false},
    {"philly-vcs", kPhillyVcsColumns, ModelRule::kFreeText, true, false},
};

bool looks_like_synergy(const std::vector<std::string_view>& fields) {
  return fields.size() == std::size(kSynergyColumns) && parse_number(fields[2]).ok() &&
         parse_number(fields[3]).ok() && parse_number(fields[4]).ok();
}

}  // namespace

const FormatSpec* find_format(std::string_view name) {
  for (const FormatSpec& spec : kSpecs) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

const FormatSpec* detect_format(const std::vector<std::string_view>& first_line) {
  if (looks_like_synergy(first_line)) return find_format("synergy");
  const FormatSpec* best = nullptr;
  std::ptrdiff_t best_count = 1;  // One column of a common name is no sign of anything.
  for (const FormatSpec& spec : kSpecs) {
    if (!spec.has_header) continue;
    const auto named = [&](const FormatColumn& column) {
      return std::find(first_line.begin(), first_line.end(), column.name) != first_line.end();
    };
    const auto count = std::count_if(spec.columns.begin(), spec.columns.end(), named);
    if (count > best_count) {
      best_count = count;
      best = &spec;
    }
  }
  return best;
}

}  // namespace muster
