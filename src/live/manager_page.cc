// One job, whole, as the dashboard shows it.

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "live/answers.h"
#include "live/curve_view.h"
#include "live/manager.h"
#include "live/report_series.h"
#include "live/view_units.h"

namespace muster {

namespace {

using nlohmann::json;

// What would not be refused, and would change something.
json actions_for(const LiveJob* job) {
  if (job == nullptr || job->end) return json::array({"retry"});
  if (job->cancelled) return json::array();
  return json::array({job->held ? "release" : "hold", "cancel"});
}

}  // namespace

// A page but for what is still to be read of the job's files.
struct Manager::PageDraft {
  json page;
  std::vector<ReportFile> files;

  Answer finish() && {
    page["progress"] = report_series(files);
    return said(page);
  }
};

void Manager::page(Pending pending) {
  auto begun = begin_page(pending.caller, std::get<ShowWholeJob>(pending.call));
  if (const auto* answer = std::get_if<Answer>(&begun)) return pending.done(*answer);
  if (!lookups_.has_room(pending.caller.user))
    return pending.done(refused(429, "too many pages at once"));
  auto draft = std::make_shared<PageDraft>(std::move(std::get<PageDraft>(begun)));
  lookups_.ask([draft, done = std::move(pending.done)] { done(std::move(*draft).finish()); },
               pending.caller.user);
}

// At once, whatever it takes.
Answer Manager::page(const Caller& caller, const ShowWholeJob& call) {
  auto begun = begin_page(caller, call);
  if (const auto* answer = std::get_if<Answer>(&begun)) return *answer;
  return std::move(std::get<PageDraft>(begun)).finish();
}

std::variant<Manager::PageDraft, Answer> Manager::begin_page(const Caller& caller,
                                                             const ShowWholeJob& call) {
  const auto found = find_job(caller, call.job);
  if (const auto* answer = std::get_if<Answer>(&found)) return *answer;
  const FoundJob& which = std::get<FoundJob>(found);
  auto view = whole_view(which);
  if (const auto* answer = std::get_if<Answer>(&view)) return *answer;
  json& whole = std::get<json>(view);
  const LiveJob* job = roster_->find(which.id);

  EventFilter filter;  // The journal keeps few of a job.
  filter.job = which.id;
  const Result<std::vector<EventRow>> rows = reader_->events(filter);
  if (!rows.ok()) return unreadable(rows.error());
  json events = json::array();
  for (const EventRow& row : rows.value()) {
    const bool full = caller.is_operator && !row.full.empty();
    events.push_back(json::parse(full ? row.full : row.json, nullptr, false));
  }

  PageDraft draft;
  for (const json& lease : whole["leases"]) {
    if (!lease.contains("started") || lease.contains("prerun")) continue;
    ReportFile file;
    file.path = fmt::format("{}/leases/j{}.e{}/progress.jsonl", settings_.home, which.id,
                            lease.value("number", 0U));
    file.begun = lease.value("started", 0.0);
    if (lease.contains("ended")) file.ended = lease.value("ended", 0.0);
    draft.files.push_back(std::move(file));
  }

  draft.page = {{"actions", actions_for(job)}, {"events", std::move(events)}};
  const Result<JobRequest> request = read_request(whole["request"].dump());
  if (request.ok()) {
    const JobSpec spec =
        roster_->imagine(request.value(), which.user, whole.value("tenant", std::string()));
    const Placement* held = job != nullptr && job->lease ? &job->lease->placement : nullptr;
    auto curve = curve_view(*roster_->engine().state().cluster, spec, held);
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
