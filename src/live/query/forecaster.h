#pragma once

// A thread that answers questions about the future or the past, one after the other, so that the
// manager's own need not wait for them.

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace muster {

class Forecaster {
 public:
  static constexpr std::size_t kMostWaiting = 32;
  static constexpr int kMostOfOne = 24;  // User, so that there is room for others.

  Forecaster() = default;
  ~Forecaster();  // Finishes the one at hand; the rest is dropped.
  Forecaster(const Forecaster&) = delete;
  Forecaster& operator=(const Forecaster&) = delete;

  // Whether one more of this user may wait. Only whoever asks can take the room away.
  bool has_room(const std::string& user);
  // CHECKs that there is room. Nobody's: the manager's own.
  void ask(std::function<void()> question, const std::string& user = "");
  bool is_idle();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable woken_;
  struct Question {
    std::function<void()> answer;
    std::string user;
  };
  std::deque<Question> questions_;
  std::map<std::string, int> of_;  // Not answered yet, by user.
  bool busy_ = false;
  bool ending_ = false;
  std::thread thread_;  // From the first question on: it must have its asker's mask of signals.
};

}  // namespace muster
