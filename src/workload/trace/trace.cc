#include "workload/trace/trace.h"

#include <utility>

namespace muster {

namespace {

void renumber(std::vector<TraceJob>& jobs, NameTable& table, std::uint32_t TraceJob::*field) {
  NameTable used;
  for (TraceJob& job : jobs) job.*field = used.intern(table[job.*field]);
  table = std::move(used);
}

}  // namespace

void renumber_names(Trace& trace) {
  renumber(trace.jobs, trace.models, &TraceJob::model);
  renumber(trace.jobs, trace.users, &TraceJob::user);
  renumber(trace.jobs, trace.tenants, &TraceJob::tenant);
  renumber(trace.jobs, trace.names, &TraceJob::name);
  renumber(trace.jobs, trace.gpu_types, &TraceJob::gpu_type);
}

}  // namespace muster
