#pragma once

// The queue from other threads to the manager thread: calls, events of leases and nodes, new
// settings, and the request to stop.
//
// Threads: add(), change_settings(), wake() and stop() from any thread, the rest on the manager
// thread.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/port/service.h"
#include "base/types/time.h"
#include "engine/roster/input.h"
#include "live/query/read_context.h"

namespace muster {

struct PendingCall {
  Caller caller;
  Call call;
  Done done;
};

struct NewSettings {
  std::string scheduling;  // See settings.h.
  std::vector<NodeCaveats> nodes;
};

class Inbox {
 public:
  void add(PendingCall call);
  void add(std::vector<Input> news);
  void change_settings(NewSettings settings);
  void wake();  // Ends a wait(), without anything to take.
  void stop();

  // Blocks until there is something to take, or for the given time, or until stop(). Returns false
  // after stop().
  bool wait(Duration time);
  // Blocks for the given time or until stop(). Returns false after stop().
  bool pause(Duration time);
  std::deque<PendingCall> take_calls(std::size_t max);  // The oldest ones.
  std::vector<Input> take_news();
  std::optional<NewSettings> take_settings();
  // Puts `news` in front of the queued events.
  void put_first(const std::vector<Input>& news);

 private:
  std::mutex mutex_;
  std::condition_variable woken_;
  std::deque<PendingCall> calls_;  // This and the following members: guarded by mutex_.
  std::vector<Input> news_;
  std::optional<NewSettings> settings_;
  bool awake_ = false;
  bool stopped_ = false;
};

}  // namespace muster
