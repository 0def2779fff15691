// Feeds bytes to the readers of src/workload/trace, src/workload/input and src/study/layers, as a
// libFuzzer target (preset `fuzz`). A reader must return a valid result, or a printable one-line
// error that names the file. A trace must also survive writing and reading in Muster's own format.
//
//   cmake --preset fuzz && cmake --build --preset fuzz --target trace_fuzz
//   build/fuzz/tests/trace_fuzz -max_total_time=300 /tmp/found tests/fuzz/corpus/trace
//       src/workload/trace/testdata

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/check.h"
#include "engine/model/profile.h"
#include "study/layers/advice.h"
#include "study/layers/layers_file.h"
#include "workload/input/node_list.h"
#include "workload/input/pairs_file.h"
#include "workload/input/service_file.h"
#include "workload/input/throughputs_file.h"
#include "workload/trace/reader.h"
#include "workload/trace/testing.h"
#include "workload/trace/writer.h"

namespace muster {
namespace {

void check_refusal(const Error& error) {
  MUSTER_CHECK(error.message.starts_with("f:"));
  for (const char c : error.message) MUSTER_CHECK(c >= 0x20 && c < 0x7f);
}

void check_jobs(const Trace& trace) {
  MUSTER_CHECK(!trace.jobs.empty());
  Instant last;
  for (const TraceJob& job : trace.jobs) {
    MUSTER_CHECK(job.submit >= last);
    MUSTER_CHECK(job.submit - Instant() <= kLongestDuration);
    MUSTER_CHECK(job.duration >= Duration() && job.duration <= kLongestDuration);
    MUSTER_CHECK(job.gpus >= 1 && job.fewest >= 0 && job.fewest <= job.gpus);
    MUSTER_CHECK(job.most == 0 || job.most >= job.gpus);
    MUSTER_CHECK(!job.id.empty());
    last = job.submit;
  }
}

void check_trace(Trace trace, const ProfileTable& profiles) {
  check_jobs(trace);
  forget_unprofiled_models(trace, profiles);
  const Result<Trace> again = parse_trace(write_trace_csv(trace), "again", "muster", profiles);
  MUSTER_CHECK(again.ok());
  MUSTER_CHECK(again.value().jobs == trace.jobs);
}

void read_all(std::string_view text) {
  static const ProfileTable profiles = synergy_like_profiles();
  static const ThroughputTable throughputs =
      parse_throughputs(
          "model,batch_size,scale_factor,steps_per_s,steps\n"
          "CycleGAN,,1,4.4,\nLM,10,2,163,\ncifar10,2048,8,20,48828\n",
          "table")
          .value();
  const auto read_as = [&](std::string_view format) {
    const Result<Trace> trace = parse_trace(text, "f", format, profiles, &throughputs);
    if (trace.ok()) {
      check_trace(trace.value(), profiles);
    } else {
      check_refusal(trace.error());
    }
  };
  read_as("");
  for (const TraceFormat& format : trace_formats()) read_as(format.name);
}

template <class T>
void check_result(const Result<T>& result) {
  if (!result.ok()) check_refusal(result.error());
}

void check_layers(const Result<LayerTable>& table) {
  check_result(table);
  if (!table.ok()) return;
  const std::vector<Layer>& layers = table.value().layers;
  const LayerAdvice advice = advise(layers, TrainingSetup());
  MUSTER_CHECK(advice.kept >= 1 && advice.kept <= layers.size() && advice.shown <= layers.size());
  MUSTER_CHECK(profile_skew(advice) >= 0 && profile_skew(advice) <= 1);
  MUSTER_CHECK(!advice_sentence("m", layers, advice).empty());
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  muster::read_all(text);
  muster::ProfileTable profiles;
  muster::check_result(muster::parse_throughputs(text, "f"));
  muster::check_layers(muster::parse_layers(text, "f"));
  muster::check_result(muster::parse_node_list(text, "f"));
  muster::check_result(muster::parse_pairs(text, "f", profiles));
  muster::check_result(muster::parse_service_samples(text, "f"));
  return 0;
}
