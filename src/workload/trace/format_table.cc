// The only list of trace formats: the columns and one table entry per format. The command line,
// messages and tests use it. docs/reference/formats.md explains the columns.

#include "workload/trace/format.h"

namespace muster {

namespace {

constexpr Need kRequired = Need::kRequired;
constexpr Need kOptional = Need::kOptional;

constexpr FormatColumn kMusterColumns[] = {
    {"job_id", Field::kId, kOptional},
    {"submit_s", Field::kSubmit, kRequired},
    {"gpus", Field::kGpus, kRequired},
    {"min_gpus", Field::kMin, kOptional},
    {"max_gpus", Field::kMax, kOptional},
    {"duration_s", Field::kDuration, kRequired},
    {"estimate_s", Field::kEstimate, kOptional},
    {"user", Field::kUser, kOptional},
    {"tenant", Field::kTenant, kOptional},
    {"name", Field::kName, kOptional},
    {"model", Field::kModel, kOptional},
    {"gpu_type", Field::kGpuType, kOptional},
    {"iterations", Field::kIterations, kOptional},
};

constexpr FormatColumn kTiresiasColumns[] = {
    {"job_id", Field::kId, kOptional},          {"num_gpu", Field::kGpus, kRequired},
    {"submit_time", Field::kSubmit, kRequired}, {"iterations", Field::kIterations, kOptional},
    {"model_name", Field::kModel, kOptional},   {"duration", Field::kDuration, kRequired},
    {"interval", Field::kIgnored, kOptional},  // The gap to the next job.
};

constexpr FormatColumn kSynergyColumns[] = {
    {"job_id", Field::kId, kRequired},
    {"model", Field::kModel, kRequired},
    {"arrival_seconds", Field::kSubmit, kRequired},
    {"total_iterations", Field::kIterations, kRequired},
    {"gpu_demand", Field::kGpus, kRequired},
};

constexpr FormatColumn kPhillyColumns[] = {
    {"job_id", Field::kId, kOptional},
    {"vc", Field::kTenant, kOptional},
    {"submit_time_s", Field::kSubmit, kRequired},
    {"num_gpus", Field::kGpus, kRequired},
    {"duration_s", Field::kDuration, kRequired},
};

constexpr FormatColumn kPhillyVcsColumns[] = {
    {"job_id", Field::kId, kOptional},
    {"vc", Field::kTenant, kOptional},
    {"submit_time_s", Field::kSubmit, kRequired},
    {"num_gpus", Field::kGpus, kRequired},
    {"duration_s", Field::kDuration, kRequired},
    {"model", Field::kModel, kOptional},
    {"vc_rel_submit_s", Field::kIgnored, kOptional},  // The same submit time on the VC's clock.
};

constexpr FormatColumn kHeliosColumns[] = {
    {"job_id", Field::kId, kOptional},
    {"user", Field::kUser, kOptional},
    {"vc", Field::kTenant, kOptional},
    {"jobname", Field::kName, kOptional},  // Only in Lucid's copies of the trace, as is the model.
    {"model", Field::kModel, kOptional},
    {"gpu_num", Field::kGpus, kRequired},
    {"cpu_num", Field::kUnused, kOptional},
    {"node_num", Field::kUnused, kOptional},
    {"state", Field::kState, kOptional},
    {"submit_time", Field::kSubmit, kRequired},
    {"start_time", Field::kIgnored, kOptional},
    {"end_time", Field::kIgnored, kOptional},
    {"duration", Field::kDuration, kRequired},  // end_time - start_time.
    {"queue", Field::kIgnored, kOptional},      // start_time - submit_time.
};

constexpr FormatColumn kPaiColumns[] = {
    {"job_id", Field::kId, kOptional},
    {"num_inst", Field::kInstances, kOptional},
    {"num_pod", Field::kIgnored, kOptional},  // If present, num_gpu is for the whole job.
    {"submit_time", Field::kSubmit, kRequired},
    {"num_cpu", Field::kUnused, kOptional},
    {"num_gpu", Field::kGpuParts, kRequired},
    {"gpu_type", Field::kUnused, kOptional},  // The type that the job got, not its request.
    {"duration", Field::kDuration, kRequired},
    {"user", Field::kUser, kOptional},
    {"group", Field::kName, kOptional},  // Jobs of one group run the same program.
    {"status", Field::kState, kOptional},
    {"job_name", Field::kIgnored, kOptional},
    {"wait_time", Field::kIgnored, kOptional},
};

constexpr FormatColumn kPaiTaskColumns[] = {
    {"job_name", Field::kName, kRequired},       {"task_name", Field::kUnused, kRequired},
    {"inst_num", Field::kInstances, kRequired},  {"status", Field::kState, kRequired},
    {"start_time", Field::kStart, kRequired},    {"end_time", Field::kEnd, kRequired},
    {"plan_cpu", Field::kUnused, kRequired},     {"plan_mem", Field::kUnused, kRequired},
    {"plan_gpu", Field::kGpuPercent, kRequired}, {"gpu_type", Field::kUnused, kRequired},
};

constexpr FormatColumn kOpenbColumns[] = {
    {"name", Field::kId, kRequired},
    {"cpu_milli", Field::kUnused, kOptional},
    {"memory_mib", Field::kUnused, kOptional},
    {"num_gpu", Field::kGpus, kRequired},
    {"gpu_milli", Field::kGpuMilli, kOptional},
    {"gpu_spec", Field::kGpuChoice, kOptional},
    {"qos", Field::kUnused, kOptional},
    {"pod_phase", Field::kState, kOptional},
    {"creation_time", Field::kSubmit, kRequired},
    {"deletion_time", Field::kEnd, kRequired},
    {"scheduled_time", Field::kStart, kRequired},
};

constexpr FormatColumn kGavel7Columns[] = {
    {"job_type", Field::kModel, kRequired},         {"command", Field::kUnused, kRequired},
    {"num_steps_arg", Field::kIgnored, kRequired},  {"needs_data_dir", Field::kIgnored, kRequired},
    {"total_steps", Field::kIterations, kRequired}, {"arrival_time", Field::kSubmit, kRequired},
    {"scale_factor", Field::kGpus, kRequired},
};

constexpr FormatColumn kGavel9Columns[] = {
    {"job_type", Field::kModel, kRequired},         {"command", Field::kUnused, kRequired},
    {"num_steps_arg", Field::kIgnored, kRequired},  {"needs_data_dir", Field::kIgnored, kRequired},
    {"total_steps", Field::kIterations, kRequired}, {"scale_factor", Field::kGpus, kRequired},
    {"priority_weight", Field::kUnused, kRequired}, {"SLO", Field::kUnused, kRequired},
    {"arrival_time", Field::kSubmit, kRequired},
};

constexpr FormatColumn kGavel10Columns[] = {
    {"job_type", Field::kModel, kRequired},
    {"command", Field::kUnused, kRequired},
    {"working_directory", Field::kIgnored, kRequired},
    {"num_steps_arg", Field::kIgnored, kRequired},
    {"needs_data_dir", Field::kIgnored, kRequired},
    {"total_steps", Field::kIterations, kRequired},
    {"scale_factor", Field::kGpus, kRequired},
    {"priority_weight", Field::kUnused, kRequired},
    {"SLO", Field::kUnused, kRequired},
    {"arrival_time", Field::kSubmit, kRequired},
};

// Shockwave's format, the only variant with a duration.
constexpr FormatColumn kGavel12Columns[] = {
    {"job_type", Field::kModel, kRequired},
    {"command", Field::kUnused, kRequired},
    {"working_directory", Field::kIgnored, kRequired},
    {"num_steps_arg", Field::kIgnored, kRequired},
    {"needs_data_dir", Field::kIgnored, kRequired},
    {"total_steps", Field::kIterations, kRequired},
    {"scale_factor", Field::kGpus, kRequired},
    {"mode", Field::kUnused, kRequired},
    {"priority_weight", Field::kUnused, kRequired},
    {"SLO", Field::kUnused, kRequired},
    {"duration", Field::kDuration, kRequired},
    {"arrival_time", Field::kSubmit, kRequired},
};

constexpr FormatColumn kShockwaveColumns[] = {
    {"job_id", Field::kId, kOptional},
    {"model", Field::kModel, kRequired},
    {"total_steps", Field::kIterations, kOptional},
    {"scale_factor", Field::kGpus, kRequired},
    {"mode", Field::kUnused, kOptional},
    {"priority_weight", Field::kUnused, kOptional},
    {"SLO", Field::kUnused, kOptional},
    {"duration_s", Field::kDuration, kRequired},
    {"arrival_time_s", Field::kSubmit, kRequired},
};

constexpr FormatColumn kSiaColumns[] = {
    {"name", Field::kId, kOptional},           {"time", Field::kSubmit, kRequired},
    {"application", Field::kModel, kRequired}, {"num_replicas", Field::kGpus, kRequired},
    {"batch_size", Field::kBatch, kRequired},  {"category", Field::kUnused, kOptional},
};

constexpr FormatColumn kElasticFlowColumns[] = {
    {"job_id", Field::kId, kOptional},
    {"submit_time", Field::kSubmit, kRequired},
    {"iteration", Field::kIterations, kOptional},
    {"model_name", Field::kModel, kOptional},
    {"ddl", Field::kUnused, kOptional},
    {"batch_size", Field::kUnused, kOptional},
    {"num_gpu", Field::kGpus, kRequired},
    {"duration", Field::kDuration, kRequired},
    {"best_effort", Field::kUnused, kOptional},
    {"real_iteration", Field::kIgnored, kOptional},  // Before the authors scaled the trace.
    {"real_duration", Field::kIgnored, kOptional},
};

constexpr FormatColumn kSwfColumns[] = {
    {"job_number", Field::kId, kRequired},
    {"submit_time", Field::kSubmit, kRequired},
    {"wait_time", Field::kIgnored, kRequired},
    {"run_time", Field::kDuration, kRequired},
    {"allocated_processors", Field::kGpusHeld, kRequired},
    {"average_cpu_time", Field::kUnused, kRequired},
    {"used_memory", Field::kUnused, kRequired},
    {"requested_processors", Field::kGpus, kRequired},
    {"requested_time", Field::kEstimate, kRequired},
    {"requested_memory", Field::kUnused, kRequired},
    {"status", Field::kState, kRequired},
    {"user", Field::kUser, kRequired},
    {"group", Field::kTenant, kRequired},
    {"executable", Field::kName, kRequired},
    {"queue", Field::kUnused, kRequired},
    {"partition", Field::kUnused, kRequired},
    {"preceding_job", Field::kUnused, kRequired},
    {"think_time", Field::kUnused, kRequired},
};

constexpr std::string_view kNoValue[] = {"None", "NaT", "nan", "NaN", "null", "NULL"};
constexpr std::string_view kMinusOne[] = {"-1"};

constexpr StateWord kSlurmStates[] = {
    {"COMPLETED", Outcome::kDone, ""},
    {"CANCELLED", Outcome::kCutShort, "cancelled"},
    {"FAILED", Outcome::kCutShort, "failed"},
    {"TIMEOUT", Outcome::kCutShort, "out of time"},
    {"NODE_FAIL", Outcome::kCutShort, "node failure"},
    {"OUT_OF_MEMORY", Outcome::kCutShort, "out of memory"},
    {"PREEMPTED", Outcome::kCutShort, "preempted"},
    {"SUSPENDED", Outcome::kNotEnded, ""},
    {"RUNNING", Outcome::kNotEnded, ""},
    {"PENDING", Outcome::kNeverRan, ""},
};

constexpr StateWord kPaiStates[] = {
    {"Terminated", Outcome::kDone, ""},
    {"Failed", Outcome::kCutShort, "failed"},
    {"Interrupted", Outcome::kCutShort, "interrupted"},
    {"Running", Outcome::kNotEnded, ""},
    {"Waiting", Outcome::kNeverRan, ""},
};

// The phase of a pod before its deletion. A service never reaches Succeeded: it runs until then.
constexpr StateWord kPodPhases[] = {
    {"Succeeded", Outcome::kDone, ""},        {"Running", Outcome::kDone, ""},
    {"Failed", Outcome::kCutShort, "failed"}, {"Unknown", Outcome::kCutShort, "lost"},
    {"Pending", Outcome::kNeverRan, ""},
};

constexpr StateWord kSwfStates[] = {
    {"0", Outcome::kCutShort, "failed"}, {"1", Outcome::kDone, ""},
    {"2", Outcome::kPart, ""},           {"3", Outcome::kPart, ""},
    {"4", Outcome::kPart, ""},           {"5", Outcome::kCutShort, "cancelled"},
};

constexpr FormatSpec kSpecs[] = {
    {.name = "muster",
     .doc = "Muster's own CSV: submit_s, gpus, duration_s and optional columns",
     .columns = kMusterColumns,
     .models = ModelRule::kProfile,
     .is_ours = true,
     .comment = '#'},
    {.name = "tiresias",
     .doc = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval",
     .columns = kTiresiasColumns},
    {.name = "synergy",
     .doc = "without a header: job_id, model, arrival_seconds, total_iterations, gpu_demand",
     .columns = kSynergyColumns,
     .models = ModelRule::kTimedProfile,
     .timing = Timing::kIterations,
     .has_header = false},
    {.name = "philly",
     .doc = "job_id,vc,submit_time_s,num_gpus,duration_s; the VC is the tenant",
     .columns = kPhillyColumns},
    {.name = "philly-vcs",
     .doc = "philly, with the columns model and vc_rel_submit_s",
     .columns = kPhillyVcsColumns},
    {.name = "helios",
     .doc = "cluster_log.csv of SenseTime's Helios: dates, states, jobs without GPUs",
     .columns = kHeliosColumns,
     .rows = Rows::kUsable,
     .has_dates = true,
     .missing = kNoValue,
     .states = kSlurmStates},
    {.name = "pai",
     .doc = "the job CSV of Alibaba's PAI simulator: num_inst times num_gpu, may be fractional",
     .columns = kPaiColumns,
     .rows = Rows::kUsable,
     .missing = kNoValue,
     .states = kPaiStates},
    {.name = "pai-tasks",
     .doc = "pai_task_table.csv of Alibaba's PAI trace of 2020, with or without a header",
     .columns = kPaiTaskColumns,
     .timing = Timing::kClock,
     .rows = Rows::kUsable,
     .has_header = false,
     .missing = kNoValue,
     .states = kPaiStates,
     .note = "each task is read as a job, submitted when it was launched"},
    {.name = "pai-tasks",
     .columns = kPaiTaskColumns,
     .timing = Timing::kClock,
     .rows = Rows::kUsable,
     .missing = kNoValue,
     .states = kPaiStates,
     .note = "each task is read as a job, submitted when it was launched"},
    {.name = "openb",
     .doc = "pod lists of Alibaba's trace of 2023",
     .columns = kOpenbColumns,
     .timing = Timing::kClock,
     .rows = Rows::kUsable,
     .missing = kNoValue,
     .states = kPodPhases},
    {.name = "gavel",
     .doc = "Gavel's tab-separated traces (7, 9 or 10 columns), and Shockwave's (12)",
     .columns = kGavel7Columns,
     .timing = Timing::kThroughput,
     .rows = Rows::kUsable,
     .has_header = false,
     .separator = Separator::kTab},
    {.name = "gavel",
     .columns = kGavel9Columns,
     .timing = Timing::kThroughput,
     .rows = Rows::kUsable,
     .has_header = false,
     .separator = Separator::kTab},
    {.name = "gavel",
     .columns = kGavel10Columns,
     .timing = Timing::kThroughput,
     .rows = Rows::kUsable,
     .has_header = false,
     .separator = Separator::kTab},
    {.name = "gavel",
     .columns = kGavel12Columns,
     .rows = Rows::kUsable,
     .has_header = false,
     .separator = Separator::kTab},
    {.name = "gavel", .columns = kShockwaveColumns, .rows = Rows::kUsable},
    {.name = "sia",
     .doc = "workloads of Sia and Pollux: name,time,application,num_replicas,batch_size",
     .columns = kSiaColumns,
     .timing = Timing::kThroughput},
    {.name = "elasticflow",
     .doc = "tiresias with iteration, ddl, batch_size and best_effort",
     .columns = kElasticFlowColumns},
    {.name = "swf",
     .doc = "the Standard Workload Format: 18 numbers per line, processors read as GPUs",
     .columns = kSwfColumns,
     .rows = Rows::kUsable,
     .has_header = false,
     .comment = ';',
     .separator = Separator::kBlanks,
     .missing = kMinusOne,
     .states = kSwfStates,
     .note = "processors are read as GPUs"},
};

}  // namespace

std::span<const FormatSpec> format_specs() { return kSpecs; }

}  // namespace muster
