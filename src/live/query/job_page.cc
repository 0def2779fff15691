// The page of one job, as the dashboard shows it.

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/port/permissions.h"
#include "live/lease/lease_log.h"
#include "live/query/job_queries.h"
#include "live/views/answers.h"
#include "live/views/curve_view.h"
#include "live/views/report_series.h"
#include "live/views/view_units.h"

namespace muster {

namespace {

using nlohmann::json;

// Returns the actions that are valid and would change something.
json actions_for(const Caller& caller, const FoundJob& which, const LiveJob* job) {
  if (!may_change(caller, which.owner())) return json::array();
  if (job == nullptr || job->end) return json::array({"retry"});
  if (job->cancelled) return json::array();
  return json::array({job->held ? "release" : "hold", "cancel"});
}

}  // namespace

// A page without the contents of the job's files; finish() reads them.
struct JobQueries::PageDraft {
  json page;
  std::vector<ReportFile> files;

  Answer finish() && {
    page["progress"] = report_series(files);
    return json_answer(page);
  }
};

void JobQueries::page(const Caller& caller, const ShowWholeJob& call, Done done) {
  Result<PageDraft> begun = begin_page(caller, call);
  if (!begun.ok()) return done(error_answer(begun.error()));
  if (!worker_.has_room(caller.user)) {
    return done(error_answer({"too many pages in progress; retry later", ErrorCode::kBusy}));
  }
  auto draft = std::make_shared<PageDraft>(std::move(begun).value());
  worker_.ask([draft, done = std::move(done)] { done(std::move(*draft).finish()); }, caller.user);
}

Result<Answer> JobQueries::page_now(const Caller& caller, const ShowWholeJob& call) const {
  Result<PageDraft> begun = begin_page(caller, call);
  if (!begun.ok()) return begun.error();
  return std::move(begun).value().finish();
}

Result<JobQueries::PageDraft> JobQueries::begin_page(const Caller& caller,
                                                     const ShowWholeJob& call) const {
  const Result<FoundJob> found = find_job(context_, caller, call.job);
  if (!found.ok()) return found.error();
  const FoundJob& which = found.value();
  Result<json> view = view_with_leases(which, EnvValues::kHidden);
  if (!view.ok()) return view.error();
  json& whole = view.value();
  const LiveJob* job = context_.roster->find(which.id);

  EventFilter filter;  // The journal keeps few events per job.
  filter.job = which.id;
  const Result<std::vector<EventRow>> rows = context_.rows.events(filter);
  if (!rows.ok()) return unreadable(rows.error());
  json events = json::array();
  for (const EventRow& row : rows.value()) {
    const bool full = may_name_all(caller) && !row.full.empty();
    events.push_back(json::parse(full ? row.full : row.json, nullptr, false));
  }

  PageDraft draft;
  for (const json& lease : whole["leases"]) {
    if (!lease.contains("started") || lease.contains("prerun")) continue;
    ReportFile file;
    file.path = files_.progress_path(part_name(which.id, lease.value("number", 0U)));
    file.begun = lease.value("started", 0.0);
    if (lease.contains("ended")) file.ended = lease.value("ended", 0.0);
    draft.files.push_back(std::move(file));
  }

  draft.page = {{"actions", actions_for(caller, which, job)}, {"events", std::move(events)}};
  const Result<JobRequest> request = read_request(whole["request"].dump());
  if (request.ok()) {
    const JobSpec spec = context_.roster->to_job_spec(request.value(), which.user,
                                                      whole.value("tenant", std::string()));
    const Placement* held = job != nullptr && job->lease ? &job->lease->placement : nullptr;
    auto curve = curve_view(*context_.roster->engine().state().cluster, spec, held);
    if (curve) {
      (*curve)["source"] = request.value().model.empty() ? "measured on its own runs"
                                                         : "profile " + request.value().model;
      draft.page["curve"] = std::move(*curve);
    }
  }
  draft.page["job"] = std::move(whole);
  return draft;
}

}  // namespace muster
