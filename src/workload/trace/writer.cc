#include "workload/trace/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/file/csv_row.h"
#include "base/text/text.h"

namespace muster {

namespace {

struct OptionalColumn {
  std::string_view name;
  bool (*used)(const TraceJob&);
  void (*write)(const Trace&, const TraceJob&, CsvRow&);
};

bool is_elastic(const TraceJob& job) { return job.fewest != 0 || job.most != 0; }

constexpr OptionalColumn kOptionalColumns[] = {
    {"min_gpus", is_elastic,
     [](const Trace&, const TraceJob& job, CsvRow& row) { row.count(job.fewest); }},
    {"max_gpus", is_elastic,
     [](const Trace&, const TraceJob& job, CsvRow& row) { row.count(job.most); }},
    {"estimate_s", [](const TraceJob& job) { return job.user_estimate != Duration(); },
     [](const Trace&, const TraceJob& job, CsvRow& row) {
       row.millionths(job.user_estimate.us());
     }},
    {"user", [](const TraceJob& job) { return job.user != 0; },
     [](const Trace& trace, const TraceJob& job, CsvRow& row) { row.text(trace.users[job.user]); }},
    {"tenant", [](const TraceJob& job) { return job.tenant != 0; },
     [](const Trace& trace, const TraceJob& job, CsvRow& row) {
       row.text(trace.tenants[job.tenant]);
     }},
    {"name", [](const TraceJob& job) { return job.name != 0; },
     [](const Trace& trace, const TraceJob& job, CsvRow& row) { row.text(trace.names[job.name]); }},
    {"model", [](const TraceJob& job) { return job.model != 0; },
     [](const Trace& trace, const TraceJob& job, CsvRow& row) {
       row.text(trace.models[job.model]);
     }},
    {"gpu_type", [](const TraceJob& job) { return job.gpu_type != 0; },
     [](const Trace& trace, const TraceJob& job, CsvRow& row) {
       row.text(trace.gpu_types[job.gpu_type]);
     }},
    {"iterations", [](const TraceJob& job) { return job.iterations != 0; },
     [](const Trace&, const TraceJob& job, CsvRow& row) { row.count(job.iterations); }},
};

}  // namespace

std::string write_trace_csv(const Trace& trace) {
  std::vector<const OptionalColumn*> columns;
  std::string out = "job_id,submit_s,gpus,duration_s";
  for (const OptionalColumn& column : kOptionalColumns) {
    if (std::none_of(trace.jobs.begin(), trace.jobs.end(), column.used)) continue;
    columns.push_back(&column);
    out += ',';
    out += column.name;
  }
  out += '\n';
  CsvRow row(CsvRow::LineBreaks::kBlanks);
  for (const TraceJob& job : trace.jobs) {
    row.text(job.id);
    row.millionths(job.submit.us());
    row.count(job.gpus);
    row.millionths(job.duration.us());
    for (const OptionalColumn* column : columns) column->write(trace, job, row);
    row.write_to(out);
  }
  return out;
}

std::string write_batsim_csv(const Trace& trace) {
  std::string out =
      "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,"
      "execution_time\n";
  CsvRow row(CsvRow::LineBreaks::kBlanks);
  for (const TraceJob& job : trace.jobs) {
    row.text(job.id);
    row.text("muster");
    row.text(job.model == 0 ? std::string_view("unknown") : trace.models[job.model]);
    row.millionths(job.submit.us());
    row.count(job.gpus);
    const bool estimated = job.user_estimate != Duration();
    estimated ? row.millionths(job.user_estimate.us()) : row.count(-1);
    row.millionths(job.duration.us());
    row.write_to(out);
  }
  return out;
}

std::vector<ColumnUse> column_uses(const Trace& trace) {
  std::vector<ColumnUse> uses;
  for (const OptionalColumn& column : kOptionalColumns) {
    uses.push_back({column.name, std::count_if(trace.jobs.begin(), trace.jobs.end(), column.used)});
  }
  return uses;
}

std::size_t forget_unprofiled_models(Trace& trace, const ProfileTable& profiles) {
  std::vector<bool> has_profile(trace.models.size(), true);
  for (std::uint32_t model = 1; model < trace.models.size(); ++model) {
    has_profile[model] = profiles.find(trace.models[model]) != ProfileTable::kUnknown;
  }
  std::size_t jobs = 0;
  for (TraceJob& job : trace.jobs) {
    if (has_profile[job.model]) continue;
    job.model = 0;
    ++jobs;
  }
  if (jobs == 0) return 0;
  renumber_names(trace);
  trace.notes.push_back(fmt::format("models without a profile were removed from {} jobs", jobs));
  return jobs;
}

}  // namespace muster
