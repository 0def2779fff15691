#include "live/manager/audit_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>
#include <variant>

#include "api/port/permissions.h"
#include "base/text/text.h"
#include "live/views/secrets.h"

namespace muster {

namespace {

constexpr Duration kMinute = Duration::seconds(60);
constexpr Duration kMaxDelay = Duration::seconds(1);
constexpr Duration kFar = Duration::seconds(3600);
constexpr Duration kOneLook = Duration::seconds(600);
constexpr std::size_t kMaxLooks = 10'000;
constexpr std::size_t kMaxAnswerText = 200;
constexpr const char* kCounted = "refusals";  // Call of a row with a number of dropped rows.

AuditRow row_of_caller(Instant at, const Caller& caller) {
  AuditRow row;
  row.at = at;
  if (caller.uid != kNoUid) row.uid = caller.uid;
  row.user = caller.user;
  row.via = caller.via;
  row.address = caller.address;
  return row;
}

// Returns the number at the beginning of "12", "12_3" or "12_*".
std::uint64_t number_in(std::string_view word) {
  const Result<std::int64_t> number = parse_int(word.substr(0, word.find('_')));
  return number.ok() && number.value() > 0 ? static_cast<std::uint64_t>(number.value()) : 0;
}

void set_object(AuditRow& row, const Call& call) {
  std::visit(
      [&]<class C>(const C& each) {
        if constexpr (requires { each.job.size(); }) {
          if (each.job.empty()) return;
          row.object = "job " + each.job;
          row.job = number_in(each.job);
        } else if constexpr (requires { each.node.size(); }) {
          row.object = "node " + each.node;
        } else if constexpr (std::is_same_v<C, SubmitJob>) {
          if (!each.request.tenant.empty()) row.object = "tenant " + each.request.tenant;
        }
      },
      call);
}

std::string key_of(const AuditRow& row) {
  if (row.uid) return fmt::format("uid {}", *row.uid);
  return row.user.empty() ? "address " + row.address : "user " + row.user;
}

// Each submission needs these texts, and fmt::format() takes longer.
std::string jobs_text(std::size_t jobs) {
  return jobs == 1 ? "1 job" : std::to_string(jobs) + " jobs";
}

void set_jobs(AuditRow& row, bool array, LiveId id) {
  row.job = id;
  row.object = array ? "array " : "job ";
  row.object += std::to_string(id);
}

}  // namespace

AuditRow audit_row(Instant at, const Caller& caller, const Call& call) {
  AuditRow row = row_of_caller(at, caller);
  row.verb = info_of(call).name;
  set_object(row, call);
  return row;
}

AuditRow audit_row(Instant at, const ServerAct& act) {
  AuditRow row = row_of_caller(at, act.caller);
  row.verb = act.call;
  row.object = act.object;
  constexpr std::string_view kJob = "job ";
  if (row.object.starts_with(kJob)) row.job = number_in(row.object.substr(kJob.size()));
  set_answer(row, act.status, act.answer);
  return row;
}

void set_answer(AuditRow& row, int status, const std::string& text) {
  row.status = status;
  row.answer = without_secrets(text).substr(0, kMaxAnswerText);
}

void set_refusal(AuditRow& row, const Answer& answer) {
  const nlohmann::json body = nlohmann::json::parse(answer.body, nullptr, false);
  set_answer(row, answer.status, body.is_object() ? body.value("error", std::string()) : "");
}

bool set_owner(AuditRow& row, const JobOwner& owner) {
  if (is_own({.user = row.user, .uid = row.uid.value_or(kNoUid)}, owner)) return false;
  row.owner = owner.user;
  if (owner.uid != kNoUid) row.owner_uid = owner.uid;
  return true;
}

// The manager wrote these texts, so they contain no secrets.
void set_outcome(AuditRow& row, const CommandOutcome& outcome, int status) {
  row.status = status;
  if (const auto* submitted = std::get_if<SubmittedJobs>(&outcome)) {
    set_jobs(row, submitted->ids.size() > 1, submitted->ids.front());
    row.answer = jobs_text(submitted->ids.size());
  } else if (const auto* retried = std::get_if<RetriedJob>(&outcome)) {
    set_jobs(row, false, retried->id);
    set_owner(row, {retried->owner, retried->owner_uid, {}});
    row.answer = fmt::format("retries job {}", retried->of);
  } else if (const auto* changed = std::get_if<ChangedJobs>(&outcome)) {
    const ChangedJob& first = changed->jobs.front();
    set_jobs(row, changed->whole_array, changed->whole_array ? changed->array : first.id);
    set_owner(row, {changed->owner, changed->owner_uid, {}});
    row.answer = changed->whole_array ? jobs_text(changed->jobs.size()) : first.state;
  } else if (const auto* node = std::get_if<ChangedNode>(&outcome)) {
    row.answer = node->open ? "open" : "drained";
  } else if (const auto* kept = std::get_if<KeptProfile>(&outcome)) {
    row.object = "profile " + kept->profile.name;
    row.answer = "kept";
  } else if (const auto* left = std::get_if<LoggedOut>(&outcome)) {
    row.answer = fmt::format("generation {}", left->generation);
  } else {
    row.answer = "issued";
  }
}

bool AuditLog::push(AuditRow row) {
  if (waiting_.size() >= kMaxWaitingRows) {
    ++lost_;
    return false;
  }
  waiting_.push_back(std::move(row));
  return waiting_.size() == 1;
}

// Returns the key of the row's window. Callers beyond the limit share one.
std::string AuditLog::window_key(const AuditRow& row) {
  std::string key = key_of(row);
  if (windows_.contains(key)) return key;
  end_windows(row.at, false);
  const auto is_address = [](std::string_view text) { return text.starts_with("address "); };
  const bool has_user = !is_address(key);
  const auto same_kind = std::count_if(windows_.begin(), windows_.end(), [&](const auto& each) {
    return is_address(each.first) != has_user;
  });
  if (static_cast<std::size_t>(same_kind) < (has_user ? kMaxUsers : kMaxAddresses)) return key;
  return has_user ? "other users" : "address other";
}

bool AuditLog::add(AuditRow row) {
  const std::lock_guard lock(mutex_);
  if (row.status < 400) return push(std::move(row));
  const std::string key = window_key(row);
  auto found = windows_.find(key);
  if (found == windows_.end() || row.at - found->second.begin >= kMinute) {
    end_windows(row.at, false);
    found = windows_.try_emplace(key).first;
    found->second.begin = row.at;
    AuditRow& dropped = found->second.dropped;
    if (key == key_of(row)) {
      dropped = row;
      dropped.object.clear();
      dropped.job = 0;
    }
    dropped.status = row.status;
    dropped.verb = kCounted;
  }
  Window& window = found->second;
  if (window.rows == kRefusalsPerCaller) {
    ++window.dropped.dropped;
    return false;
  }
  ++window.rows;
  return push(std::move(row));
}

bool AuditLog::add_look(AuditRow row) {
  const std::lock_guard lock(mutex_);
  if (looks_.size() >= kMaxLooks) looks_.clear();
  const auto [found, fresh] = looks_.try_emplace({key_of(row), row.job}, row.at);
  if (!fresh && row.at - found->second < kOneLook) return false;
  found->second = row.at;
  return push(std::move(row));
}

// Ends the windows that are older than a minute.
void AuditLog::end_windows(Instant now, bool all) {
  for (auto at = windows_.begin(); at != windows_.end();) {
    Window& window = at->second;
    if (!all && now - window.begin < kMinute) {
      ++at;
      continue;
    }
    if (const std::uint64_t count = window.dropped.dropped; count > 0) {
      window.dropped.at = now;
      window.dropped.answer =
          fmt::format("{} more refusal{} within a minute", count, count == 1 ? "" : "s");
      push(std::move(window.dropped));
    }
    at = windows_.erase(at);
  }
}

Instant AuditLog::due() const {
  const std::lock_guard lock(mutex_);
  Instant due = clock_.now() + kFar;
  if (!waiting_.empty()) due = waiting_.front().at + kMaxDelay;
  for (const auto& [key, window] : windows_) {
    if (window.dropped.dropped > 0) due = std::min(due, window.begin + kMinute);
  }
  return due;
}

void AuditLog::move_to(Journal& journal, bool all) {
  const std::lock_guard lock(mutex_);
  end_windows(clock_.now(), all);
  for (AuditRow& row : std::exchange(waiting_, {})) journal.put(std::move(row));
  if (lost_ == 0) return;
  AuditRow row;
  row.at = clock_.now();
  row.verb = kCounted;
  row.dropped = std::exchange(lost_, 0);
  row.answer = fmt::format("{} rows did not fit into memory", row.dropped);
  journal.put(std::move(row));
}

}  // namespace muster
