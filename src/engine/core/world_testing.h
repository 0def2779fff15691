#pragma once

// For tests with a small cluster that executes every action immediately: common events, the loop,
// and results as text.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/engine.h"

namespace muster {

inline Instant second(std::int64_t seconds) { return Instant::at(Duration::seconds(seconds)); }

// A job that is estimated to run this long.
inline JobSubmitted job_of(std::int32_t gpus, std::int64_t seconds) {
  JobSpec spec;
  spec.gpus = gpus;
  spec.estimate = Duration::seconds(seconds);
  return {spec};
}
inline LeaseEnded completed(std::uint32_t job, Epoch epoch = 1) {
  return {JobId(job), epoch, LeaseOutcome::kCompleted};
}

// Steps the engine, confirms each lease that it starts or stops, and steps again until it has no
// more orders. Calls note(action) for each action. Checks the engine's invariants after each step.
template <class Note>
void carry_out(Engine& engine, Instant now, std::vector<Event> events, Note note) {
  while (!events.empty()) {
    std::vector<Event> answers;
    for (const Action& action : engine.step(now, events)) {
      note(action);
      if (action.kind == Action::Kind::kStart) {
        answers.push_back(LeaseStarted{action.job, action.epoch});
      } else if (action.kind == Action::Kind::kStop) {
        answers.push_back(LeaseEnded{action.job, action.epoch, LeaseOutcome::kStopped});
      }
    }
    engine.state().check_invariants();
    events = std::move(answers);
  }
}

// "0:2 1:1": two GPUs of the first node, one of the second.
inline std::string placement_text(const Placement& placement) {
  std::string text;
  for (const Share& share : placement) {
    if (!text.empty()) text += ' ';
    text += std::to_string(share.node.index()) + ':' + std::to_string(share.gpus());
  }
  return text;
}

// "fair-share 10, back-off 5": how long the job waited up to this second, in seconds; causes of no
// waiting are omitted.
inline std::string wait_text(const Engine& engine, int job, std::int64_t at) {
  const WaitSplit split = engine.waited(JobId(job), second(at));
  std::string text;
  for (std::size_t i = 0; i < kWaitCauses; ++i) {
    if (split.by_cause[i] == Duration()) continue;
    if (!text.empty()) text += ", ";
    text +=
        std::string(kWaitCauseNames[i]) + ' ' + std::to_string(split.by_cause[i].us() / 1'000'000);
  }
  return text;
}

}  // namespace muster
