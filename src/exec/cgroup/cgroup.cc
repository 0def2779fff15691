#include "exec/cgroup/cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text/text.h"

namespace muster {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20;
constexpr std::int64_t kPeriodUs = 100'000;

MaybeError put(const std::string& path, const std::string& value) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.open()) return system_error(path, errno);
  const ssize_t n = ::write(fd.get(), value.data(), value.size());
  if (n < 0) return system_error(path + ": '" + value + "'", errno);
  return std::nullopt;
}

std::string get(const std::string& path) {
  const auto text = read_file(AT_FDCWD, path.c_str(), kMaxBytes);
  return text.ok() ? text.value() : "";
}

std::int64_t get_number(const std::string& path) {
  const auto value = parse_int(trim(get(path)));
  return value.ok() ? value.value() : 0;
}

// Returns the number after "key " in a file with one key per line.
std::int64_t get_entry(const std::string& path, std::string_view key) {
  const std::string text = get(path);
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() != 2 || words[0] != key) continue;
    const auto value = parse_int(words[1]);
    return value.ok() ? value.value() : 0;
  }
  return 0;
}

bool has_controller(const std::string& path, std::string_view name) {
  const std::string text = get(path + "/cgroup.controllers");
  const auto words = split(trim(text), ' ');
  return std::find(words.begin(), words.end(), name) != words.end();
}

// Creates the parent below the mount and enables the controllers where permitted.
MaybeError make_parents(const std::string& mount, const std::string& parent, bool v2) {
  std::string path = mount;
  for (const std::string_view part : split(std::string_view(parent).substr(1), '/')) {
    if (v2) {
      put(path + "/cgroup.subtree_control", "+cpu");     // Errors are ignored here;
      put(path + "/cgroup.subtree_control", "+memory");  // make() checks the result.
    }
    path += "/" + std::string(part);
    if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return system_error(path, errno);
  }
  if (v2) {
    put(path + "/cgroup.subtree_control", "+cpu");
    put(path + "/cgroup.subtree_control", "+memory");
  }
  return std::nullopt;
}

MaybeError make_leaf(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return std::nullopt;
  return system_error(path, errno);
}

}  // namespace

CgroupMounts find_cgroup_mounts() {
  CgroupMounts mounts;
  const auto text = read_file(AT_FDCWD, "/proc/self/mountinfo", kMaxBytes);
  if (!text.ok()) return mounts;
  for (const std::string_view line : split(text.value(), '\n')) {
    const std::size_t dash = line.find(" - ");
    const auto head = split(line, ' ');
    if (dash == std::string_view::npos || head.size() < 5) continue;
    const auto tail = split(line.substr(dash + 3), ' ');
    if (tail.size() < 3) continue;
    if (tail[0] == "cgroup2") mounts.unified = head[4];
    if (tail[0] != "cgroup") continue;
    for (const std::string_view option : split(tail[2], ',')) {
      if (option == "cpu") mounts.v1_cpu = head[4];
      if (option == "memory") mounts.v1_memory = head[4];
    }
  }
  return mounts;
}

ControlGroup ControlGroup::at(const std::string& parent, std::string_view token,
                              const CgroupMounts& mounts) {
  const std::string below = parent + "/muster-" + std::string(token);
  ControlGroup group;
  if (!mounts.unified.empty()) group.unified_ = mounts.unified + below;
  const auto place = [&](const std::string& v1) {
    return v1.empty() ? Place{group.unified_, true} : Place{v1 + below, false};
  };
  group.cpu_ = place(mounts.v1_cpu);
  group.memory_ = place(mounts.v1_memory);
  return group;
}

Result<ControlGroup> ControlGroup::create(const std::string& parent, std::string_view token,
                                          Limits limits, const CgroupMounts& mounts) {
  if (parent.empty()) return Error{"no cgroup parent is configured", ErrorCode::kInvalid};
  ControlGroup group = at(parent, token, mounts);
  if (group.cpu_.path.empty() || group.memory_.path.empty()) {
    return Error{"no cgroup hierarchy with the controllers cpu and memory is mounted",
                 ErrorCode::kSystem};
  }
  auto refusal = group.make(parent);
  if (!refusal) refusal = group.resize(limits);
  if (!refusal) {
    auto doors = group.doors();
    if (!doors.ok()) refusal = doors.error();
  }
  if (!refusal) return group;
  group.remove();
  return *refusal;
}

MaybeError ControlGroup::make(const std::string& parent) {
  for (const std::string& path : paths()) {
    const bool v2 = path == unified_;
    const bool needed = !v2 || cpu_.v2 || memory_.v2;
    const std::string mount =
        path.substr(0, path.size() - parent.size() - (path.size() - path.rfind('/')));
    auto refusal = make_parents(mount, parent, v2);
    if (!refusal) refusal = make_leaf(path);
    if (!refusal) continue;
    if (needed) return refusal;
    unified_.clear();
  }
  for (const auto& [place, name] : {std::pair{&cpu_, "cpu"}, std::pair{&memory_, "memory"}}) {
    if (place->v2 && !has_controller(place->path, name)) {
      return Error{place->path + ": the controller " + name + " is not enabled for it",
                   ErrorCode::kSystem};
    }
  }
  return std::nullopt;
}

ControlGroup ControlGroup::find(const std::string& parent, std::string_view token) {
  if (parent.empty()) return {};
  ControlGroup group = at(parent, token, find_cgroup_mounts());
  const auto exists = [](const std::string& path) {
    return !path.empty() && ::access(path.c_str(), F_OK) == 0;
  };
  if (!exists(group.cpu_.path)) group.cpu_.path.clear();
  if (!exists(group.memory_.path)) group.memory_.path.clear();
  if (!exists(group.unified_)) group.unified_.clear();
  return group;
}

std::vector<std::string> ControlGroup::paths() const {
  std::vector<std::string> list;
  for (const std::string& path : {cpu_.path, memory_.path, unified_}) {
    if (!path.empty() && std::find(list.begin(), list.end(), path) == list.end()) {
      list.push_back(path);
    }
  }
  return list;
}

Result<std::vector<Fd>> ControlGroup::doors() const {
  std::vector<Fd> list;
  for (const std::string& path : paths()) {
    const std::string procs = path + "/cgroup.procs";
    list.emplace_back(::open(procs.c_str(), O_WRONLY | O_CLOEXEC));
    if (!list.back().open()) return system_error(procs, errno);
  }
  return list;
}

MaybeError ControlGroup::limit_cpu(std::int64_t milli) const {
  const std::string quota = std::to_string(milli * kPeriodUs / 1000);
  const std::string period = std::to_string(kPeriodUs);
  if (cpu_.v2) return put(cpu_.path + "/cpu.max", quota + " " + period);
  if (auto refusal = put(cpu_.path + "/cpu.cfs_period_us", period)) return refusal;
  return put(cpu_.path + "/cpu.cfs_quota_us", quota);
}

MaybeError ControlGroup::limit_memory(std::int64_t mib) const {
  const std::string& path = memory_.path;
  const std::string bytes = std::to_string(mib << 20);
  if (!memory_.v2) {
    // The limit with swap must never be the lower one. Set it first to raise it and last to lower
    // it.
    put(path + "/memory.memsw.limit_in_bytes", bytes);
    auto refusal = put(path + "/memory.limit_in_bytes", bytes);
    put(path + "/memory.memsw.limit_in_bytes", bytes);
    return refusal;
  }
  // A memory.max below the usage kills the job. Set memory.high first to reclaim, then check the
  // usage.
  if (auto refusal = put(path + "/memory.high", bytes)) return refusal;
  const std::int64_t held = memory_bytes();
  MaybeError refusal;
  if (held > (mib << 20)) {
    refusal = Error{"the job uses " + std::to_string(held >> 20) + " MiB", ErrorCode::kConflict};
  } else {
    refusal = put(path + "/memory.max", bytes);
  }
  put(path + "/memory.high", "max");
  put(path + "/memory.swap.max", "0");
  put(path + "/memory.oom.group", "1");
  return refusal;
}

MaybeError ControlGroup::resize(Limits limits) {
  if (auto refusal = limit_memory(limits.mem_mib)) return refusal;
  return limit_cpu(limits.cpu_milli);
}

std::int64_t ControlGroup::oom_kills() const {
  const char* file = memory_.v2 ? "/memory.events" : "/memory.oom_control";
  return get_entry(memory_.path + file, "oom_kill");
}

std::int64_t ControlGroup::memory_bytes() const {
  return get_number(memory_.path + (memory_.v2 ? "/memory.current" : "/memory.usage_in_bytes"));
}

std::int64_t ControlGroup::memory_peak_bytes() const {
  return get_number(memory_.path + (memory_.v2 ? "/memory.peak" : "/memory.max_usage_in_bytes"));
}

void ControlGroup::kill_all() const {
  // cgroup.kill is atomic: it also kills processes that fork at the same time.
  if (!unified_.empty() && !put(unified_ + "/cgroup.kill", "1")) return;
  for (const std::string& path : paths()) {
    const std::string procs = get(path + "/cgroup.procs");
    for (const std::string_view word : split(procs, '\n')) {
      const auto pid = parse_int(word);
      if (pid.ok() && pid.value() > 1) ::kill(static_cast<pid_t>(pid.value()), SIGKILL);
    }
  }
}

bool ControlGroup::empty() const {
  for (const std::string& path : paths()) {
    if (path == unified_ ? get_entry(path + "/cgroup.events", "populated") != 0
                         : !get(path + "/cgroup.procs").empty()) {
      return false;
    }
  }
  return true;
}

bool ControlGroup::remove() const {
  bool gone = true;
  for (const std::string& path : paths()) {
    gone = (::rmdir(path.c_str()) == 0 || errno == ENOENT) && gone;
  }
  return gone;
}

MaybeError try_cgroup(const std::string& parent) {
  const std::string token = "try" + std::to_string(::getpid());
  auto group = ControlGroup::create(parent, token, {.cpu_milli = 1000, .mem_mib = 64});
  if (!group.ok()) return group.error();
  group.value().remove();
  return std::nullopt;
}

}  // namespace muster
