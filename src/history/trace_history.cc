#include "history/trace_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "history/notes.h"

namespace muster {

namespace {

// Names given out once each: the one wanted, or that with a number after it.
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

}  // namespace

History from_trace(const Trace& trace) {
  History history;
  history.source = trace.source;
  history.format = trace.format;
  history.notes = trace.notes;
  history.tenants = trace.tenants;
  history.users = trace.users;
  history.models = trace.models;
  history.knows.runs = true;
  history.knows.tenants = trace.tenants.size() > 1;  // With the "" of nobody.
  history.knows.users = trace.users.size() > 1;
  history.jobs.reserve(trace.jobs.size());
  for (const TraceJob& from : trace.jobs) {
    PastJob job;
    job.id = history.ids.intern(from.id);
    job.submit = from.submit;
    job.gpus = from.gpus;
    job.tenant = from.tenant;
    job.user = from.user;
    job.model = from.model;
    job.run = from.duration;
    history.jobs.push_back(job);
  }
  return history;
}

Trace to_trace(const History& history) {
  Trace trace;
  trace.source = history.source;
  trace.format = history.format;
  trace.notes = history.notes;
  trace.tenants = history.tenants;
  trace.users = history.users;
  trace.models = history.models;
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
    job.user = from.user;
    job.tenant = from.tenant;
    trace.jobs.push_back(std::move(job));
  }
  add_note(trace.notes, without_gpus, "job", "without known GPUs left out");
  add_note(trace.notes, without_time, "job", "without a known run time left out");
  add_note(trace.notes, too_long, "job", "of more than a hundred years left out");
  add_note(trace.notes, too_late, "job", "of more than a hundred years later left out");
  add_note(trace.notes, ids.changed(), "job", "without an id of its own: given one");
  return trace;
}

}  // namespace muster
