#pragma once

// Reads workloads that people have: our own CSV and the public formats. A trace comes back whole
// and checked (ascending arrivals, unique ids, sane numbers), or not at all with one line that
// names the file, line, column and culprit. What a format has and we do not use, and what was left
// out or changed, is said in Trace::notes.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/profile.h"
#include "trace/throughputs_file.h"
#include "trace/trace.h"

namespace muster {

struct TraceFormat {
  std::string_view name;
  std::string_view doc;  // One line for --help.
};

inline constexpr TraceFormat kTraceFormats[] = {
    {"muster", "our own CSV: submit_s, gpus, duration_s and whatever else is known"},
    {"tiresias", "job_id,num_gpu,submit_time,iterations,model_name,duration,interval"},
    {"synergy", "without a header: job_id, model, arrival_seconds, total_iterations, gpu_demand"},
    {"philly", "job_id,vc,submit_time_s,num_gpus,duration_s; the VC is the tenant"},
    {"philly-vcs", "philly, with the columns model and vc_rel_submit_s"},
    {"helios", "cluster_log.csv of SenseTime's Helios: dates, states, jobs without GPUs"},
    {"pai", "the job CSV of Alibaba's PAI simulator: num_inst times num_gpu, which may be parts"},
    {"pai-tasks", "pai_task_table.csv of Alibaba's PAI trace of 2020, with or without a header"},
    {"openb", "pod lists of Alibaba's trace of 2023"},
    {"gavel", "Gavel's tab-separated traces (7, 9 or 10 columns), and Shockwave's (12)"},
    {"sia", "workloads of Sia and Pollux: name,time,application,num_replicas,batch_size"},
    {"elasticflow", "tiresias with iteration, ddl, batch_size and best_effort"},
    {"swf", "the Standard Workload Format: 18 numbers a line, processors read as GPUs"},
};

// In the order of preference when a file could be two of them.
constexpr std::span<const TraceFormat> trace_formats() { return kTraceFormats; }

inline constexpr std::size_t kLongestLine = 64 * 1024;
inline constexpr std::size_t kMostJobs = 50'000'000;

// An empty format means: find out. The profiles say which models exist and, where a format gives
// iterations instead of a duration, how long one takes; the throughputs say that of models, batch
// sizes and numbers of GPUs, and may be left out.
Result<Trace> read_trace(const std::string& path, std::string_view format,
                         const ProfileTable& profiles,
                         const ThroughputTable* throughputs = nullptr);

// The same from memory; source_name stands for the path in messages and in Trace::source.
Result<Trace> parse_trace(std::string_view text, std::string_view source_name,
                          std::string_view format, const ProfileTable& profiles,
                          const ThroughputTable* throughputs = nullptr);

}  // namespace muster
