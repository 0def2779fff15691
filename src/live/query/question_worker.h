#pragma once

// A thread that answers questions about the future or the past, one after the other, so that they
// do not block the manager thread.

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace muster {

class QuestionWorker {
 public:
  static constexpr std::size_t kMaxWaiting = 32;  // Questions in the queue.
  static constexpr int kMaxOfOne = 24;            // Per user, so that other users can ask too.

  QuestionWorker() = default;
  ~QuestionWorker();  // Finishes the current question and drops the others.
  QuestionWorker(const QuestionWorker&) = delete;
  QuestionWorker& operator=(const QuestionWorker&) = delete;

  // Returns true if another question of this user fits the queue. Only the thread that calls ask()
  // can fill it.
  bool has_room(const std::string& user);
  // REQUIRES: has_room(user). An empty user is the manager itself.
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
  std::map<std::string, int> of_;  // Number of open questions, by user.
  bool busy_ = false;
  bool ending_ = false;
  std::thread thread_;  // Started by the first ask(), to inherit its signal mask.
};

}  // namespace muster
