#include "live/query/job_queries.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/port/permissions.h"
#include "live/lease/lease_log.h"
#include "live/lease/report_watch.h"
#include "live/query/seen_by.h"
#include "live/views/answers.h"
#include "live/views/secrets.h"
#include "live/views/views.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxListedNotes = 10'000;  // The latest notes of all jobs.

Error no_such_job(LiveId id) {
  return Error{fmt::format("no such job: {}", id), ErrorCode::kNotFound};
}

}  // namespace

Result<Answer> JobQueries::show(const Caller& caller, const ShowJob& call) const {
  const Result<FoundJob> found = find_job(context_, caller, call.job);
  if (!found.ok()) return found.error();
  if (call.show_env && !is_own(caller, found.value().owner())) {
    return Error{"show_env: only the job's owner may see the values of its environment variables",
                 ErrorCode::kForbidden};
  }
  const EnvValues env = call.show_env ? EnvValues::kShown : EnvValues::kHidden;
  const Result<json> view = view_with_leases(found.value(), env);
  if (!view.ok()) return view.error();
  return json_answer(view.value());
}

Result<json> JobQueries::view_with_leases(const FoundJob& found, EnvValues env) const {
  const LiveId id = found.id;
  json view;
  json request;
  const LiveJob* job = context_.roster->find(id);
  if (job != nullptr && !job->end) {
    view = view_of(*context_.roster, *job, context_.progress.find(id), context_.clock);
    request = json::parse(request_json(job->request), nullptr, false);
    if (const JobSeries* series = context_.progress.series(id)) {
      view["remaining"] = remaining_json(series->predict(ran_by(*job, context_.clock.now())));
    }
  } else {
    const Result<std::optional<JobRow>> row = context_.rows.job(id);
    if (!row.ok()) return unreadable(row.error());
    if (!row.value()) return no_such_job(id);
    view = view_of(*row.value(), context_.clock);
    const json details = json::parse(row.value()->spec, nullptr, false);
    if (details.is_object()) request = details.value("request", json::object());
  }
  hide_secrets(request, env);
  view["request"] = std::move(request);
  json leases = json::array();
  const Result<std::vector<AttemptRow>> attempts = context_.rows.attempts(id);
  if (!attempts.ok()) return unreadable(attempts.error());
  for (const AttemptRow& row : attempts.value()) leases.push_back(view_of(row, context_.clock));
  view["leases"] = std::move(leases);
  return view;
}

Result<Answer> JobQueries::find_log(const Caller& caller, const FindLog& call) const {
  const Result<FoundJob> found = find_job(context_, caller, call.job);
  if (!found.ok()) return found.error();
  const LiveId id = found.value().id;
  std::uint32_t used = 0;
  const LiveJob* job = context_.roster->find(id);
  if (job != nullptr) {
    used = job->leases_used;
  } else {
    const Result<std::optional<JobRow>> row = context_.rows.job(id);
    if (!row.ok()) return unreadable(row.error());
    if (row.value()) used = row.value()->attempts;
  }
  const std::uint32_t lease = call.lease.value_or(used);
  if (used == 0) {
    return Error{fmt::format("job {} has not started yet", id), ErrorCode::kConflict};
  }
  if (lease == 0 || lease > used) {
    return Error{fmt::format("lease: job {} has only {} lease{}", id, used, used == 1 ? "" : "s"),
                 ErrorCode::kNotFound};
  }
  Answer answer;
  const std::string part = part_name(id, lease, call.node);
  const bool live = job != nullptr && job->lease && job->lease->number == lease;
  if (live ? call.node >= job->lease->placement.size() : !files_.has(part)) {
    return Error{
        fmt::format("lease {} of job {} has no such node, or its output was deleted", lease, id),
        ErrorCode::kNotFound};
  }
  LogPlace place;
  place.open = [files = files_, part] { return open_lease_log(files, part); };
  place.job = id;
  place.lease = lease;
  place.over = !live;
  place.user = found.value().user;
  place.uid = found.value().uid;
  answer.log = std::move(place);
  return answer;
}

Result<Answer> JobQueries::events(const Caller& caller, const ListEvents& call) const {
  LiveId only = 0;
  if (!call.job.empty()) {
    const Result<FoundJob> found = find_job(context_, caller, call.job);
    if (!found.ok()) return found.error();
    only = found.value().id;
  }
  EventFilter filter;
  filter.job = only;
  filter.after = call.after;
  filter.limit = call.limit;
  if (only == 0 && context_.notes.last() > kMaxListedNotes) {
    filter.after = std::max(filter.after, context_.notes.last() - kMaxListedNotes);
  }
  if (only == 0) filter.seen_by = seen_by(caller);  // find_job() has checked a single job.
  const Result<std::vector<EventRow>> rows = context_.rows.events(filter);
  if (!rows.ok()) return unreadable(rows.error());
  std::string list;
  for (const EventRow& row : rows.value()) {
    const bool full = may_name_all(caller) && !row.full.empty();
    list += (list.empty() ? "" : ",") + (full ? row.full : row.json);
  }
  Answer answer;
  answer.body = "{\"events\":[" + list + "]}";
  return answer;
}

}  // namespace muster
