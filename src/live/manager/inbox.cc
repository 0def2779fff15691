#include "live/manager/inbox.h"

#include <chrono>
#include <utility>

namespace muster {

void Inbox::add(PendingCall call) {
  {
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
  }
  woken_.notify_one();
}

void Inbox::add(std::vector<Input> news) {
  {
    const std::lock_guard lock(mutex_);
    for (Input& each : news) news_.push_back(std::move(each));
  }
  woken_.notify_one();
}

void Inbox::change_settings(NewSettings settings) {
  {
    const std::lock_guard lock(mutex_);
    settings_ = std::move(settings);
  }
  woken_.notify_one();
}

void Inbox::wake() {
  {
    const std::lock_guard lock(mutex_);
    awake_ = true;
  }
  woken_.notify_one();
}

void Inbox::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  woken_.notify_one();
}

bool Inbox::wait(Duration time) {
  std::unique_lock lock(mutex_);
  woken_.wait_for(lock, std::chrono::microseconds(time.us()), [this] {
    return stopped_ || awake_ || !calls_.empty() || !news_.empty() || settings_;
  });
  awake_ = false;
  return !stopped_;
}

bool Inbox::pause(Duration time) {
  std::unique_lock lock(mutex_);
  woken_.wait_for(lock, std::chrono::microseconds(time.us()), [this] { return stopped_; });
  return !stopped_;
}

std::deque<PendingCall> Inbox::take_calls(std::size_t max) {
  std::deque<PendingCall> calls;
  const std::lock_guard lock(mutex_);
  while (!calls_.empty() && calls.size() < max) {
    calls.push_back(std::move(calls_.front()));
    calls_.pop_front();
  }
  return calls;
}

std::vector<Input> Inbox::take_news() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

std::optional<NewSettings> Inbox::take_settings() {
  const std::lock_guard lock(mutex_);
  return std::exchange(settings_, std::nullopt);
}

void Inbox::put_first(const std::vector<Input>& news) {
  const std::lock_guard lock(mutex_);
  news_.insert(news_.begin(), news.begin(), news.end());
}

}  // namespace muster
