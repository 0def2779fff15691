#include "exec/machine/measure.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/os/processes.h"
#include "exec/lease/lease_files.h"
#include "exec/machine/local_executor.h"
#include "exec/machine/step_watch.h"

namespace muster {

namespace {

constexpr int kLookEveryMs = 20;
constexpr int kMaxStarts = 10;
constexpr std::int64_t kStopPatienceUs = 20'000'000;
constexpr std::size_t kMaxLastWords = 2'000;

// The clock of file modification times.
std::int64_t unix_us() { return now_on_both_clocks().wall_us; }

std::string end_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  const std::string whole = text.str();
  return whole.size() <= kMaxLastWords ? whole : whole.substr(whole.size() - kMaxLastWords);
}

class Measuring {
 public:
  Measuring(const MeasureOrder& order, LocalExecutor executor)
      : order_(order),
        executor_(std::move(executor)),
        files_(order.scratch),
        session_(order.session),
        zero_(unix_us()) {}

  Result<Measured> run() {
    if (const MaybeError refusal = start()) return *refusal;
    while (!session_.over() && !out_.trouble) {
      if (order_.interrupted && order_.interrupted()) {
        out_.trouble = "interrupted";
        break;
      }
      if (const MaybeError refusal = hear()) {
        end();
        return *refusal;
      }
      look();
      if (order_.watch) order_.watch(session_);
    }
    end();
    out_.curve = session_.curve();
    out_.time = session_.measured();
    if (session_.trouble()) out_.trouble = session_.trouble();
    return std::move(out_);
  }

 private:
  Duration now() const { return Duration::micros(unix_us() - zero_); }

  MaybeError start() {
    LaunchSpec spec = order_.spec;
    spec.epoch = ++out_.starts;
    spec.token = fmt::format("{}x{}", order_.spec.token, out_.starts);
    spec.cpu_milli = session_.cpu_milli();
    lease_ = lease_name(spec);
    if (!spec.mark.empty()) spec.mark = fmt::format("{}x{}", spec.mark, out_.starts);
    mark_ = mark_of(spec);
    steps_.emplace(files_.progress_path(lease_));
    limit_due_ = false;
    session_.begin(now());
    const MaybeError refusal = executor_.start(spec);
    running_ = !refusal;
    return refusal;
  }

  // Waits briefly for events of the lease.
  MaybeError hear() {
    pollfd ready{executor_.fd(), POLLIN, 0};
    ::poll(&ready, 1, kLookEveryMs);
    for (const ExecEvent& event : executor_.poll()) {
      switch (event.kind) {
        case ExecEvent::Kind::kStarted:
          if (event.started && event.started->isolation == "reduced") {
            return Error{"CPU cannot be limited here: " + event.started->isolation_why,
                         ErrorCode::kSystem};
          }
          session_.begin(now());
          break;
        case ExecEvent::Kind::kLost:
          running_ = false;
          return Error{"the shim was lost: " + event.why, ErrorCode::kUnavailable};
        case ExecEvent::Kind::kEnded:
          running_ = false;
          if (const MaybeError refusal = ended(*event.ended)) return refusal;
          break;
        case ExecEvent::Kind::kNote:
          break;
      }
    }
    return std::nullopt;
  }

  MaybeError ended(const ExitReport& report) {
    look();  // Reads the last progress.
    if (report.cause != EndCause::kFinished) {
      out_.trouble = report.words.empty() ? "the job failed" : "the job failed: " + report.words;
      out_.last_words = end_of_file(files_.output_path(lease_));
      return std::nullopt;
    }
    if (session_.over()) return std::nullopt;
    if (session_.curve().points().empty()) {
      out_.trouble = "the job ended before its speed was measured at any CPU limit";
      return std::nullopt;
    }
    if (out_.starts == kMaxStarts) {
      out_.trouble =
          fmt::format("the job ended {} times before its speed was measured", kMaxStarts);
      return std::nullopt;
    }
    executor_.forget(lease_);
    return start();
  }

  void look() {
    if (const std::optional<StepSeen> seen = steps_->look()) {
      session_.take({Duration::micros(seen->unix_us - zero_), seen->step});
      count_epochs(*seen);
    }
    if (session_.look(now())) {
      out_.own_mem_mib = std::max(out_.own_mem_mib, own_bytes_by_mark(mark_) >> 20U);
      limit_due_ = !session_.over();
    }
    if (!limit_due_ || !running_) return;
    // If the shim does not respond, try again later. If it is gone, the lease ends.
    limit_due_ = executor_.resize(lease_, {session_.cpu_milli(), order_.spec.mem_mib}).has_value();
    session_.begin(now());
  }

  void count_epochs(const StepSeen& seen) {
    if (!seen.epoch) return;
    if (!first_epoch_ || seen.step < first_epoch_->step || *seen.epoch < *first_epoch_->epoch) {
      first_epoch_ = seen;
      return;
    }
    const double epochs = *seen.epoch - *first_epoch_->epoch;
    if (epochs >= 1) out_.steps_per_epoch = (seen.step - first_epoch_->step) / epochs;
  }

  void end() {
    if (!running_) return;
    if (executor_.stop(lease_)) executor_.kill(lease_);
    const std::int64_t until = unix_us() + kStopPatienceUs + order_.spec.grace_ms * 1000;
    while (running_ && unix_us() < until) {
      pollfd ready{executor_.fd(), POLLIN, 0};
      ::poll(&ready, 1, kLookEveryMs);
      for (const ExecEvent& event : executor_.poll()) {
        if (event.kind == ExecEvent::Kind::kStarted) continue;
        running_ = false;
      }
    }
    if (running_) executor_.kill(lease_);
  }

  const MeasureOrder& order_;
  LocalExecutor executor_;
  LeaseFiles files_;
  Session session_;
  std::int64_t zero_;
  std::string lease_, mark_;
  std::optional<StepWatch> steps_;
  std::optional<StepSeen> first_epoch_;
  bool running_ = false;
  bool limit_due_ = false;  // The limit of the session is not set yet.
  Measured out_;
};

}  // namespace

Result<Measured> measure(const MeasureOrder& order) {
  LocalExecutor::Settings settings;
  settings.leases = order.scratch;
  settings.shim = order.shim;
  Result<LocalExecutor> executor = LocalExecutor::open(std::move(settings));
  if (!executor.ok()) return executor.error();
  return Measuring(order, std::move(executor).value()).run();
}

}  // namespace muster
