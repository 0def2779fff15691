#include "workload/history/trace_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "workload/history/notes.h"

namespace muster {

namespace {

// Makes names unique: adds a number to empty and duplicate names.
class UniqueNames {
 public:
  std::string take(const std::string& wanted) {
    if (!wanted.empty() && is_new(wanted)) return wanted;
    ++changed_;
    while (true) {
      std::string numbered = fmt::format("{}#{}", wanted, ++last_);
      if (is_new(numbered)) return numbered;
    }
  }
  std::int64_t changed() const { return changed_; }

 private:
  bool is_new(const std::string& name) {
    const std::size_t known = names_.size();
    return names_.intern(name) == known;
  }

  NameTable names_;
  std::int64_t last_ = 1;
  std::int64_t changed_ = 0;
};

// Copies the source, the notes and the name tables to which the jobs refer.
template <class From, class To>
void copy_source(const From& from, To& to) {
  to.source = from.source;
  to.format = from.format;
  to.notes = from.notes;
  to.tenants = from.tenants;
  to.users = from.users;
  to.names = from.names;
  to.models = from.models;
}

}  // namespace

History from_trace(const Trace& trace) {
  History history;
  copy_source(trace, history);
  history.knows.runs = true;
  history.knows.tenants = trace.tenants.size() > 1;  // Entry 0 is "", for unknown.
  history.knows.users = trace.users.size() > 1;
  history.jobs.reserve(trace.jobs.size());
  for (const TraceJob& from : trace.jobs) {
    PastJob job;
    job.id = history.ids.intern(from.id);
    job.submit = from.submit;
    job.gpus = from.gpus;
    job.tenant = from.tenant;
    job.user = from.user;
    job.name = from.name;
    job.model = from.model;
    job.run = from.duration;
    history.jobs.push_back(job);
  }
  return history;
}

Trace to_trace(const History& history) {
  Trace trace;
  copy_source(history, trace);
  UniqueNames ids;
  std::int64_t without_gpus = 0;
  std::int64_t without_time = 0;
  std::int64_t too_long = 0;
  std::int64_t too_late = 0;
  Duration origin;
  for (const PastJob& from : history.jobs) {
    if (from.gpus <= 0 || from.run.us() <= 0 || from.run > kLongestDuration) {
      ++(from.gpus <= 0 ? without_gpus : from.run.us() <= 0 ? without_time : too_long);
      continue;
    }
    if (trace.jobs.empty() && history.knows.dates) origin = from.submit - Instant();
    if (from.submit - Instant() - origin > kLongestDuration) {
      ++too_late;
      continue;
    }
    TraceJob job;
    job.id = ids.take(history.ids[from.id]);
    job.submit = from.submit - origin;
    job.duration = from.run;
    job.gpus = from.gpus;
    job.model = from.model;
    job.name = from.name;
    job.user = from.user;
    job.tenant = from.tenant;
    trace.jobs.push_back(std::move(job));
  }
  add_note(trace.notes, without_gpus, "job", "skipped: number of GPUs unknown");
  add_note(trace.notes, without_time, "job", "skipped: run time unknown");
  add_note(trace.notes, too_long, "job", "skipped: run time longer than 100 years");
  add_note(trace.notes, too_late, "job", "skipped: submitted after more than 100 years");
  add_note(trace.notes, ids.changed(), "job", "renamed: id empty or not unique");
  return trace;
}

}  // namespace muster
