// Jobs as `muster queue` lists them. Order and limits are ours, so that a look at the first few of
// ten thousand costs no more than those few.

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "live/answers.h"
#include "live/manager.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::size_t kMostListed = 1'000;
constexpr std::size_t kMostCounts = 64;  // Of questions whose counts are kept.
constexpr std::size_t kMostPassedOver = 5'000;
constexpr std::size_t kLiveStates = static_cast<std::size_t>(LiveState::kRejected) + 1;
constexpr std::size_t kEnds = kLiveStates - static_cast<std::size_t>(LiveState::kDone);

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

// A set of states.
using States = std::bitset<kLiveStates>;

Result<States> read_states(std::string_view text) {
  States states;
  if (text.empty()) text = "active";
  for (const std::string_view word : split(text, ',')) {
    const std::optional<LiveState> one = find_state(word);
    const bool all = word == "all";
    if (!one && !all && word != "active" && word != "ended") {
      return Error{"state: unknown state " + in_quotes(word)};
    }
    for (std::size_t i = 0; i < states.size(); ++i) {
      const auto state = static_cast<LiveState>(i);
      if (one ? state == *one : all || is_over(state) == (word == "ended")) states.set(i);
    }
  }
  return states;
}

bool has(const States& states, LiveState state) {
  return states.test(static_cast<std::size_t>(state));
}

bool is_wanted(const ListJobs& call, const std::string& user, const std::string& tenant) {
  return (call.user.empty() || call.user == user) &&
         (call.tenant.empty() || call.tenant == tenant_or_default(tenant));
}

// As SQLite has it: letters of ASCII are alike whether large or small.
bool contains(std::string_view text, std::string_view small_part) {
  const auto found = std::search(text.begin(), text.end(), small_part.begin(), small_part.end(),
                                 [](char a, char b) { return lower(a) == b; });
  return found != text.end() || small_part.empty();
}

struct Search {
  explicit Search(std::string_view words) : part(lowered(words)) {
    // Whatever else it has, no id begins so.
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

// What one job is sorted by. Who lacks it comes last whichever way.
struct SortKey {
  bool missing = false;
  double number = 0;
  const std::string* text = nullptr;
};

SortKey of_time(const std::optional<Instant>& at) {
  return at ? SortKey{false, static_cast<double>(at->us())} : SortKey{true};
}

// Who waits for GPUs by its place in line; who has none there behind those, by priority.
constexpr double kMostPlaces = 1e9;

double order_of(const LiveJob& job, LiveState state, std::uint32_t place) {
  const int rank = rank_of(state);
  if (rank != 2) return rank * 2 * kMostPlaces;
  return rank * 2 * kMostPlaces +
         (place != 0 ? static_cast<double>(place) : kMostPlaces - job.request.priority);
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
  if (sort == "ran") {
    const bool runs = job.lease && job.lease->up && !job.lease->trial;
    return {false, (runs ? job.ran + (now - job.lease->up_since) : job.ran).in_seconds()};
  }
  return {};  // By id alone.
}

struct Listed {
  SortKey key;
  LiveId id = 0;
  const LiveJob* job = nullptr;
  std::uint32_t place = 0;
};

int compare_texts(const std::string& a, const std::string& b) {
  if (a == b) return 0;  // As of a sweep: thousands.
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

// Jobs that are not over. Of thousands only one page is put in order.
struct Manager::ActiveList {
  std::vector<Listed> jobs;                 // Those wanted.
  std::map<LiveState, std::size_t> counts;  // Of all that were found, wanted or not.

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

Manager::ActiveList Manager::list_active(const ListJobs& call) {
  const States states = read_states(call.state).value();
  const Search search(call.search);
  const Instant now = clock_->now();
  const Line& line = line_now();
  ActiveList list;
  for (const auto& [id, job] : roster_->jobs()) {
    if (job.end) continue;
    const LiveState state = roster_->state_of(job);
    if (!is_wanted(call, job.user, job.tenant) || !search.finds(job)) continue;
    ++list.counts[state];
    if (!has(states, state)) continue;
    const std::uint32_t place = line.of(job);
    list.jobs.push_back({key_of(job, state, place, call.sort, now), id, &job, place});
  }
  return list;
}

json Manager::view_now(const JobRow& row) const {
  const LiveJob* job = roster_->find(row.id);
  return job != nullptr && !job->end ? view_of(*roster_, *job, progress_->find(row.id), *clock_)
                                     : view_of(row, *clock_);
}

// A list with those that are not over; the rest is in the tables.
struct Manager::ListDraft {
  ListJobs call;
  States states;
  std::size_t active = 0;     // How many of them there are.
  json jobs = json::array();  // Of the page.
  json counts = json::object();
  std::optional<StateCounts> over = {};  // If it is known already.
  std::uint64_t generation = 0;          // Of what is known of those that are over.
  Instant at;  // Whoever ends later is still among those that are not over.
  LiveClock clock;

  std::size_t ends() const {  // How many kinds of those that are over are wanted.
    return (states >> (kLiveStates - kEnds)).count();
  }
  bool wants_over() const { return ends() > 0; }
  // With thousands that are over, such a look takes longer than others should wait for: to count
  // them, to sort or search them, to leave out many before the first.
  bool is_slow() const {
    if (!over && (call.counts || wants_over())) return true;
    // An index has all that are over, and those of one user or one tenant, in their order.
    const bool some = ends() < kEnds || (!call.user.empty() && !call.tenant.empty());
    return wants_over() && (some || !call.search.empty() || !call.sort.empty() ||
                            call.offset > active + kMostPassedOver);
  }
};

void Manager::list(Pending pending) {
  auto begun = begin_list(pending.caller, std::get<ListJobs>(pending.call));
  if (const auto* answer = std::get_if<Answer>(&begun)) return pending.done(*answer);
  auto draft = std::make_shared<ListDraft>(std::move(std::get<ListDraft>(begun)));
  if (!draft->is_slow()) return pending.done(finish_list(*draft, *reader_));
  const std::string& user = pending.caller.user;
  if (!lookups_.has_room(user)) return pending.done(refused(429, "too many lists at once"));
  lookups_.ask([this, draft, done = pending.done] { done(finish_list(*draft, *lookup_reader_)); },
               user);
}

// At once, whatever it takes.
Answer Manager::list(const Caller& caller, const ListJobs& call) {
  auto begun = begin_list(caller, call);
  if (const auto* answer = std::get_if<Answer>(&begun)) return *answer;
  return finish_list(std::get<ListDraft>(begun), *reader_);
}

std::variant<Manager::ListDraft, Answer> Manager::begin_list(const Caller& caller, ListJobs call) {
  const Result<States> states = read_states(call.state);
  if (!states.ok()) return refused(400, states.error().message);
  if (!caller.is_operator) {
    if (!call.user.empty() && call.user != caller.user) {
      return said({{"jobs", json::array()}, {"total", 0}});
    }
    call.user = caller.user;
  }
  call.limit = std::min(call.limit, kMostListed);
  if (call.array != 0) return list_array(call);
  if (call.counts) lists_watched_ = clock_->now();

  ListDraft draft{.call = call, .states = states.value(), .at = roster_->now(), .clock = *clock_};
  ActiveList active = list_active(call);
  const std::shared_ptr<const Bands> bands = bands_now();
  for (const Listed& each : active.page(call)) {
    json view = view_of(*roster_, *each.job, progress_->find(each.id), *clock_);
    if (each.place != 0) view["position"] = each.place;
    if (const auto band = bands ? band_of(*each.job, *bands) : std::nullopt) view["eta"] = *band;
    draft.jobs.push_back(std::move(view));
  }
  draft.active = active.jobs.size();
  for (const auto& [state, count] : active.counts) {
    draft.counts[std::string(state_name(state))] = count;
  }
  const std::lock_guard lock(told_mutex_);
  const auto known = ended_counts_.find(std::tuple(call.user, call.tenant, call.search));
  if (known != ended_counts_.end()) draft.over = known->second;
  draft.generation = ended_generation_;
  return draft;
}

// From the thread that the reader belongs to.
Answer Manager::finish_list(ListDraft& draft, JobReader& reader) {
  json answer = {{"total", draft.active}};
  if (draft.wants_over() || draft.call.counts) {
    const Result<StateCounts> over = count_ended(draft, reader);
    if (!over.ok()) return unreadable(over.error());
    std::uint64_t wanted = 0;
    for (const auto& [name, count] : over.value()) {
      const std::optional<LiveState> state = find_state(name);
      if (!state || !is_over(*state)) continue;
      draft.counts[name] = count;
      if (has(draft.states, *state)) wanted += count;
    }
    if (wanted > 0) {
      if (const Refusal refusal = add_ended(draft, reader)) return unreadable(*refusal);
    }
    answer["total"] = draft.active + wanted;
  }
  answer["jobs"] = std::move(draft.jobs);
  if (draft.call.counts) answer["counts"] = std::move(draft.counts);
  return said(answer);
}

// What is asked of those that are over.
JobFilter Manager::ended_filter(const ListDraft& draft) {
  const ListJobs& call = draft.call;
  JobFilter filter;
  filter.over_by = draft.at;
  if (!call.user.empty()) filter.user = call.user;
  if (!call.tenant.empty()) filter.tenant = call.tenant == kDefaultTenant ? "" : call.tenant;
  filter.search = call.search;
  return filter;
}

Result<Manager::StateCounts> Manager::count_ended(const ListDraft& draft, JobReader& reader) {
  if (draft.over) return *draft.over;
  Result<StateCounts> counts = reader.count_by_state(ended_filter(draft));
  if (!counts.ok()) return counts;
  const std::lock_guard lock(told_mutex_);
  if (draft.generation != ended_generation_) return counts;  // One more is over by now.
  if (ended_counts_.size() >= kMostCounts) ended_counts_.clear();
  ended_counts_[{draft.call.user, draft.call.tenant, draft.call.search}] = counts.value();
  return counts;
}

void Manager::forget_counts() {
  const std::lock_guard lock(told_mutex_);
  ended_counts_.clear();
  ++ended_generation_;
}

// After those that are not over.
Refusal Manager::add_ended(ListDraft& draft, JobReader& reader) {
  const ListJobs& call = draft.call;
  JobFilter filter = ended_filter(draft);
  for (std::size_t i = 0; i < draft.states.size(); ++i) {
    const auto state = static_cast<LiveState>(i);
    if (draft.states.test(i) && is_over(state)) filter.states.emplace_back(state_name(state));
  }
  if (filter.states.empty() || draft.jobs.size() >= call.limit) return std::nullopt;
  if (filter.states.size() == kEnds) filter.states.clear();  // Which an index has in order.
  filter.over = true;
  const auto sort = std::find(kJobSorts.begin(), kJobSorts.end(), call.sort);
  const auto order = static_cast<std::size_t>(sort - kJobSorts.begin());
  if (order <= static_cast<std::size_t>(JobOrder::kRan)) {
    filter.order = static_cast<JobOrder>(order);
    filter.ascending = !call.descending;
  }
  filter.limit = call.limit - draft.jobs.size();
  filter.offset = call.offset - std::min(call.offset, draft.active);
  const Result<std::vector<JobRow>> rows = reader.jobs(filter);
  if (!rows.ok()) return rows.error();
  for (const JobRow& row : rows.value()) draft.jobs.push_back(view_of(row, draft.clock));
  return std::nullopt;
}

// Those of one array, by index.
Answer Manager::list_array(const ListJobs& call) {
  const States states = read_states(call.state).value();
  Result<std::vector<JobRow>> rows =
      reader_->jobs_beginning(fmt::format("{}_", call.array), kMostArrayJobs);
  if (!rows.ok()) return unreadable(rows.error());
  std::reverse(rows.value().begin(), rows.value().end());
  json jobs = json::array();
  std::map<std::string, std::size_t> counts;
  std::size_t total = 0;
  for (const JobRow& row : rows.value()) {
    if (!is_wanted(call, row.user, row.tenant)) continue;
    ++counts[row.state];
    const std::optional<LiveState> state = find_state(row.state);
    if (!state || !has(states, *state)) continue;
    if (total++ >= call.offset && jobs.size() < call.limit) jobs.push_back(view_now(row));
  }
  json answer = {{"jobs", std::move(jobs)}, {"total", total}};
  if (call.counts) answer["counts"] = counts;
  return said(answer);
}

}  // namespace muster
