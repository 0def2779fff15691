#include "study/past/row_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/text.h"
#include "engine/model/topology.h"
#include "engine/roster/placement_text.h"
#include "workload/history/notes.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::size_t kRowsBetweenLooks = 1'000;  // Rows between two calls of go_on().

double number_in(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? std::clamp(at->get<double>(), 0.0, 1e9) : 0.0;
}

void read_facts(const std::string& text, PastLease& lease) {
  const json facts = json::parse(text, nullptr, false);
  if (!facts.is_object()) return;
  const auto trial = facts.find("trial");
  lease.trial = trial != facts.end() && trial->is_boolean() && trial->get<bool>();
  const auto reason = facts.find("reason");
  if (reason != facts.end() && reason->is_string()) {
    lease.reason = find_reason(reason->get_ref<const std::string&>());
  }
  lease.cpu_milli = std::llround(number_in(facts, "cpus") * 1000);
  lease.mem_mib = std::llround(number_in(facts, "mem_gib") * 1024);
}

class Rows {
 public:
  explicit Rows(LiveHistory& history) : history_(history) {
    for (const Node& node : history.settings.topology.nodes()) node_id(node.name);
  }

  MaybeError read(JournalReader& reader, const PastLimits& limits);

 private:
  void add(const JobRow& row);
  void add(AttemptRow row);
  void read_where(PastLease& lease);
  std::uint32_t node_id(const std::string& name);
  void find_eligible();
  void complain(std::uint64_t job, const std::string& why);

  LiveHistory& history_;
  std::map<std::string, std::uint32_t, std::less<>> nodes_;
  std::size_t next_ = 0;  // The job whose leases come next.
  std::int64_t nowhere_ = 0;
  std::int64_t orphans_ = 0;
  MaybeError wrong_;
};

void Rows::complain(std::uint64_t job, const std::string& why) {
  if (!wrong_) wrong_ = Error{fmt::format("{}: job {}: {}", history_.source, job, why)};
}

std::uint32_t Rows::node_id(const std::string& name) {
  const auto next = static_cast<std::uint32_t>(nodes_.size());
  const auto [at, fresh] = nodes_.emplace(name, next);
  if (fresh) history_.nodes.push_back(name);
  return at->second;
}

void Rows::add(const JobRow& row) {
  const json details = json::parse(row.spec, nullptr, false);
  if (!details.is_object() || !details.contains("request")) {
    return complain(row.id, "its row is not readable");
  }
  Result<JobRequest> request =
      read_request(details["request"].dump(-1, ' ', false, json::error_handler_t::replace));
  if (!request.ok()) return complain(row.id, request.error().message);
  const std::optional<LiveState> state = find_state(row.state);
  if (!state) return complain(row.id, "unknown state " + in_quotes(row.state));
  KnownJob job;
  job.id = row.id;
  job.user = row.user;
  job.tenant = row.tenant;
  job.request = std::move(request).value();
  // Past jobs are never started, so their environment and command are not needed.
  job.request.env.clear();
  job.request.command.clear();
  job.submitted = job.eligible = row.submitted;
  job.ended = row.ended;
  job.state = *state;
  job.ran = Duration::micros(std::llround(number_in(details, "ran_s") * 1e6));
  history_.last = std::max({history_.last, row.submitted, row.ended.value_or(row.submitted)});
  history_.jobs.push_back(std::move(job));
}

void Rows::read_where(PastLease& lease) {
  const std::vector<PlacedOn> places = read_placed(lease.nodes);
  if (places.empty()) ++nowhere_;
  for (const PlacedOn& place : places) {
    lease.where.push_back({node_id(std::string(place.node)), place.gpus});
  }
}

void Rows::add(AttemptRow row) {
  while (next_ < history_.jobs.size() && history_.jobs[next_].id < row.job) ++next_;
  if (next_ == history_.jobs.size() || history_.jobs[next_].id != row.job) {
    ++orphans_;
    return;
  }
  PastLease lease;
  lease.number = row.number;
  lease.nodes = std::move(row.nodes);
  read_where(lease);
  lease.up = row.started.value_or(Instant::never());
  lease.end = row.ended.value_or(Instant::never());
  if (row.ended) {
    const std::optional<LeaseResult> fate = find_fate(row.state);
    if (!fate) return complain(row.job, "unknown outcome " + in_quotes(row.state));
    lease.fate = *fate;
  }
  read_facts(row.exit, lease);
  history_.last =
      std::max({history_.last, row.started.value_or(Instant()), row.ended.value_or(Instant())});
  history_.jobs[next_].leases.push_back(std::move(lease));
}

// Uses the dependencies of the requests. The replay of the journal later corrects jobs of its era.
void Rows::find_eligible() {
  std::int64_t gone = 0;
  std::int64_t held = 0;
  for (KnownJob& job : history_.jobs) {
    bool lost = false;
    for (const auto* list : {&job.request.after_ok, &job.request.after_any}) {
      for (const LiveId id : *list) {
        const KnownJob* other = history_.find(id);
        lost = lost || other == nullptr;
        if (other != nullptr && other->ended) job.eligible = std::max(job.eligible, *other->ended);
      }
    }
    if (lost) ++gone;
    if (job.request.hold) ++held;
  }
  add_note(history_.notes, gone, "job", "that depend on jobs that are no longer known");
  add_note(history_.notes, held, "job",
           "submitted on hold; holds are known only in the newest era");
}

MaybeError Rows::read(JournalReader& reader, const PastLimits& limits) {
  const Result<std::uint64_t> last = reader.last_job();
  if (!last.ok()) return last.error();
  const std::uint64_t after = last.value() - std::min<std::uint64_t>(last.value(), limits.latest);
  const Result<std::uint64_t> earlier = reader.jobs_up_to(after);
  if (!earlier.ok()) return earlier.error();
  std::size_t rows = 0;
  bool going = true;
  const auto read = [&](auto&& row) {
    add(std::forward<decltype(row)>(row));
    if (++rows % kRowsBetweenLooks == 0) going = limits.go_on();
    return going;
  };
  if (const MaybeError refusal = reader.for_each_job(after, read)) return refusal;
  if (!going) return Error{kStoppedEarly};
  if (const MaybeError refusal = reader.for_each_attempt(after, read)) return refusal;
  if (!going) return Error{kStoppedEarly};
  if (wrong_) return wrong_;
  add_note(history_.notes, static_cast<std::int64_t>(earlier.value()), "job",
           "submitted earlier: omitted");
  add_note(history_.notes, nowhere_, "lease", "with unreadable nodes and GPUs");
  add_note(history_.notes, orphans_, "lease", "of jobs that are no longer known: omitted");
  find_eligible();
  return std::nullopt;
}

}  // namespace

MaybeError read_rows(JournalReader& reader, const PastLimits& limits, LiveHistory& history) {
  return Rows(history).read(reader, limits);
}

}  // namespace muster
