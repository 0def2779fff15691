// Feeds bytes to the readers of src/study/compare, as a libFuzzer target (preset `fuzz`): the two
// tables of a sweep or the timeline of a run, selected by the first byte. They must return data for
// a page, or a printable one-line error.
//
//   cmake --preset fuzz && cmake --build --preset fuzz --target report_fuzz
//   build/fuzz/tests/report_fuzz -max_total_time=300 /tmp/found tests/fuzz/corpus/report

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/check.h"
#include "study/compare/loaded_runs.h"
#include "study/compare/sweep_page.h"
#include "study/page/page_html.h"

namespace muster {
namespace {

void check_refusal(const Error& error) {
  MUSTER_CHECK(error.message.starts_with("f:") || error.message.starts_with("f/"));
  for (const char c : error.message) MUSTER_CHECK(c >= 0x20 && c < 0x7f);
}

// The input is the two files, separated by "---".
void read_sweep(std::string_view text) {
  const std::string_view means = text.substr(0, text.find("---\n"));
  text.remove_prefix(std::min(text.size(), means.size() + 4));
  const Result<SweepFiles> sweep = parse_sweep_files(means, text, "f");
  if (!sweep.ok()) return check_refusal(sweep.error());
  const std::size_t groups = group_names(sweep.value()).size();
  MUSTER_CHECK(!page_html(sweep_page(sweep.value(), groups - 1)).empty());
}

void read_timeline(std::string_view text) {
  RunFiles run;
  if (const MaybeError refusal = parse_timeline(text, "f", run)) return check_refusal(*refusal);
  MUSTER_CHECK(run.busy.size() == run.waiting.size());
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  data[0] == 's' ? muster::read_sweep(text) : muster::read_timeline(text);
  return 0;
}
