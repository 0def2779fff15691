#include "exec/cgroup/cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t kMaxMountBytes = 1 << 20;
constexpr std::int64_t kPeriodUs = 100'000;
constexpr int kFreezeTries = 100;  // One per millisecond.
constexpr int kKillRounds = 8;
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;

// `name` is for the error.
MaybeError put(const Fd& group, const char* file, const std::string& value,
               const std::string& name = "") {
  const Fd fd(::openat(group.get(), file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.open()) return system_error(name + "/" + file, errno);
  if (::write(fd.get(), value.data(), value.size()) >= 0) return std::nullopt;
  return system_error(name + "/" + file + ": '" + value + "'", errno);
}

// Returns up to 4 KiB of a file, which is sufficient for all files except cgroup.procs.
std::string get(const Fd& group, const char* file) {
  const Fd fd(::openat(group.get(), file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  char text[4096];
  const ssize_t n = fd.open() ? ::read(fd.get(), text, sizeof text) : 0;
  return {text, n > 0 ? static_cast<std::size_t>(n) : 0};
}

std::int64_t get_number(const Fd& group, const char* file) {
  return std::strtoll(get(group, file).c_str(), nullptr, 10);
}

// Returns the number after "key " in a file with one key per line.
std::int64_t get_entry(const Fd& group, const char* file, const std::string& key) {
  const std::string text = "\n" + get(group, file);
  const std::size_t at = text.find("\n" + key + " ");
  return at == text.npos ? 0 : std::strtoll(text.c_str() + at + key.size() + 2, nullptr, 10);
}

bool has_controller(const Fd& group, const char* name) {
  std::string text = " " + get(group, "cgroup.controllers") + " ";
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.find(std::string(" ") + name + " ") != text.npos;
}

// Errors are ignored here; make() and limit_processes() check the result.
void pass_controllers_down(const Fd& group) {
  for (const char* name : {"+cpu", "+memory", "+pids"}) put(group, "cgroup.subtree_control", name);
}

// Opens the parent below the mount. With `create`, creates it and, for version 2, enables the
// controllers where permitted.
Result<Fd> open_parent(const std::string& mount, const std::string& parent, bool create, bool v2) {
  Fd folder(::open(mount.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::string path = mount;
  for (std::size_t at = 1; folder.open() && at <= parent.size();) {
    const std::size_t end = std::min(parent.find('/', at), parent.size());
    const std::string part = parent.substr(at, end - at);
    at = end + 1;
    path += "/" + part;
    if (create && v2) pass_controllers_down(folder);
    if (create && ::mkdirat(folder.get(), part.c_str(), 0755) != 0 && errno != EEXIST) break;
    Fd next(::openat(folder.get(), part.c_str(), kDirectory));
    if (!next.open()) break;
    folder = std::move(next);
    if (at > parent.size()) {
      if (create && v2) pass_controllers_down(folder);
      return folder;
    }
  }
  return system_error(path, errno);
}

void add_gap(std::string& gaps, const char* what, const std::string& why) {
  gaps += (gaps.empty() ? "" : "; ") + std::string(what) + " (" + why + ")";
}

}  // namespace

CgroupMounts find_cgroup_mounts() {
  CgroupMounts mounts;
  const auto text = read_file(AT_FDCWD, "/proc/self/mountinfo", kMaxMountBytes);
  if (!text.ok()) return mounts;
  const std::pair<const char*, std::string*> controllers[] = {{",cpu,", &mounts.v1_cpu},
                                                              {",memory,", &mounts.v1_memory},
                                                              {",pids,", &mounts.v1_pids},
                                                              {",devices,", &mounts.v1_devices},
                                                              {",freezer,", &mounts.v1_freezer}};
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.value().find('\n', begin)) != std::string::npos;) {
    const std::string line = text.value().substr(begin, end - begin);
    begin = end + 1;
    char path[4096], kind[32], options[4096];
    const std::size_t dash = line.find(" - ");
    if (dash == line.npos || std::sscanf(line.c_str(), "%*s %*s %*s %*s %4095s", path) != 1 ||
        std::sscanf(line.c_str() + dash, " - %31s %*s %4095s", kind, options) != 2) {
      continue;
    }
    if (std::strcmp(kind, "cgroup2") == 0) mounts.unified = path;
    if (std::strcmp(kind, "cgroup") != 0) continue;
    for (const auto& [name, mount] : controllers) {
      if ((std::string(",") + options + ",").find(name) != std::string::npos) *mount = path;
    }
  }
  return mounts;
}

ControlGroup::ControlGroup(const std::string& parent, std::string_view token, CgroupMounts mounts)
    : parent_(parent), name_("muster-" + std::string(token)), mounts_(std::move(mounts)) {}

Result<ControlGroup> ControlGroup::create(const std::string& parent, std::string_view token,
                                          Limits limits, const CgroupMounts& mounts) {
  if (parent.empty()) return Error{"no cgroup parent is configured", ErrorCode::kInvalid};
  ControlGroup group(parent, token, mounts);
  auto refusal = group.make();
  if (!refusal) refusal = group.resize(limits);
  if (!refusal) {
    auto doors = group.doors();
    if (!doors.ok()) refusal = doors.error();
  }
  if (!refusal) return group;
  group.remove();
  return *refusal;
}

// Adds the directory of the group below `mount`, once per mount.
MaybeError ControlGroup::add(const std::string& mount, bool create, int& index) {
  Place place{mount + parent_ + "/" + name_, {}, {}, mount == mounts_.unified};
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].path == place.path) return index = static_cast<int>(i), std::nullopt;
  }
  auto parent = open_parent(mount, parent_, create, place.v2);
  if (!parent.ok()) return parent.error();
  place.parent = std::move(parent).value();
  const int folder = place.parent.get();
  if (create && ::mkdirat(folder, name_.c_str(), 0755) != 0 && errno != EEXIST) {
    return system_error(place.path, errno);
  }
  place.group = Fd(::openat(folder, name_.c_str(), kDirectory));
  if (!place.group.open()) return system_error(place.path, errno);
  index = static_cast<int>(places_.size());
  places_.push_back(std::move(place));
  return std::nullopt;
}

MaybeError ControlGroup::make() {
  const bool needs_v2 = mounts_.v1_cpu.empty() || mounts_.v1_memory.empty();
  if (needs_v2 && mounts_.unified.empty()) {
    return Error{"no cgroup hierarchy with the controllers cpu and memory is mounted",
                 ErrorCode::kSystem};
  }
  MaybeError refusal;
  for (const auto& [mount, index] :
       {std::pair{&mounts_.v1_cpu, &cpu_}, std::pair{&mounts_.v1_memory, &memory_}}) {
    refusal = add(mount->empty() ? mounts_.unified : *mount, true, *index);
    if (refusal) return refusal;
  }
  // The following two are optional.
  if (!mounts_.unified.empty()) add(mounts_.unified, true, unified_);
  kills_ =
      unified_ >= 0 && ::faccessat(at(unified_).group.get(), "cgroup.kill", W_OK, AT_EACCESS) == 0;
  if (!kills_ && !mounts_.v1_freezer.empty()) kills_ = !add(mounts_.v1_freezer, true, freezer_);
  for (const auto& [index, name] : {std::pair{cpu_, "cpu"}, std::pair{memory_, "memory"}}) {
    if (!at(index).v2 || has_controller(at(index).group, name)) continue;
    return Error{at(index).path + ": the controller " + name + " is not enabled for it",
                 ErrorCode::kSystem};
  }
  return std::nullopt;
}

ControlGroup ControlGroup::find(const std::string& parent, std::string_view token,
                                const CgroupMounts& mounts) {
  ControlGroup group(parent, token, mounts);
  if (parent.empty()) return group;
  for (const auto& [mount, index] : {std::pair{&mounts.unified, &group.unified_},
                                     {&mounts.v1_cpu, &group.cpu_},
                                     {&mounts.v1_memory, &group.memory_},
                                     {&mounts.v1_pids, &group.pids_},
                                     {&mounts.v1_devices, &group.devices_},
                                     {&mounts.v1_freezer, &group.freezer_}}) {
    if (!mount->empty()) group.add(*mount, false, *index);
  }
  return group;
}

std::string ControlGroup::restrict_to(const Restrictions& wanted) {
  std::string gaps;
  if (!kills_) add_gap(gaps, "atomic kill", "neither cgroup.kill nor the freezer is available");
  if (const auto refusal = limit_processes(wanted.processes)) {
    add_gap(gaps, "process limit", refusal->message);
  }
  if (const auto refusal = filter_devices(wanted.devices)) {
    add_gap(gaps, "GPU device filter", refusal->message);
  }
  return gaps.empty() ? gaps : "not enforced: " + gaps;
}

MaybeError ControlGroup::limit_processes(std::int64_t most) {
  if (most == 0) return std::nullopt;
  if (unified_ >= 0 && has_controller(at(unified_).group, "pids")) {
    pids_ = unified_;
  } else if (mounts_.v1_pids.empty()) {
    return Error{"the controller pids is not available", ErrorCode::kSystem};
  } else if (auto refusal = add(mounts_.v1_pids, true, pids_)) {
    return refusal;
  }
  return put(at(pids_).group, "pids.max", std::to_string(most), at(pids_).path);
}

MaybeError ControlGroup::filter_devices(const std::optional<DeviceFilter>& filter) {
  if (!filter) return Error{"the devices of the lease are unknown", ErrorCode::kNotFound};
  filters_devices_ = true;
  if (filter->empty()) return std::nullopt;
  MaybeError refusal = Error{"no devices controller is available", ErrorCode::kSystem};
  if (unified_ >= 0) refusal = attach_device_filter(at(unified_).group.get(), *filter);
  if (refusal && !mounts_.v1_devices.empty()) {
    refusal = add(mounts_.v1_devices, true, devices_);
    for (const std::string& line : device_deny_lines(*filter)) {
      if (!refusal) refusal = put(at(devices_).group, "devices.deny", line, at(devices_).path);
    }
  }
  filters_devices_ = !refusal;
  return refusal;
}

std::string_view ControlGroup::kind() const {
  return at(cpu_).v2 && at(memory_).v2 ? "cgroup-v2" : "cgroup-v1";
}

Result<std::vector<Fd>> ControlGroup::doors() const {
  std::vector<Fd> list;
  for (const Place& place : places_) {
    list.emplace_back(::openat(place.group.get(), "cgroup.procs", O_WRONLY | O_CLOEXEC));
    if (!list.back().open()) return system_error(place.path + "/cgroup.procs", errno);
  }
  return list;
}

MaybeError ControlGroup::limit_cpu(std::int64_t milli) const {
  const Place& cpu = at(cpu_);
  const std::string quota = std::to_string(milli * kPeriodUs / 1000);
  const std::string period = std::to_string(kPeriodUs);
  if (cpu.v2) return put(cpu.group, "cpu.max", quota + " " + period, cpu.path);
  if (auto refusal = put(cpu.group, "cpu.cfs_period_us", period, cpu.path)) return refusal;
  return put(cpu.group, "cpu.cfs_quota_us", quota, cpu.path);
}

MaybeError ControlGroup::limit_memory(std::int64_t mib) const {
  const auto& [path, parent, group, v2] = at(memory_);
  const std::string bytes = std::to_string(mib << 20);
  if (!v2) {
    // The limit with swap must never be the lower one. Set it first to raise it and last to lower
    // it.
    put(group, "memory.memsw.limit_in_bytes", bytes);
    auto refusal = put(group, "memory.limit_in_bytes", bytes, path);
    put(group, "memory.memsw.limit_in_bytes", bytes);
    return refusal;
  }
  // A memory.max below the usage kills the job. Set memory.high first to reclaim, then check the
  // usage.
  if (auto refusal = put(group, "memory.high", bytes, path)) return refusal;
  const std::int64_t held = memory_bytes();
  MaybeError refusal;
  if (held > (mib << 20)) {
    refusal = Error{"the job uses " + std::to_string(held >> 20) + " MiB", ErrorCode::kConflict};
  } else {
    refusal = put(group, "memory.max", bytes, path);
  }
  put(group, "memory.high", "max");
  put(group, "memory.swap.max", "0");
  put(group, "memory.oom.group", "1");
  return refusal;
}

MaybeError ControlGroup::resize(Limits limits) {
  if (auto refusal = limit_memory(limits.mem_mib)) return refusal;
  return limit_cpu(limits.cpu_milli);
}

std::int64_t ControlGroup::oom_kills() const {
  const Place& memory = at(memory_);
  return get_entry(memory.group, memory.v2 ? "memory.events" : "memory.oom_control", "oom_kill");
}

std::int64_t ControlGroup::refused_forks() const {
  return pids_ < 0 ? 0 : get_entry(at(pids_).group, "pids.events", "max");
}

std::int64_t ControlGroup::memory_bytes() const {
  const Place& memory = at(memory_);
  return get_number(memory.group, memory.v2 ? "memory.current" : "memory.usage_in_bytes");
}

std::int64_t ControlGroup::memory_peak_bytes() const {
  const Place& memory = at(memory_);
  return get_number(memory.group, memory.v2 ? "memory.peak" : "memory.max_usage_in_bytes");
}

void ControlGroup::kill_all() const {
  // cgroup.kill is atomic: it also kills processes that fork at the same time.
  if (unified_ >= 0 && !put(at(unified_).group, "cgroup.kill", "1")) return;
  if (freezer_ < 0) {
    for (int round = 0; round < kKillRounds && kill_members(); ++round) {
    }
    return;
  }
  // A frozen process cannot fork. The signal takes effect when it thaws.
  const Fd& freezer = at(freezer_).group;
  put(freezer, "freezer.state", "FROZEN");
  for (int i = 0; i < kFreezeTries && get(freezer, "freezer.state") == "FREEZING\n"; ++i) {
    ::usleep(1000);
  }
  kill_members();
  put(freezer, "freezer.state", "THAWED");
}

// Returns false if there were no processes.
bool ControlGroup::kill_members() const {
  bool any = false;
  for (const Place& place : places_) {
    const Fd procs(::openat(place.group.get(), "cgroup.procs", O_RDONLY | O_CLOEXEC));
    pid_t pid = 0;
    char piece[4096];
    for (ssize_t n = 0; procs.open() && (n = ::read(procs.get(), piece, sizeof piece)) > 0;) {
      for (const char c : std::string_view(piece, static_cast<std::size_t>(n))) {
        if (c != '\n') {
          pid = pid * 10 + (c - '0');
          continue;
        }
        if (pid > 1) any = ::kill(pid, SIGKILL) == 0 || any;
        pid = 0;
      }
    }
  }
  return any;
}

bool ControlGroup::empty() const {
  return std::all_of(places_.begin(), places_.end(), [](const Place& place) {
    return place.v2 ? get_entry(place.group, "cgroup.events", "populated") == 0
                    : get(place.group, "cgroup.procs").empty();
  });
}

bool ControlGroup::remove() const {
  bool gone = true;
  for (const Place& place : places_) {
    const int result = ::unlinkat(place.parent.get(), name_.c_str(), AT_REMOVEDIR);
    gone = (result == 0 || errno == ENOENT) && gone;
  }
  return gone;
}

MaybeError try_cgroup(const std::string& parent, std::string* gaps) {
  const std::string token = "try" + std::to_string(::getpid());
  auto group = ControlGroup::create(parent, token, {.cpu_milli = 1000, .mem_mib = 64});
  if (!group.ok()) return group.error();
  if (gaps != nullptr) {
    *gaps = group.value().restrict_to({max_processes(0), filter_gpus({})});
  }
  group.value().remove();
  return std::nullopt;
}

}  // namespace muster
