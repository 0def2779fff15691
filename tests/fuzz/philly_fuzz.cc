// Feeds bytes to the readers of src/workload/history and src/workload/philly, as a libFuzzer target
// (preset `fuzz`). The first byte selects the reader. It must return a valid History that can be
// converted to a trace, or a printable one-line error that names the file.
//
//   cmake --preset fuzz && cmake --build --preset fuzz --target philly_fuzz
//   build/fuzz/tests/philly_fuzz -max_total_time=300 /tmp/found tests/fuzz/corpus/philly

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/types/check.h"
#include "workload/history/outcomes.h"
#include "workload/history/run_history.h"
#include "workload/history/trace_history.h"
#include "workload/philly/json_batches.h"
#include "workload/philly/philly_log.h"
#include "workload/philly/philly_machines.h"
#include "workload/philly/philly_use.h"

namespace muster {
namespace {

void check_refusal(const Error& error) {
  MUSTER_CHECK(error.message.starts_with("f:") || error.message.starts_with("f/"));
  for (const char c : error.message) MUSTER_CHECK(c >= 0x20 && c < 0x7f);
}

void check_attempts(const History& history, const PastJob& job) {
  MUSTER_CHECK(std::size_t{job.attempts} + job.attempt_count <= history.attempts.size());
  for (const Attempt& attempt : history.attempts_of(job)) {
    const bool both = attempt.start != Instant::never() && attempt.end != Instant::never();
    MUSTER_CHECK(!both || attempt.start <= attempt.end);
    MUSTER_CHECK(std::size_t{attempt.hosts} + attempt.host_count <= history.hosts.size());
    for (const HostShare& share : history.hosts_of(attempt)) {
      MUSTER_CHECK(share.node < history.nodes.size());
      MUSTER_CHECK(64 - std::countl_zero(share.gpus) <= history.nodes[share.node].gpus);
    }
  }
}

void check_history(const History& history) {
  MUSTER_CHECK(!history.jobs.empty());
  Instant last;
  for (const PastJob& job : history.jobs) {
    MUSTER_CHECK(job.submit >= last && job.submit < kHorizon);
    MUSTER_CHECK(job.id < history.ids.size() && job.tenant < history.tenants.size());
    MUSTER_CHECK(job.gpus >= 0 && job.failures >= 0 && job.run >= Duration());
    check_attempts(history, job);
    last = job.submit;
  }
  const Trace trace = to_trace(history);
  for (const TraceJob& job : trace.jobs) {
    MUSTER_CHECK(job.gpus > 0 && job.duration > Duration() && job.submit >= Instant());
  }
}

void read_log(std::string_view text) {
  const Result<History> history = parse_philly_log(text, "f");
  history.ok() ? check_history(history.value()) : check_refusal(history.error());
}

// The objects must not depend on the size of the window.
void cut_log(std::string_view text) {
  const auto objects = [&](std::size_t window) {
    std::size_t count = 0;
    JsonBatches batches(ByteSource::of(text, "f"), window);
    while (true) {
      const Result<bool> there = batches.next();
      if (!there.ok()) check_refusal(there.error());
      if (!there.ok() || !there.value()) return count;
      count += batches.objects().size();
    }
  };
  MUSTER_CHECK(objects(5) == objects(JsonBatches::kWindow));
}

History small_history() {
  return parse_philly_log(
             R"([{"submitted_time":"2017-10-03 00:00:00","attempts":[{)"
             R"("start_time":"2017-10-03 00:01:00","end_time":"2017-10-03 00:09:00",)"
             R"("detail":[{"ip":"m1","gpus":["gpu0","gpu1"]},{"ip":"m29","gpus":["gpu0"]}]}]}])",
             "log")
      .value();
}

void read_use(std::string_view text) {
  History history = small_history();
  UseStudy study;
  const auto check = [](const MaybeError& refusal) {
    if (refusal) check_refusal(*refusal);
  };
  std::vector<ByteSource> twice = only(ByteSource::of(text, "f"));
  twice.push_back(ByteSource::of(text, "f"));
  check(add_gpu_use(std::move(twice), history, study));
  check(add_cpu_use(ByteSource::of(text, "f"), study));
  check(add_mem_use(ByteSource::of(text, "f"), study));
  const float use = history.jobs[0].gpu_use;
  MUSTER_CHECK(std::isnan(use) || (use >= 0 && use <= 1));
}

void read_machines(std::string_view text) {
  History history = small_history();
  const MaybeError refusal = parse_philly_machines(text, "f", history);
  if (refusal) check_refusal(*refusal);
}

// The input is the three files of a run, separated by "---".
void read_run(std::string_view text) {
  std::array<std::string_view, 3> files;
  for (std::string_view& file : files) {
    file = text.substr(0, text.find("---\n"));
    text.remove_prefix(std::min(text.size(), file.size() + 4));
  }
  const Result<History> history = parse_run({files[0], files[1], files[2]}, "f");
  history.ok() ? check_history(history.value()) : check_refusal(history.error());
}

void read_outcomes(std::string_view text) {
  History history = small_history();
  history.jobs[0].id = history.ids.intern("a");
  const MaybeError refusal = parse_outcomes(text, "f", history);
  refusal ? check_refusal(*refusal) : check_history(history);
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'u':
      muster::read_use(text);
      break;
    case 'm':
      muster::read_machines(text);
      break;
    case 'r':
      muster::read_run(text);
      break;
    case 'o':
      muster::read_outcomes(text);
      break;
    default:
      muster::read_log(text);
      muster::cut_log(text);
  }
  return 0;
}
