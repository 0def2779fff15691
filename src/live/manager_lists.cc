// Jobs as `muster queue` lists them. Order and limits are ours, so that a look at the first few of
// ten thousand costs no more than those few.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "live/answers.h"
#include "live/manager.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::size_t kMostListed = 1'000;

// Those that hold GPUs, then those that only wait for some, then those that something else keeps.
int rank_of(LiveState state) {
  switch (state) {
    case LiveState::kRunning:
    case LiveState::kStopping:
      return 0;
    case LiveState::kStarting:
      return 1;
    case LiveState::kQueued:
    case LiveState::kRetrying:
      return 2;
    case LiveState::kBlocked:
      return 3;
    default:
      return 4;
  }
}

bool is_wanted(const ListJobs& call, const std::string& user, const std::string& tenant) {
  return (call.user.empty() || call.user == user) && (call.tenant.empty() || call.tenant == tenant);
}

}  // namespace

// Jobs that are not over, in the order they would start if all were alike.
std::vector<const LiveJob*> Manager::list_active(const ListJobs& call) const {
  struct Entry {
    std::tuple<int, std::int64_t, LiveId> place;
    const LiveJob* job;
  };
  const std::optional<LiveState> only = find_state(call.state);
  std::vector<Entry> found;
  for (const auto& [id, job] : roster_->jobs()) {
    if (job.end || !is_wanted(call, job.user, job.tenant)) continue;
    const LiveState state = roster_->state_of(job);
    if (only && state != *only) continue;
    const int rank = rank_of(state);
    found.push_back({{rank, rank == 2 ? -std::int64_t{job.request.priority} : 0, id}, &job});
  }
  std::sort(found.begin(), found.end(),
            [](const Entry& a, const Entry& b) { return a.place < b.place; });
  std::vector<const LiveJob*> jobs;
  for (const Entry& entry : found) jobs.push_back(entry.job);
  return jobs;
}

json Manager::view_now(const JobRow& row) const {
  const LiveJob* job = roster_->find(row.id);
  return job != nullptr && !job->end ? view_of(*roster_, *job, progress_->find(row.id), *clock_)
                                     : view_of(row, *clock_);
}

Answer Manager::list(const Caller& caller, ListJobs call) {
  if (!caller.is_operator) {
    if (!call.user.empty() && call.user != caller.user) {
      return said({{"jobs", json::array()}, {"total", 0}});
    }
    call.user = caller.user;
  }
  if (call.state.empty()) call.state = "active";
  call.limit = std::min(call.limit, kMostListed);
  const std::optional<LiveState> state = find_state(call.state);
  const bool all = call.state == "all";
  if (!state && !all && call.state != "active" && call.state != "ended") {
    return refused(400, "state: unknown state " + in_quotes(call.state));
  }
  if (call.array != 0) return list_array(call);

  json jobs = json::array();
  std::size_t active = 0;
  if (all || call.state == "active" || (state && !is_over(*state))) {
    const std::vector<const LiveJob*> found = list_active(call);
    active = found.size();
    for (std::size_t i = call.offset; i < active && jobs.size() < call.limit; ++i) {
      jobs.push_back(view_of(*roster_, *found[i], progress_->find(found[i]->id), *clock_));
    }
    if (!all) return said({{"jobs", std::move(jobs)}, {"total", active}});
  }
  JobFilter filter;
  if (state) filter.state = call.state;
  filter.over = true;
  if (!call.user.empty()) filter.user = call.user;
  if (!call.tenant.empty()) filter.tenant = call.tenant == kDefaultTenant ? "" : call.tenant;
  filter.limit = call.limit - jobs.size();
  filter.offset = call.offset - std::min(call.offset, active);
  const Result<std::uint64_t> total = reader_->count(filter);
  if (!total.ok()) return refused(503, total.error().message);
  if (filter.limit > 0) {
    const Result<std::vector<JobRow>> rows = reader_->jobs(filter);
    if (!rows.ok()) return refused(503, rows.error().message);
    for (const JobRow& row : rows.value()) jobs.push_back(view_of(row, *clock_));
  }
  return said({{"jobs", std::move(jobs)}, {"total", active + total.value()}});
}

// Those of one array, by index.
Answer Manager::list_array(const ListJobs& call) {
  Result<std::vector<JobRow>> rows =
      reader_->jobs_beginning(fmt::format("{}_", call.array), kMostArrayJobs);
  if (!rows.ok()) return refused(503, rows.error().message);
  std::reverse(rows.value().begin(), rows.value().end());
  json jobs = json::array();
  std::size_t total = 0;
  for (const JobRow& row : rows.value()) {
    if (!is_wanted(call, row.user, row.tenant)) continue;
    const bool over = row.ended.has_value();
    const bool right = call.state == "all" || (call.state == "active" && !over) ||
                       (call.state == "ended" && over) || call.state == row.state;
    if (right && total++ >= call.offset && jobs.size() < call.limit) jobs.push_back(view_now(row));
  }
  return said({{"jobs", std::move(jobs)}, {"total", total}});
}

}  // namespace muster
