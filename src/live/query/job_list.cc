#include "live/query/job_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bitset>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/text/text.h"
#include "live/lease/report_watch.h"
#include "live/query/seen_by.h"
#include "live/views/answers.h"
#include "live/views/job_owner.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::size_t kMaxListed = 1'000;
constexpr std::size_t kMaxPassedOver = 5'000;
constexpr std::size_t kLiveStates = static_cast<std::size_t>(LiveState::kRejected) + 1;
constexpr std::size_t kEnds = kLiveStates - static_cast<std::size_t>(LiveState::kDone);

// Jobs with GPUs first, then jobs that only wait for GPUs, then jobs with other obstacles.
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

using States = std::bitset<kLiveStates>;

Result<States> read_states(std::string_view text) {
  States states;
  if (text.empty()) text = "active";
  for (const std::string_view word : split(text, ',')) {
    const std::optional<LiveState> one = find_state(word);
    const bool all = word == "all";
    if (!one && !all && word != "active" && word != "ended") {
      return Error{"state: unknown state " + in_quotes(word), ErrorCode::kInvalid};
    }
    for (std::size_t i = 0; i < states.size(); ++i) {
      const auto state = static_cast<LiveState>(i);
      if (one ? state == *one : all || is_over(state) == (word == "ended")) states.set(i);
    }
  }
  return states;
}

bool has_state(const States& states, LiveState state) {
  return states.test(static_cast<std::size_t>(state));
}

bool is_wanted(const ListJobs& call, const std::string& user, const std::string& tenant) {
  return (call.user.empty() || call.user == user) &&
         (call.tenant.empty() || call.tenant == tenant_or_default(tenant));
}

// As in SQLite: ASCII letters match in any case.
bool contains(std::string_view text, std::string_view small_part) {
  const auto found = std::search(text.begin(), text.end(), small_part.begin(), small_part.end(),
                                 [](char a, char b) { return lower(a) == b; });
  return found != text.end() || small_part.empty();
}

struct Search {
  explicit Search(std::string_view words) : part(lowered(words)) {
    // Ids consist of digits and '_'.
    may_be_id = std::all_of(part.begin(), part.end(),
                            [](char c) { return (c >= '0' && c <= '9') || c == '_'; });
  }
  bool finds(const LiveJob& job) const {
    if (part.empty() || contains(job.request.name, part) || contains(job.user, part) ||
        contains(job.tenant, part)) {
      return true;
    }
    if (!may_be_id) return false;
    return std::to_string(job.id).starts_with(part) ||
           (job.array != 0 && fmt::format("{}_{}", job.array, job.index).starts_with(part));
  }

  std::string part;
  bool may_be_id = false;
};

// The sort key of one job. Jobs without a value sort last in both directions.
struct SortKey {
  bool missing = false;
  double number = 0;
  const std::string* text = nullptr;
};

SortKey of_time(const std::optional<Instant>& at) {
  return at ? SortKey{false, static_cast<double>(at->us())} : SortKey{true};
}

// Jobs that wait for GPUs sort by queue position; jobs without one follow, by priority.
constexpr double kMaxPlaces = 1e9;

double order_of(const LiveJob& job, LiveState state, std::uint32_t place) {
  const int rank = rank_of(state);
  if (rank != 2) return rank * 2 * kMaxPlaces;
  return rank * 2 * kMaxPlaces +
         (place != 0 ? static_cast<double>(place) : kMaxPlaces - job.request.priority);
}

SortKey key_of(const LiveJob& job, LiveState state, std::uint32_t place, std::string_view sort,
               Instant now) {
  const double priority = job.request.priority;
  if (sort.empty()) return {false, order_of(job, state, place)};
  if (sort == "name") return {false, 0, &job.request.name};
  if (sort == "user") return {false, 0, &job.user};
  if (sort == "tenant") return {false, 0, &job.tenant};
  if (sort == "state") return {false, static_cast<double>(static_cast<int>(state))};
  if (sort == "gpus") return {false, static_cast<double>(job.request.gpus)};
  if (sort == "priority") return {false, priority};
  if (sort == "submitted") return of_time(job.submitted);
  if (sort == "started") return of_time(job.started);
  if (sort == "ended") return of_time(job.ended);
  if (sort == "position") return {place == 0, static_cast<double>(place)};
  if (sort == "ran") return {false, ran_by(job, now).in_seconds()};
  return {};  // Only by id.
}

struct Listed {
  SortKey key;
  LiveId id = 0;
  const LiveJob* job = nullptr;
  std::uint32_t place = 0;
};

int compare_texts(const std::string& a, const std::string& b) {
  if (a == b) return 0;  // Common in a parameter sweep with thousands of jobs.
  const std::size_t both = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < both; ++i) {
    const int difference =
        static_cast<unsigned char>(lower(a[i])) - static_cast<unsigned char>(lower(b[i]));
    if (difference != 0) return difference;
  }
  return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

bool comes_before(const Listed& a, const Listed& b, bool descending) {
  if (a.key.missing != b.key.missing) return b.key.missing;
  int order = 0;
  if (a.key.text != nullptr) {
    order = compare_texts(*a.key.text, *b.key.text);
  } else if (a.key.number != b.key.number) {
    order = a.key.number < b.key.number ? -1 : 1;
  }
  if (order == 0) order = a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
  return descending ? order > 0 : order < 0;
}

}  // namespace

// Active jobs that match the call.
struct JobList::ActiveJobs {
  std::vector<Listed> jobs;                 // In the requested states.
  std::map<LiveState, std::size_t> counts;  // In all states.

  std::span<const Listed> page(const ListJobs& call) {
    const std::size_t from = std::min(call.offset, jobs.size());
    const std::size_t to = std::min(from + call.limit, jobs.size());
    const auto at = [&](std::size_t i) { return jobs.begin() + static_cast<std::ptrdiff_t>(i); };
    const auto before = [&](const Listed& a, const Listed& b) {
      return comes_before(a, b, call.descending);
    };
    if (from > 0 && from < jobs.size()) std::nth_element(at(0), at(from), jobs.end(), before);
    std::partial_sort(at(from), at(to), jobs.end(), before);
    return std::span(jobs).subspan(from, to - from);
  }
};

JobList::ActiveJobs JobList::find_active(const Caller& caller, const ListJobs& call) {
  const States states = read_states(call.state).value();
  const Search search(call.search);
  const Instant now = context_.clock.now();
  const QueueOrder& order = forecasts_.queue_order();
  ActiveJobs list;
  for (const auto& [id, job] : context_.roster->jobs()) {
    if (job.end) continue;
    const LiveState state = context_.roster->state_of(job);
    if (!is_wanted(call, job.user, job.tenant) || !may_see(caller, owner_of(job))) continue;
    if (!search.finds(job)) continue;
    ++list.counts[state];
    if (!has_state(states, state)) continue;
    const std::uint32_t place = order.of(job);
    list.jobs.push_back({key_of(job, state, place, call.sort, now), id, &job, place});
  }
  return list;
}

json JobList::view_now(const JobRow& row) const {
  const LiveJob* job = context_.roster->find(row.id);
  return job != nullptr && !job->end
             ? view_of(*context_.roster, *job, context_.progress.find(row.id), context_.clock)
             : view_of(row, context_.clock);
}

// A list with its active jobs; finish() adds the finished ones from the tables.
struct JobList::Draft {
  ListJobs call;
  States states;
  std::optional<SeenBy> seen;  // Null: all jobs.
  bool complete = false;       // No finished jobs to add.
  std::size_t active = 0;      // Number of active jobs; of all jobs if complete.
  json jobs = json::array();   // The jobs of the page.
  json counts = json::object();
  EndedCounts::Found ended = {};
  Instant at;  // Jobs that finish later count as active.
  LiveClock clock;

  EndedCounts::Question question() const {
    std::string whose = call.user;
    if (seen)
      whose += fmt::format("\n{}\n{}\n{}", seen->user, seen->uid, fmt::join(seen->tenants, " "));
    return {std::move(whose), call.tenant, call.search};
  }
  std::size_t ends() const {  // Number of requested final states.
    return (states >> (kLiveStates - kEnds)).count();
  }
  bool wants_ended() const { return !complete && ends() > 0; }
  bool wants_counts() const { return !complete && call.counts; }
  // With thousands of finished jobs it is slow to count, sort or search them, or to skip many.
  bool is_slow() const {
    if (!ended.counts && (wants_counts() || wants_ended())) return true;
    // Indexes cover all finished jobs, and those of one user or of one tenant, in list order.
    const bool some = ends() < kEnds || (!call.user.empty() && !call.tenant.empty()) ||
                      (seen && !seen->tenants.empty());
    return wants_ended() && (some || !call.search.empty() || !call.sort.empty() ||
                             call.offset > active + kMaxPassedOver);
  }
  JobFilter filter() const {
    JobFilter filter;
    filter.over_by = at;
    filter.seen_by = seen;
    if (!call.user.empty()) filter.user = call.user;
    if (!call.tenant.empty()) filter.tenant = call.tenant == kDefaultTenant ? "" : call.tenant;
    filter.search = call.search;
    return filter;
  }
  MaybeError add_ended(JobReader& rows);
};

void JobList::list(const Caller& caller, const ListJobs& call, Done done) {
  Result<Draft> begun = begin(caller, call);
  if (!begun.ok()) return done(error_answer(begun.error()));
  auto draft = std::make_shared<Draft>(std::move(begun).value());
  if (!draft->is_slow()) return done(answer_of(finish(*draft, context_.rows)));
  if (!worker_.has_room(caller.user)) {
    return done(error_answer({"too many lists in progress; retry later", ErrorCode::kBusy}));
  }
  worker_.ask(
      [this, draft, done = std::move(done)] { done(answer_of(finish(*draft, worker_rows_))); },
      caller.user);
}

Result<Answer> JobList::list_now(const Caller& caller, const ListJobs& call) {
  Result<Draft> begun = begin(caller, call);
  if (!begun.ok()) return begun.error();
  return finish(begun.value(), context_.rows);
}

Result<JobList::Draft> JobList::begin(const Caller& caller, ListJobs call) {
  const Result<States> states = read_states(call.state);
  if (!states.ok()) return states.error();
  call.limit = std::min(call.limit, kMaxListed);
  std::optional<SeenBy> seen = seen_by(caller);
  const bool own_only = seen && seen->tenants.empty();
  const bool foreign = own_only && !call.user.empty() && call.user != caller.user;
  if (foreign) call.counts = false;
  if (own_only) call.user = caller.user;
  Draft draft{.call = call,
              .states = states.value(),
              .seen = std::move(seen),
              .complete = foreign,
              .at = context_.roster->now(),
              .clock = context_.clock};
  if (foreign) return draft;
  if (call.array != 0) {
    if (const MaybeError refusal = add_array(caller, draft)) return *refusal;
    return draft;
  }
  if (call.counts) forecasts_.expect_lists();

  ActiveJobs active = find_active(caller, call);
  for (const Listed& each : active.page(call)) {
    json view =
        view_of(*context_.roster, *each.job, context_.progress.find(each.id), context_.clock);
    if (each.place != 0) view["position"] = each.place;
    if (const std::optional<Band> band = forecasts_.band(*each.job)) {
      view["eta"] = start_band_json(*band, context_.clock);
    }
    draft.jobs.push_back(std::move(view));
  }
  draft.active = active.jobs.size();
  for (const auto& [state, count] : active.counts) {
    draft.counts[std::string(state_name(state))] = count;
  }
  draft.ended = counts_.find(draft.question());
  return draft;
}

Result<Answer> JobList::finish(Draft& draft, JobReader& rows) {
  json answer = {{"total", draft.active}};
  if (draft.wants_ended() || draft.wants_counts()) {
    const Result<EndedCounts::StateCounts> ended = count_ended(draft, rows);
    if (!ended.ok()) return unreadable(ended.error());
    std::uint64_t wanted = 0;
    for (const auto& [name, count] : ended.value()) {
      const std::optional<LiveState> state = find_state(name);
      if (!state || !is_over(*state)) continue;
      draft.counts[name] = count;
      if (has_state(draft.states, *state)) wanted += count;
    }
    if (wanted > 0) {
      if (const MaybeError refusal = draft.add_ended(rows)) return *refusal;
    }
    answer["total"] = draft.active + wanted;
  }
  answer["jobs"] = std::move(draft.jobs);
  if (draft.call.counts) answer["counts"] = std::move(draft.counts);
  if (std::string notice = context_.account.notice(); !notice.empty()) answer["notice"] = notice;
  return json_answer(answer);
}

Result<EndedCounts::StateCounts> JobList::count_ended(const Draft& draft, JobReader& rows) {
  if (draft.ended.counts) return *draft.ended.counts;
  Result<EndedCounts::StateCounts> counts = rows.count_by_state(draft.filter());
  if (counts.ok()) counts_.keep(draft.question(), draft.ended.generation, counts.value());
  return counts;
}

// Adds finished jobs after the active ones.
MaybeError JobList::Draft::add_ended(JobReader& rows) {
  JobFilter wanted = filter();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto state = static_cast<LiveState>(i);
    if (states.test(i) && is_over(state)) wanted.states.emplace_back(state_name(state));
  }
  if (wanted.states.empty() || jobs.size() >= call.limit) return std::nullopt;
  // An index has all finished jobs in order.
  if (wanted.states.size() == kEnds) wanted.states.clear();
  wanted.over = true;
  const auto sort = std::find(kJobSorts.begin(), kJobSorts.end(), call.sort);
  const auto order = static_cast<std::size_t>(sort - kJobSorts.begin());
  if (order <= static_cast<std::size_t>(JobOrder::kRan)) {
    wanted.order = static_cast<JobOrder>(order);
    wanted.ascending = !call.descending;
  }
  wanted.limit = call.limit - jobs.size();
  wanted.offset = call.offset - std::min(call.offset, active);
  const Result<std::vector<JobRow>> found = rows.jobs(wanted);
  if (!found.ok()) return unreadable(found.error());
  for (const JobRow& row : found.value()) jobs.push_back(view_of(row, clock));
  return std::nullopt;
}

// Adds the jobs of one array by index; then the draft is complete.
MaybeError JobList::add_array(const Caller& caller, Draft& draft) {
  const ListJobs& call = draft.call;
  Result<std::vector<JobRow>> rows =
      context_.rows.jobs_beginning(fmt::format("{}_", call.array), kMaxArrayJobs);
  if (!rows.ok()) return unreadable(rows.error());
  std::reverse(rows.value().begin(), rows.value().end());
  std::map<std::string, std::size_t> counts;
  for (const JobRow& row : rows.value()) {
    if (!is_wanted(call, row.user, row.tenant)) continue;
    if (draft.seen && !may_see(caller, owner_of(row))) continue;
    ++counts[row.state];
    const std::optional<LiveState> state = find_state(row.state);
    if (!state || !has_state(draft.states, *state)) continue;
    if (draft.active++ >= call.offset && draft.jobs.size() < call.limit) {
      draft.jobs.push_back(view_now(row));
    }
  }
  draft.counts = counts;
  draft.complete = true;
  return std::nullopt;
}

}  // namespace muster
