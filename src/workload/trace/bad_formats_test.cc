// Invalid files in each public format, with the expected error message. bad_input_test.cc covers
// errors that all formats share.

#include <gtest/gtest.h>

#include <string>

#include "base/file/text_file.h"
#include "base/types/testing.h"
#include "workload/input/throughputs_file.h"
#include "workload/trace/reader.h"
#include "workload/trace/testing.h"

namespace muster {
namespace {

std::string text_of(std::string_view file) {
  const Result<std::string> text = read_text_file(testdata(file));
  EXPECT_TRUE(text.ok()) << text.error().message;
  return text.ok() ? text.value() : "";
}

std::string complaint(std::string_view text, std::string_view format,
                      const ThroughputTable* throughputs = nullptr) {
  const Result<Trace> trace = parse_trace(text, "t", format, synergy_like_profiles(), throughputs);
  return trace.ok() ? "(accepted)" : trace.error().message;
}

// Replaces the first `from` in the file with `to`.
struct Change {
  std::string_view file;
  std::string_view from;
  std::string_view to;
  std::string_view message;
};

std::string changed(const Change& change) {
  std::string text = text_of(change.file);
  const std::size_t at = text.find(change.from);
  EXPECT_NE(at, std::string::npos) << change.file << ": " << change.from;
  if (at == std::string::npos) return "";
  return text.replace(at, change.from.size(), change.to);
}

constexpr Change kChanges[] = {
    // Lines cut short.
    {"helios.csv", ",36848,0", "", "t:2: columns: 10 where the header has 12: '1425511,uXBbc,"},
    {"pai.csv", ",1086,58540f191766,g1", "", "t:2: columns: 6 where the header has 9: '3,1,1000,"},
    {"pai_tasks.csv", ",50.0,MISC", "", "t:1: columns: 8 where the format has 10: '4f057009a5d4"},
    {"openb.csv", ",12537496,0", "", "t:2: columns: 9 where the header has 11: 'openb-pod-0000,"},
    {"gavel7.trace", "\t0.000000\t1", "", "t:1: columns: 5 where the format has 7: 'Transformer"},
    {"gavel9.trace", "\t1.200000\t12.5", "", "t:2: columns: 7 where the format has 9: 'CycleGAN"},
    {"gavel10.trace", "\t5\t1.200000\t12", "", "t:2: columns: 7 where the format has 10: 'Cycle"},
    {"gavel12.trace", "\t3338\t55", "", "t:2: columns: 10 where the format has 12: 'ResNet-18"},
    {"shockwave.csv", ",1418,0", "", "t:2: columns: 7 where the header has 9: '0,LM (batch"},
    {"sia.csv", ",2048,scale-gpus", "", "t:2: columns: 4 where the header has 6: 'cifar10-0,107"},
    {"elasticflow.csv", ",1282878,0", "", "t:2: columns: 9 where the header has 11: '0,0,1282877"},
    {"swf.swf", " 1 -1 -1 -1\n", "\n", "t:5: columns: 14 where the format has 18: '    1      0"},
    // Invalid numbers.
    {"helios.csv", ",4,16,", ",four,16,", "t:3: gpu_num: not a whole number: 'four'"},
    {"pai.csv", ",0.5,T4", ",half,T4", "t:3: num_gpu: not a number: 'half'"},
    {"pai.csv", "4,2,", "4,1.5,", "t:3: num_inst: not a whole number: '1.5'"},
    {"pai_tasks.csv", "100.0,V100", "all,V100", "t:2: plan_gpu: not a number: 'all'"},
    {"openb.csv", ",427065", ",soon", "t:3: scheduled_time: not a number: 'soon'"},
    {"gavel7.trace", "163129", "1e5", "t:2: total_steps: not a whole number: '1e5'"},
    {"gavel12.trace", "\t3338\t", "\tlong\t", "t:2: duration: not a number: 'long'"},
    {"sia.csv", ",12,384", ",12,?", "t:3: batch_size: not a whole number: '?'"},
    {"elasticflow.csv", "1282878", "1.5", "t:2: iteration: not a whole number: '1.5'"},
    {"swf.swf", "60.5", "abc", "t:8: run_time: not a number: 'abc'"},
    // Negative numbers.
    {"helios.csv", ",249,0", ",-249,0", "t:3: duration: negative: '-249'"},
    {"pai.csv", ",0.5,T4", ",-0.5,T4", "t:3: num_gpu: negative: '-0.5'"},
    {"pai.csv", "4,2,", "4,-2,", "t:3: num_inst: negative: '-2'"},
    {"pai_tasks.csv", "1739100.0", "-5", "t:2: start_time: negative: '-5'"},
    {"openb.csv", ",1,460", ",1,-460", "t:3: gpu_milli: negative: '-460'"},
    {"gavel9.trace", "12.5", "-12.5", "t:2: arrival_time: negative: '-12.5'"},
    {"sia.csv", "107", "-107", "t:2: time: negative: '-107'"},
    {"elasticflow.csv", ",976571,", ",-1,", "t:2: duration: negative: '-1'"},
    {"swf.swf", "    600", "   -600", "t:5: run_time: negative: '-600'"},
    {"swf.swf", "    1      0", "    1     -1", "t:5: submit_time: negative: '-1'"},
    // Missing columns.
    {"helios.csv", "gpu_num", "gpus", "t:1: gpu_num: column missing from the header: 'job_id,"},
    {"pai.csv", "num_gpu", "gpus", "t:1: num_gpu: column missing from the header: 'job_id,num"},
    {"openb.csv", "scheduled_time", "x", "t:1: scheduled_time: column missing from the header: '"},
    {"shockwave.csv", "duration_s", "x", "t:1: duration_s: column missing from the header: 'job"},
    {"sia.csv", "num_replicas", "x", "t:1: num_replicas: column missing from the header: 'name"},
    {"elasticflow.csv", ",duration", ",x", "t:1: duration: column missing from the header: 'job"},
    // Numbers too large.
    {"helios.csv", ",4,16,", ",9999999,16,", "t:3: gpu_num: must be at most 6400000: '9999999'"},
    {"helios.csv", ",249,0", ",1e99,0", "t:3: duration: longer than 100 years: '1e99'"},
    {"pai.csv", "8,100,", "8,6400000,", "(accepted)"},
    {"pai.csv", "0.07", "1e5", "t:7: num_gpu: must be at most 6400000 GPUs in total: '1e+07'"},
    {"pai.csv", "8,100,", "8,6400001,", "t:7: num_inst: must be at most 6400000: '6400001'"},
    {"pai.csv", "0.07", "1e999", "t:7: num_gpu: number too large: '1e999'"},
    {"pai_tasks.csv", "100.0,V100", "1e300,V100",
     "t:2: plan_gpu: must be at most 6400000 GPUs in total: '1.6e+299'"},
    {"openb.csv", ",1,460", ",1,1001", "t:3: gpu_milli: must be at most 1000: '1001'"},
    {"openb.csv", "12902960,427065", "99999999999,427065",
     "t:3: deletion_time: longer than 100 years: '99999999999'"},
    {"gavel12.trace", "134583", "99999999999999999999",
     "t:1: total_steps: number too large: '99999999999999999999'"},
    {"swf.swf", "     8    900", " 9999999  900",
     "t:5: requested_processors: must be at most 6400000: '9999999'"},
    // Dates.
    {"helios.csv", "2020-06-09 18:41:27,", "2020-06-31 18:41:27,",
     "t:3: submit_time: not a date and time: '2020-06-31 18:41:27'; write 2020-06-09 18:41:01"},
    {"helios.csv", "2020-06-09 18:41:27,", "2020-06-09 24:00:00,",
     "t:3: submit_time: not a date and time: '2020-06-09 24:00:00'; write 2020-06-09 18:41:01"},
    {"helios.csv", "2020-06-09 18:41:27,", "1591727,",
     "t:3: submit_time: not a date and time: '1591727'; write 2020-06-09 18:41:01"},
    {"helios.csv", "2020-06-09 18:41:27,", "None,",
     "t:3: submit_time: not a date and time: 'None'; write 2020-06-09 18:41:01"},
    {"helios.csv", "2020-06-09 18:41:27,", "1999-06-09 18:41:27,",
     "t:3: submit_time: the year must be from 2001 to 2099: '1999-06-09 18:41:27'"},
    {"helios.csv", "2020-06-09 18:41:27,", "2020-06-09 18:41:27+08:00,",
     "t:3: submit_time: with a time zone, unlike the dates above: '2020-06-09 18:41:27+08:00'"},
    {"helios_zones.csv", "17:00:24+00:00", "17:00:24",
     "t:3: submit_time: without a time zone, unlike the dates above: '2023-02-28T17:00:24'"},
    {"helios_zones.csv", "17:00:24+00:00", "17:00:24+15:00",
     "t:3: submit_time: not a date and time: '2023-02-28T17:00:24+15:00'; write 2020-06-09 "
     "18:41:01"},
    // States, and ids given twice.
    {"helios.csv", "FAILED", "FAILURE",
     "t:3: state: unknown: 'FAILURE'; one of: COMPLETED, CANCELLED, FAILED, TIMEOUT, NODE_FAIL, "
     "OUT_OF_MEMORY, PREEMPTED, SUSPENDED, RUNNING, PENDING"},
    {"pai_tasks.csv", "Failed", "Gone",
     "t:4: status: unknown: 'Gone'; one of: Terminated, Failed, Interrupted, Running, Waiting"},
    {"openb.csv", "Succeeded", "Succeded",
     "t:3: pod_phase: unknown: 'Succeded'; one of: Succeeded, Running, Failed, Unknown, Pending"},
    {"swf.swf", "     -1  0   4", "     -1  9   4",
     "t:6: status: unknown: '9'; one of: 0, 1, 2, 3, 4, 5"},
    {"helios.csv", "1425516", "1425512", "t:7: job_id: given twice: '1425512'; first on line 3"},
    {"openb.csv", "pod-0002", "pod-0000",
     "t:4: name: given twice: 'openb-pod-0000'; first on line 2"},
    {"swf.swf", "\n    7", "\n    5", "t:14: job_number: given twice: '5'; first on line 9"},
};

TEST(BadFormats, GetOneLineEach) {
  const Result<ThroughputTable> table = read_throughputs(testdata("throughputs.csv"));
  ASSERT_TRUE(table.ok()) << table.error().message;
  for (const Change& change : kChanges) {
    const Result<Trace> whole =
        read_trace(testdata(change.file), "", synergy_like_profiles(), &table.value());
    ASSERT_TRUE(whole.ok()) << whole.error().message;
    const std::string message = complaint(changed(change), whole.value().format, &table.value());
    EXPECT_EQ(message.substr(0, change.message.size()), change.message)
        << change.file << ": " << change.to;
  }
}

TEST(BadFormats, BinaryJunk) {
  const std::string_view junk("\x1f\x8b\x08\0\xff\xfe\t,;\n\0", 11);
  const std::string late = "\xff\xfe\t,;\x01\n";
  for (const TraceFormat& format : trace_formats()) {
    EXPECT_EQ(complaint(junk, format.name), "t:1: not a text file");
    EXPECT_TRUE(complaint(late, format.name).starts_with("t:1: ")) << format.name;
  }
}

TEST(BadFormats, NothingLeftOver) {
  EXPECT_EQ(complaint("job_id,num_inst,submit_time,num_gpu,duration\n0,1,5,0,9\n1,1,5,0,9\n", ""),
            "t:3: no jobs: skipped: 2 rows that request no GPU");
  EXPECT_EQ(complaint("; only\n; comments\n", ""), "t:1: no jobs: the file is empty");
}

TEST(BadFormats, WhatThroughputsLack) {
  const std::string seven = text_of("gavel7.trace");
  EXPECT_EQ(complaint(seven, ""),
            "t:1: job_type: the trace has no run time; use --throughputs FILE: "
            "'Transformer (batch size 128)'");
  const auto with = [](std::string_view text, std::string_view lines) {
    const Result<ThroughputTable> table = parse_throughputs(
        "model,batch_size,scale_factor,steps_per_s,steps\n" + std::string(lines), "table");
    EXPECT_TRUE(table.ok()) << table.error().message;
    return complaint(text, "", &table.value());
  };
  EXPECT_EQ(
      with(seven, "Transformer,64,1,5,\n"),
      "t:1: job_type: no throughput with batch size 128 on 1 GPU: 'Transformer'; available: batch "
      "size 64 on 1 GPU");
  EXPECT_EQ(with(seven, "Transfomer,128,1,5,\n"),
            "t:1: job_type: no throughput with batch size 128 on 1 GPU: 'Transformer'; did you "
            "mean 'Transfomer'?");
  EXPECT_EQ(with(seven, "Transformer,128,1,0.000001,\n"),
            "t:1: total_steps: run time too long at 1000000 s per step: '14612'");
  EXPECT_EQ(with(text_of("sia.csv"), "cifar10,2048,8,5,\n"),
            "t:2: application: its number of steps is in neither the trace nor the throughputs: "
            "'cifar10'");
  EXPECT_EQ(with(text_of("sia.csv"), "cifar10,2048,8,1e-6,99999\n"),
            "t:2: application: run time too long at 1000000 s per step: '99999'");
}

TEST(BadFormats, Throughputs) {
  const auto refused = [](std::string_view text) {
    return error_text(parse_throughputs(text, "t"));
  };
  const std::string head = "model,batch_size,scale_factor,steps_per_s\n";
  EXPECT_EQ(refused(head + "LM,10,1,5\n"), "accepted");
  EXPECT_EQ(refused(""), "t:1: no throughputs: the file is empty");
  EXPECT_EQ(refused(head), "t:1: no throughputs: nothing after the header");
  expect_texts(
      [&](const std::string& row) { return refused(head + row); },
      {
          {"LM,10,1\n", "t:2: columns: 3 where the header has 4: 'LM,10,1'"},
          {",10,1,5\n", "t:2: model: empty: ''"},
          {"a\x01,10,1,5\n", "t:2: model: control character in text: 'a\\x01'"},
          {"LM,ten,1,5\n", "t:2: batch_size: not a whole number: 'ten'"},
          {"LM,0,1,5\n", "t:2: batch_size: must be at least 1: '0'"},
          {"LM,10,0,5\n", "t:2: scale_factor: must be at least 1: '0'"},
          {"LM,10,9999999,5\n", "t:2: scale_factor: must be at most 6400000: '9999999'"},
          {"LM,10,1,0\n", "t:2: steps_per_s: not between 1e-09 and 1000000000: '0'"},
          {"LM,10,1,fast\n", "t:2: steps_per_s: not a number: 'fast'"},
          {"LM,10,1,5\nLM,10,1,6\n", "t:3: model: given twice with this batch size on 1 GPU: 'LM'"},
      });
  EXPECT_EQ(refused("model,batch_sise,scale_factor,steps_per_s\nLM,1,1,1\n"),
            "t:1: header: unknown column: 'batch_sise'; did you mean 'batch_size'?");
  EXPECT_EQ(refused("model,model,scale_factor,steps_per_s\nLM,1,1,1\n"),
            "t:1: header: column named twice: 'model'");
  EXPECT_EQ(
      refused("model,scale_factor,k80_steps_per_s\nLM,1,1\n"),
      "t:1: steps_per_s: column missing from the header: 'model,scale_factor,k80_steps_per_s'");
  EXPECT_EQ(refused(std::string_view("a\0b", 3)), "t:1: not a text file");
}

}  // namespace
}  // namespace muster
