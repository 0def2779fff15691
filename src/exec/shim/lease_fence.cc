#include "exec/shim/lease_fence.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <utility>

#include "base/os/processes.h"

namespace muster {

namespace {

constexpr std::chrono::milliseconds kLookEvery{200};
constexpr std::int64_t kLastResortUs = 20'000'000;  // After the deadline.

}  // namespace

LeaseFence::LeaseFence(std::string directory, std::int64_t stop_after_us, std::int64_t heard_us)
    : directory_(std::move(directory)),
      stop_after_us_(stop_after_us),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      heard_us_(heard_us) {
  if (stop_after_us_ > 0) {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGKILL;
    armed_ = ::timer_create(CLOCK_BOOTTIME, &event, &last_resort_) == 0;
    arm();
  }
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // Only the main thread handles signals.
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LeaseFence::~LeaseFence() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ended_.notify_one();
  thread_.join();
  if (armed_) ::timer_delete(last_resort_);
}

std::int64_t LeaseFence::deadline_us() const {
  return stop_after_us_ == 0 ? INT64_MAX : heard_us_ + stop_after_us_;
}

std::optional<RemoteOrder> LeaseFence::take() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(wake_.get(), &count, sizeof count);
  const std::lock_guard lock(mutex_);
  return std::exchange(order_, std::nullopt);
}

void LeaseFence::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    lock.unlock();
    look();
    lock.lock();
    ended_.wait_for(lock, kLookEvery, [this] { return ending_; });
  }
}

// Based on the last successful read, not on the current time.
void LeaseFence::arm() {
  if (!armed_) return;
  itimerspec when{};
  const std::int64_t us = heard_us_ + stop_after_us_ + kLastResortUs;
  when.it_value = {us / 1'000'000, us % 1'000'000 * 1000};
  ::timer_settime(last_resort_, TIMER_ABSTIME, &when, nullptr);
}

void LeaseFence::look() {
  // Take the time before the read, because an order written during the read may be missed.
  const std::int64_t now = boot_micros();
  const Result<std::optional<RemoteOrder>> found = look_for_remote_order(directory_);
  if (!found.ok()) return;
  heard_us_ = now;
  arm();
  const std::optional<RemoteOrder>& order = found.value();
  if (!order || order->serial == serial_) return;
  serial_ = order->serial;
  {
    const std::lock_guard lock(mutex_);
    order_ = order;
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(wake_.get(), &one, sizeof one);
}

}  // namespace muster
