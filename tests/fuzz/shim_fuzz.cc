// Input of shims and the executor from other processes: specs, reports and control requests.
// Writing and reading accepted input must not change it.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/types/check.h"
#include "exec/lease/control.h"
#include "exec/lease/report.h"
#include "exec/lease/spec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto spec = read_spec(text); spec.ok()) {
    MUSTER_CHECK(read_spec(spec_json(spec.value())).value() == spec.value());
  }
  if (const auto facts = read_started(text); facts.ok()) {
    MUSTER_CHECK(read_started(started_json(facts.value())).value() == facts.value());
  }
  if (const auto report = read_exit(text); report.ok()) {
    MUSTER_CHECK(read_exit(exit_json(report.value())).value() == report.value());
  }
  if (const auto request = read_control(text); request.ok()) {
    MUSTER_CHECK(read_control(control_json(request.value())).ok());
  }
  return 0;
}
