#pragma once

// The event log that users follow. Numbers the roster's notes, writes them to the journal, and
// passes them to the watcher. Also keeps the latest events of each node.
//
// Threads: watch() may be called from any thread. Everything else belongs to the manager thread.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "api/port/service.h"
#include "base/types/result.h"
#include "engine/roster/roster.h"
#include "live/config/state_directory.h"
#include "live/store/journal.h"
#include "live/store/rows.h"

namespace muster {

class NoteLog {
 public:
  static constexpr std::size_t kMaxNodeEvents = 10;  // Per node.

  // Numbers the notes of the roster's last step and adds them to fresh(). Returns the index there
  // of the first one.
  std::size_t take(const Roster& roster, const LiveClock& clock);
  // Buffers the fresh notes from index `first` on in the journal. Returns the first error; a note
  // that the journal refuses does not stop the others.
  MaybeError write(std::size_t first, Journal& journal);
  // Passes all fresh notes to the watcher. Call it after the commit that made them durable.
  void publish();
  void drop_fresh() { fresh_.clear(); }
  std::span<const Note> fresh() const { return fresh_; }

  std::uint64_t last() const { return last_; }  // The number of the last note; 0: none.
  void continue_after(std::uint64_t number) { last_ = number; }

  // Adds a stored event to the latest events of its node. Ignores events without a node.
  void remember(const EventRow& event);
  // Returns the latest events of a node, oldest first, or nullptr if there are none.
  const std::deque<EventRow>* of_node(const std::string& node) const;

  // Sets the function that receives all later notes; an empty one ends it.
  void watch(std::function<void(Notes)> watcher);

 private:
  std::vector<Note> fresh_;  // Not published yet.
  std::uint64_t last_ = 0;
  std::map<std::string, std::deque<EventRow>> of_nodes_;

  std::mutex mutex_;
  std::function<void(Notes)> watcher_;  // Guarded by mutex_.
};

}  // namespace muster
