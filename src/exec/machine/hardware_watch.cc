#include "exec/machine/hardware_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/types/check.h"
#include "exec/machine/gpu_health.h"

namespace muster {

namespace {

constexpr int kCounterPeriods = 10;

void signal_fd(const Fd& fd) {
  const std::uint64_t one = 1;
  MUSTER_CHECK(::write(fd.get(), &one, sizeof one) == sizeof one);
}

}  // namespace

bool FaultFilter::passes(const HardwareEvent& event, Clock::time_point now) {
  std::erase_if(past_, [&](const Past& past) { return now - past.at >= kSameFault; });
  const bool is_known = std::any_of(past_.begin(), past_.end(), [&](const Past& past) {
    return past.fault == event.fault &&
           (past.device == event.device || past.device == kNoDevice || event.device == kNoDevice);
  });
  if (is_known || past_.size() >= kMaxEvents) return false;
  past_.push_back({event.fault, event.device, now});
  return true;
}

HardwareWatch::HardwareWatch(Settings settings)
    : settings_(std::move(settings)),
      ready_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      end_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  MUSTER_CHECK(ready_.open() && end_.open());
  thread_ = std::thread([this] { run(); });
}

HardwareWatch::~HardwareWatch() {
  signal_fd(end_);
  thread_.join();
}

void HardwareWatch::run() {
  KernelLog log(settings_.kernel_log);
  GpuHealth gpus(settings_.nvml.c_str());
  if (!log.is_open() && !gpus.is_open()) return;
  for (int round = 0;; ++round) {
    report(log.poll());
    report(gpus.poll_xids());
    if (round % kCounterPeriods == 0) report(gpus.poll_counters());
    pollfd end = {end_.get(), POLLIN, 0};
    if (::poll(&end, 1, static_cast<int>(settings_.period.count())) > 0) return;
  }
}

void HardwareWatch::report(const std::vector<HardwareEvent>& events) {
  for (const HardwareEvent& event : events) {
    if (!filter_.passes(event, FaultFilter::Clock::now())) continue;
    const std::lock_guard lock(mutex_);
    faults_.push_back(event.what);
    signal_fd(ready_);
  }
}

std::vector<std::string> HardwareWatch::poll() {
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(ready_.get(), &count, sizeof count);
  return std::exchange(faults_, {});
}

}  // namespace muster
