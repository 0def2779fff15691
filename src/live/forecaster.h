#pragma once

// A thread that answers questions about the future or the past, one after the other, so that the
// manager's own need not wait for them.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace muster {

class Forecaster {
 public:
  static constexpr std::size_t kMostWaiting = 32;

  Forecaster() = default;
  ~Forecaster();  // Finishes the one at hand; the rest is dropped.
  Forecaster(const Forecaster&) = delete;
  Forecaster& operator=(const Forecaster&) = delete;

  // Whether one more may wait. Only whoever asks can take the room away.
  bool has_room();
  void ask(std::function<void()> question);  // CHECKs that there is room.
  bool is_idle();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable woken_;
  std::deque<std::function<void()>> questions_;
  bool busy_ = false;
  bool ending_ = false;
  std::thread thread_;  // From the first question on: it must have its asker's mask of signals.
};

}  // namespace muster
