#include "live/query/question_worker.h"

#include <utility>

#include "base/types/check.h"

namespace muster {

QuestionWorker::~QuestionWorker() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  woken_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void QuestionWorker::ask(std::function<void()> question, const std::string& user) {
  {
    const std::lock_guard lock(mutex_);
    MUSTER_CHECK(questions_.size() < kMaxWaiting);
    questions_.push_back({std::move(question), user});
    ++of_[user];
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  woken_.notify_one();
}

bool QuestionWorker::has_room(const std::string& user) {
  const std::lock_guard lock(mutex_);
  const auto his = of_.find(user);
  return questions_.size() < kMaxWaiting && (his == of_.end() || his->second < kMaxOfOne);
}

bool QuestionWorker::is_idle() {
  const std::lock_guard lock(mutex_);
  return questions_.empty() && !busy_;
}

void QuestionWorker::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    woken_.wait(lock, [this] { return ending_ || !questions_.empty(); });
    if (ending_) return;
    const Question question = std::move(questions_.front());
    questions_.pop_front();
    busy_ = true;
    lock.unlock();
    question.answer();
    lock.lock();
    busy_ = false;
    if (--of_[question.user] == 0) of_.erase(question.user);
  }
}

}  // namespace muster
