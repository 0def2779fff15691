// The functions of Manager that answer calls.

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "api/port/status.h"
#include "live/manager/manager.h"
#include "live/views/answers.h"

namespace muster {

namespace {

constexpr std::size_t kMaxCallsPerTurn = 1'000;

// A submission with a known idempotency key changes nothing.
bool is_repeated(const CommandOutcome& outcome) {
  const auto* submitted = std::get_if<SubmittedJobs>(&outcome);
  return submitted != nullptr && submitted->key_seen;
}

}  // namespace

std::vector<Input> Manager::take_work() {
  std::deque<PendingCall> calls = inbox_.take_calls(kMaxCallsPerTurn);
  std::vector<Input> inputs = inbox_.take_news();
  eras_.drop_known(inputs);
  for (PendingCall& each : calls) {
    if (info_of(each.call).writes) {
      command(std::move(each), inputs);
    } else {
      reads_.push_back(std::move(each));
    }
  }
  return inputs;
}

// The audit row is committed with the change.
void Manager::command(PendingCall pending, std::vector<Input>& inputs) {
  AuditRow row = audit_row(audit_.now(), pending.caller, pending.call);
  std::visit(
      [&]<class C>(C& call) {
        if constexpr (C::kInfo.writes) {
          const Result<CommandOutcome> outcome = commands_.on(pending.caller, call, inputs);
          if (!outcome.ok()) {
            const Answer refusal = error_answer(outcome.error());
            set_refusal(row, refusal);
            audit_.add(std::move(row));
            return pending.done(refusal);
          }
          Waiter waiter{std::move(pending.done), answer_of(outcome.value())};
          set_outcome(row, outcome.value(), waiter.answer.status);
          if (std::holds_alternative<KeptProfile>(outcome.value())) {
            return profile_waiters_.push_back({std::move(waiter), std::move(row)});
          }
          if (!is_repeated(outcome.value())) journal_.put(std::move(row));
          waiters_.push_back(std::move(waiter));
        }
      },
      pending.call);
}

Done Manager::audited(const PendingCall& read) {
  return [this, row = audit_row(audit_.now(), read.caller, read.call),
          done = read.done](Answer answer) mutable {
    const bool refused = answer.status == http_status(ErrorCode::kForbidden) ||
                         answer.status == http_status(ErrorCode::kBusy);
    if (refused) {
      set_refusal(row, answer);
      if (audit_.add(std::move(row))) inbox_.wake();
    } else if (answer.log && set_owner(row, answer.log->owner())) {
      row.job = answer.log->job;
      row.object = fmt::format("job {}", row.job);
      set_answer(row, answer.status, fmt::format("output of lease {}", answer.log->lease));
      if (audit_.add_look(std::move(row))) inbox_.wake();
    }
    done(std::move(answer));
  };
}

void Manager::answer_reads() {
  for (PendingCall& each : std::exchange(reads_, {})) {
    queries_.answer(each.caller, each.call, audited(each));
  }
}

void Manager::refuse_calls() {
  for (PendingCall& each : inbox_.take_calls(SIZE_MAX)) {
    each.done(info_of(each.call).writes ? error_answer({"cannot write to disk: " + status_.blocked,
                                                        ErrorCode::kUnavailable})
                                        : queries_.answer_now(each.caller, each.call));
  }
}

}  // namespace muster
