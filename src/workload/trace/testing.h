#pragma once

// Helpers for tests of traces. The files in testdata/ are small and handmade, one or more per
// format, with the quirks of the real traces.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workload/input/profiles_testing.h"
#include "workload/trace/reader.h"
#include "workload/trace/writer.h"

namespace muster {

inline std::string testdata(std::string_view name) {
  return (std::filesystem::path(__FILE__).parent_path() / "testdata" / name).string();
}

// Returns the sorted names of the traces in testdata/: all files except the throughput table.
inline std::vector<std::string> trace_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(testdata(""))) {
    const std::string name = entry.path().filename().string();
    if (name != "throughputs.csv") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Expects that writing the trace in Muster's own format and reading it returns the same trace.
inline void expect_reads_back(const Trace& trace) {
  const std::string text = write_trace_csv(trace);
  const Result<Trace> again = parse_trace(text, "again", "", synergy_like_profiles());
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again.value().format, "muster");
  EXPECT_EQ(again.value().jobs, trace.jobs);
  EXPECT_EQ(again.value().models, trace.models);
  EXPECT_EQ(again.value().users, trace.users);
  EXPECT_EQ(again.value().tenants, trace.tenants);
  EXPECT_EQ(again.value().names, trace.names);
  EXPECT_EQ(again.value().gpu_types, trace.gpu_types);
  EXPECT_EQ(write_trace_csv(again.value()), text);
}

}  // namespace muster
