#pragma once

// For the tests of api/: a Service that answers from a separate thread, as the manager does.

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/port/service.h"

namespace muster {

class FakeService final : public Service {
 public:
  using Handler = std::function<Answer(const Caller&, const Call&)>;

  explicit FakeService(Handler handler = nullptr) : handler_(std::move(handler)) {
    thread_ = std::thread([this] { run(); });
  }
  FakeService(const FakeService&) = delete;
  FakeService& operator=(const FakeService&) = delete;
  ~FakeService() override {
    do_later([this] { over_ = true; });
    thread_.join();
  }

  void call(Caller caller, Call call, std::function<void(Answer)> done) override {
    do_later([this, caller = std::move(caller), call = std::move(call), done = std::move(done)] {
      calls_.emplace_back(caller, info_of(call).name);
      if (hang_) return hung_.push_back(done);
      done(handler_ ? handler_(caller, call)
                    : Answer{200, "{\"call\":\"" + std::string(info_of(call).name) + "\"}",
                             std::nullopt});
    });
  }

  void record(ServerAct act) override {
    const std::lock_guard lock(mutex_);
    acts_.push_back(std::move(act));
  }
  std::vector<ServerAct> acts() {
    const std::lock_guard lock(mutex_);
    return acts_;
  }

  void watch(std::function<void(Notes)> news) override {
    const std::lock_guard lock(mutex_);
    news_ = std::move(news);
  }

  // Reports events on the service's thread, in order with its answers.
  void tell(std::vector<Note> notes) {
    do_later([this, all = std::make_shared<const std::vector<Note>>(std::move(notes))] {
      std::unique_lock lock(mutex_);
      const auto news = news_;
      lock.unlock();
      if (news) news(all);
    });
  }

  void do_later(std::function<void()> what) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(what));
    ready_.notify_one();
  }

  // Runs `what` on the service's thread after all earlier work, and waits for it.
  void do_now(const std::function<void()>& what) {
    std::mutex mutex;
    std::condition_variable done;
    bool is_done = false;
    do_later([&] {
      what();
      const std::lock_guard lock(mutex);
      is_done = true;
      done.notify_one();
    });
    std::unique_lock lock(mutex);
    done.wait(lock, [&] { return is_done; });
  }

  void hang(bool on) {
    do_now([&] { hang_ = on; });
  }
  std::vector<std::pair<Caller, std::string>> calls() {
    std::vector<std::pair<Caller, std::string>> copy;
    do_now([&] { copy = calls_; });
    return copy;
  }

 private:
  void run() {
    while (!over_) {
      std::unique_lock lock(mutex_);
      ready_.wait(lock, [&] { return !queue_.empty(); });
      const auto what = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      what();
    }
  }

  Handler handler_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> queue_;
  std::function<void(Notes)> news_;
  std::vector<ServerAct> acts_;
  bool over_ = false;  // This and the members below are used only by the thread.
  bool hang_ = false;
  std::vector<std::function<void(Answer)>> hung_;
  std::vector<std::pair<Caller, std::string>> calls_;
  std::thread thread_;
};

}  // namespace muster
