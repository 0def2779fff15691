// Event handling of LocalExecutor.

#include <poll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/os/processes.h"
#include "base/text/text.h"
#include "exec/machine/local_executor.h"

namespace muster {
namespace {

constexpr long kSweepNs = 20'000'000;
constexpr int kPatientSweeps = 50;  // One second in total.
constexpr std::size_t kMaxWords = 4096;

bool readable(const Fd& fd) {
  pollfd ready{fd.get(), POLLIN, 0};
  return fd.open() && ::poll(&ready, 1, 0) == 1;
}

}  // namespace

std::vector<ExecEvent> LocalExecutor::poll() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(timer_.get(), &count, sizeof count);
  std::vector<std::string> over;
  for (auto& [name, lease] : leases_) {
    if (readable(lease.words)) receive(name, lease);
    if (readable(lease.process)) over.push_back(name);
  }
  for (const std::string& name : over) bury(name);
  settle_the_rest();
  return std::exchange(events_, {});
}

void LocalExecutor::tell(ExecEvent::Kind kind, const std::string& name, const Lease& lease,
                         Found found) {
  ExecEvent event;
  event.kind = kind;
  event.lease = name;
  event.job = lease.spec.job;
  event.epoch = lease.spec.epoch;
  event.node_rank = lease.spec.node_rank;
  if (kind == ExecEvent::Kind::kStarted) event.started = std::move(found.started);
  if (kind == ExecEvent::Kind::kEnded) event.ended = std::move(found.ended);
  event.why = std::move(found.why);
  events_.push_back(std::move(event));
  wake();
}

// Reads the error output of the shim. The shim closes it when the job starts or the shim ends.
void LocalExecutor::receive(const std::string& name, Lease& lease) {
  char piece[1024];
  ssize_t n = 0;
  while ((n = ::read(lease.words.get(), piece, sizeof piece)) > 0) {
    if (lease.said.size() < kMaxWords) lease.said.append(piece, static_cast<std::size_t>(n));
  }
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  lease.words.reset();
  const auto text = read_file(lease.directory.get(), "started.json", kMaxReportBytes);
  auto facts = read_started(text.ok() ? text.value() : "");
  if (!facts.ok() || facts.value().token != lease.spec.token) return;  // bury() finds the reason.
  Found found;
  found.started = std::move(facts).value();
  // The order was repeated while the first shim was starting. bury() reports that shim.
  if (!lease.said.empty()) return;
  lease.started = true;
  tell(ExecEvent::Kind::kStarted, name, lease, std::move(found));
}

void LocalExecutor::bury(const std::string& name) {
  auto node = leases_.extract(name);
  Lease& lease = node.mapped();
  if (lease.words.open()) receive(name, lease);
  if (lease.child) ::waitid(P_PIDFD, static_cast<id_t>(lease.process.get()), nullptr, WEXITED);
  lease.child = false;
  lease.process.reset();
  const Result<Found::What> what = adopt(name, lease);
  if (!what.ok()) {
    leases_.insert(std::move(node));  // Another shim is starting; settle_the_rest() retries.
  } else if (what.value() == Found::What::kNeverStarted && lease.started) {
    lease.sweeping = true;
    lease.why = "its record was damaged";
    leases_.insert(std::move(node));
  } else if (what.value() == Found::What::kNeverStarted) {
    give_up(name, lease);
  }
}

// The shim rejected the order or died before the start.
void LocalExecutor::give_up(const std::string& name, const Lease& lease) {
  ExitReport report;
  report.token = lease.spec.token;
  report.cause = EndCause::kCouldNotStart;
  report.words = lease.said.empty() ? "the shim ended before it started the job"
                                    : std::string(trim(lease.said));
  report.start = report.end = now_on_both_clocks();
  ControlGroup::find(lease.spec.cgroup_parent, mark_of(lease.spec)).remove();
  // Errors are ignored: a full disk may be the reason for the failure.
  close_unstarted(lease.directory, report);
  Found found;
  found.ended = std::move(report);
  tell(ExecEvent::Kind::kEnded, name, lease, std::move(found));
}

void LocalExecutor::settle_the_rest() {
  std::vector<std::string> unsure;
  for (auto it = leases_.begin(); it != leases_.end();) {
    Lease& lease = it->second;
    const bool patient = ++lease.sweeps < kPatientSweeps;
    if (lease.sweeping && sweep(lease.spec, lease.since, patient)) {
      Found found;
      found.why = lease.why;
      tell(ExecEvent::Kind::kLost, it->first, lease, std::move(found));
      it = leases_.erase(it);
      continue;
    }
    if (!lease.process.open() && !lease.sweeping) unsure.push_back(it->first);
    ++it;
  }
  for (const std::string& name : unsure) bury(name);
  const bool more = std::any_of(leases_.begin(), leases_.end(),
                                [](const auto& entry) { return !entry.second.process.open(); });
  itimerspec again{};
  if (more) again.it_value.tv_nsec = kSweepNs;
  ::timerfd_settime(timer_.get(), 0, &again, nullptr);
}

}  // namespace muster
