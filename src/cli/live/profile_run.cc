#include "cli/live/profile_run.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "exec/machine/bandwidth.h"
#include "exec/machine/dataset.h"
#include "exec/machine/machine_facts.h"
#include "live/lease/launch.h"

namespace muster {

namespace {

constexpr const char* kProfileGroup = "/muster-profile";
constexpr double kMemoryHeadroom = 1.25;
constexpr double kMinMib = 64;
constexpr int kSlots = 4;  // Virtual GPUs of a machine without GPUs, as in the manager.

Error instead(const std::string& why) {
  return Error{why + ": no speed data; the job gets its proportional share",
               ErrorCode::kUnavailable};
}

// A temporary directory, removed with its contents by the destructor.
class Scratch {
 public:
  Scratch() {
    const char* base = ::getenv("TMPDIR");
    std::string name =
        std::string(base != nullptr && *base == '/' ? base : "/tmp") + "/muster-profile-XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    for (const char* root : {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/memory"}) {
      ::rmdir((std::string(root) + kProfileGroup).c_str());
    }
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<LaunchSpec> launch_of(const ProfileOrder& order, const NodeFacts& machine) {
  if (static_cast<std::size_t>(order.request.gpus) > machine.gpus.size()) {
    return Error{fmt::format("gpus: {} requested, but this machine has {}{}", order.request.gpus,
                             machine.gpus.size(), machine.gpus_virtual ? " (virtual)" : ""),
                 ErrorCode::kConflict};
  }
  LiveJob job;
  job.id = 1;
  job.request = order.request;
  if (const auto array = std::exchange(job.request.array, std::nullopt)) {
    job.array = job.id;  // The first job of the array is measured.
    job.index = array->first;
  }
  Order start;
  start.lease = 1;
  Share share;
  share.slots = (SlotMask{1} << order.request.gpus) - 1;
  share.cpu_milli = 1000;
  share.mem_mib = order.request.mem ? order.request.mem->mib : machine.mem_mib;
  start.placement = {share};
  LaunchSettings settings;
  settings.instance = fmt::format("profile-{}-{}", ::getpid(),
                                  std::chrono::system_clock::now().time_since_epoch().count());
  const Result<SecretKey> key = new_secret_key();
  if (!key.ok()) return key.error();
  settings.key = key.value();
  settings.grace = Duration::seconds(10);
  // The job ends by itself if this process dies.
  start.time_limit = Duration::micros(3 * order.budget.us()) + Duration::seconds(600);
  settings.cgroup_parent = kProfileGroup;
  settings.gpus = machine.gpus_virtual ? std::vector<GpuFacts>() : machine.gpus;
  return launch_specs(job, start, settings).front();
}

// Returns the data for the memory model; nullopt if no data set was given.
Result<std::optional<DataFacts>> data_of(const ProfileOrder& order, ProfileResult& result,
                                         int cpus) {
  if (order.dataset.empty() && !order.dataset_size) return std::optional<DataFacts>();
  DataFacts data;
  if (order.dataset_size) {
    data.dataset_mib = static_cast<double>(order.dataset_size->mib);
  } else {
    const Result<DatasetSize> size = dataset_size(order.dataset);
    if (!size.ok()) return size.error();
    data.dataset_mib = static_cast<double>(size.value().bytes) / (1 << 20);
    result.remarks.push_back(fmt::format("data set: {}{:.4g} GB in {} files",
                                         size.value().complete ? "" : "more than ",
                                         data.dataset_mib / 1024, size.value().files));
  }
  const double steps = order.epoch_steps > 0 ? static_cast<double>(order.epoch_steps)
                                             : result.measured.steps_per_epoch;
  if (steps <= 0) {
    return Error{"steps per epoch: the job did not report a whole epoch; give --epoch-steps N",
                 ErrorCode::kConflict};
  }
  data.mib_per_step = data.dataset_mib / steps;
  // Memory was sampled only a few times, and a job that gets too little is killed: add headroom.
  data.base_mem_mib = kMemoryHeadroom * static_cast<double>(result.measured.own_mem_mib) + kMinMib;
  const Result<Bandwidth> memory = memory_bandwidth(std::max(1, cpus), order.notes);
  if (!memory.ok()) return memory.error();
  data.mem_mib_per_s = memory.value().mib_per_s;
  const std::string where = order.dataset.empty() ? order.request.cwd : order.dataset;
  const Result<Bandwidth> storage = storage_bandwidth(where, "", order.notes);
  if (!storage.ok()) return storage.error();
  data.storage_mib_per_s = storage.value().mib_per_s;
  result.remarks.push_back(fmt::format(
      "memory model: {:.3g} MB per step, {:.4g} MB/s from storage, {:.4g} MB/s from memory{}",
      data.mib_per_step, data.storage_mib_per_s, data.mem_mib_per_s,
      storage.value().remembered ? " (from an earlier measurement)" : ""));
  if (const MaybeError refusal = check_data(data)) return *refusal;
  return std::optional(data);
}

}  // namespace

Result<ProfileResult> run_profile_order(const ProfileOrder& order) {
  if (!order.dataset.empty()) {  // Checked before minutes are spent on the measurement.
    const Result<DatasetSize> there =
        walk_dataset(order.dataset, {},
                     [](const std::string&, std::int64_t, const DatasetSize&) { return false; });
    if (!there.ok()) return there.error();
  }
  const Result<NodeFacts> machine = find_node(kSlots, kProfileGroup);
  if (!machine.ok()) return machine.error();
  if (!machine.value().full_isolation) {
    return instead("CPU cannot be limited here (" + machine.value().isolation_why + ")");
  }
  const Scratch scratch;
  if (scratch.path().empty())
    return Error{"cannot create a temporary directory; check $TMPDIR", ErrorCode::kSystem};
  Result<LaunchSpec> spec = launch_of(order, machine.value());
  if (!spec.ok()) return spec.error();
  MeasureOrder measuring;
  measuring.spec = std::move(spec).value();
  measuring.scratch = scratch.path() + "/leases";
  measuring.shim = order.shim;
  const std::int64_t all = std::int64_t{machine.value().cpus} * 1000;
  measuring.session.full = order.most_cpus ? std::min(order.most_cpus->milli, all) : all;
  measuring.session.least = std::max<std::int64_t>(20, measuring.session.full / 40);
  measuring.session.budget = order.budget;
  measuring.watch = order.watch;
  measuring.interrupted = order.interrupted;
  Result<Measured> measured = measure(measuring);
  if (!measured.ok()) return instead(measured.error().message);
  ProfileResult result;
  result.measured = std::move(measured).value();
  if (result.measured.trouble && result.measured.curve.points().size() < 2) {
    Error error = instead(*result.measured.trouble);
    if (!result.measured.last_words.empty()) {
      error.message += "; last output: " + result.measured.last_words;
    }
    return error;
  }
  if (result.measured.trouble) {
    result.remarks.push_back("measurement incomplete: " + *result.measured.trouble);
  }
  result.profile.name = order.request.name;
  result.profile.gpus = order.request.gpus;
  result.profile.curve = result.measured.curve;
  result.fair_cpus = static_cast<double>(machine.value().cpus) /
                     static_cast<double>(std::max<std::size_t>(1, machine.value().gpus.size()));
  Result<std::optional<DataFacts>> data = data_of(order, result, machine.value().cpus);
  if (data.ok()) {
    result.profile.data = data.value();
  } else {
    result.remarks.push_back(data.error().message +
                             ": no memory data; the job keeps its proportional share of memory");
  }
  return result;
}

}  // namespace muster
