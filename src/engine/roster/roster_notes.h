#pragma once

// The notes of a roster: what users read about submissions, waits, starts and stops. Nothing here
// changes a decision.
//
// A plan reviews one waiting job of each kind, so only these jobs get notes, and jobs that have
// just begun to wait. The cost of a step does not depend on the length of the queue.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/roster/roster_output.h"
#include "engine/roster/roster_view.h"

namespace muster {

class RosterNotes : public RosterView {
 public:
  std::span<const RosterNote> notes() const { return notes_; }
  std::span<const LiveId> touched() const { return touched_; }  // In order, each once.

 protected:
  using RosterView::RosterView;

  void forget_notes();  // Drops the notes of the last step.
  void touch(LiveId id) { touched_.push_back(id); }
  void sort_touched();
  void note(const LiveJob& job, const char* kind, std::string words);
  void note_of_node(NodeId node, const char* kind, const std::string& words);

  void begin_wait(LiveJob& job, Duration pause = Duration());
  void resume_wait(LiveId id) { new_waits_.push_back({id, 0}); }  // After a restart.
  void tell_blocked(LiveJob& job);
  void tell_waits();
  void tell_start(LiveJob& job, const Placement& placement);
  void tell_stop(LiveJob& job);

 private:
  struct Names;
  struct RoomNow;
  struct NewWait {
    LiveId id = 0;
    std::uint64_t plans = 0;  // The cause of the wait is known after more plans than these.
  };

  void tell_wait(LiveJob& job, RoomNow& room);
  void tell_promise(LiveJob& job);
  void say_wait(LiveJob& job, WaitFacts facts, std::string words, std::string full);
  std::string say_by_what() const;
  const LiveJob* find_gainer(JobId stopped) const;
  WaitCause cause_now(JobId row) const;
  Names names_for(const LiveJob& reader, const LiveJob& other) const;

  std::vector<NewWait> new_waits_;  // These jobs need a note about their wait.
  std::map<LiveId, LiveId> gains_;  // In this step: the job that is promised GPUs, and the holder.
  std::uint64_t plans_told_ = 0;    // The number of plans that have notes.
  std::vector<RosterNote> notes_;
  std::vector<LiveId> touched_;
};

}  // namespace muster
