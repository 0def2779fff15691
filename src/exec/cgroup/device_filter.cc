#include "exec/cgroup/device_filter.h"

#include <glob.h>
#include <linux/bpf.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>

namespace muster {
namespace {

constexpr std::size_t kMaxDevices = 4096;  // Keeps the eBPF program below the kernel's limits.

std::optional<DeviceNumber> number_of(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISCHR(facts.st_mode)) return std::nullopt;
  return DeviceNumber{major(facts.st_rdev), minor(facts.st_rdev)};
}

template <class T>
void sort_unique(std::vector<T>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

bpf_insn instruction(unsigned code, int to, int from, int offset, int value) {
  bpf_insn made{};
  made.code = static_cast<__u8>(code);
  made.dst_reg = static_cast<__u8>(to) & 15U;
  made.src_reg = static_cast<__u8>(from) & 15U;
  made.off = static_cast<__s16>(offset);
  made.imm = value;
  return made;
}

// The program returns 0 to deny. Registers: 1 context, 2 access, 3 type, 4 major, 5 minor.
std::vector<bpf_insn> device_program(const DeviceFilter& filter) {
  const auto load = [](int to, std::size_t offset) {
    return instruction(BPF_LDX | BPF_W | BPF_MEM, to, 1, static_cast<int>(offset), 0);
  };
  const auto set = [](int to, int value) {
    return instruction(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
  };
  const auto skip_unless = [](int reg, unsigned value, int count) {
    return instruction(BPF_JMP32 | BPF_JNE | BPF_K, reg, 0, count, static_cast<int>(value));
  };
  const bpf_insn leave = instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
  std::vector<bpf_insn> code = {
      load(2, offsetof(bpf_cgroup_dev_ctx, access_type)),
      instruction(BPF_ALU | BPF_MOV | BPF_X, 3, 2, 0, 0),
      instruction(BPF_ALU | BPF_AND | BPF_K, 3, 0, 0, 0xffff),
      instruction(BPF_ALU | BPF_RSH | BPF_K, 2, 0, 0, 16),
      load(4, offsetof(bpf_cgroup_dev_ctx, major)),
      load(5, offsetof(bpf_cgroup_dev_ctx, minor)),
      instruction(BPF_JMP32 | BPF_JEQ | BPF_K, 3, 0, 2, BPF_DEVCG_DEV_CHAR),
      set(0, 1),
      leave,
  };
  for (const DeviceNumber& device : filter.denied) {
    code.insert(code.end(), {skip_unless(4, device.major, 3), skip_unless(5, device.minor, 2),
                             set(0, 0), leave});
  }
  for (const unsigned each : filter.majors) {
    const bpf_insn unless_mknod =
        instruction(BPF_JMP32 | BPF_JSET | BPF_K, 2, 0, 1, BPF_DEVCG_ACC_MKNOD);
    code.insert(code.end(), {skip_unless(4, each, 4), unless_mknod,
                             instruction(BPF_JMP | BPF_JA, 0, 0, 2, 0), set(0, 0), leave});
  }
  code.insert(code.end(), {set(0, 1), leave});
  return code;
}

int bpf(int command, bpf_attr& attributes) {
  return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

Error device_error(const char* what, int number) {
  return {std::string(what) + ": " + std::strerror(number), ErrorCode::kSystem};
}

}  // namespace

DeviceFilter filter_gpus(const std::vector<std::string>& own, const std::string& dev) {
  DeviceFilter filter;
  for (const char* pattern : {"/nvidia[0-9]*", "/nvidia-caps/*", "/dri/*", "/kfd", "/accel/*"}) {
    glob_t found{};
    if (::glob((dev + pattern).c_str(), 0, nullptr, &found) == 0) {
      for (std::size_t i = 0; i < found.gl_pathc; ++i) {
        if (const auto number = number_of(found.gl_pathv[i])) filter.denied.push_back(*number);
      }
    }
    ::globfree(&found);
  }
  sort_unique(filter.denied);
  for (const DeviceNumber& device : filter.denied) filter.majors.push_back(device.major);
  sort_unique(filter.majors);
  for (const std::string& path : own) {
    if (const auto number = number_of(path)) std::erase(filter.denied, *number);
  }
  return filter;
}

MaybeError attach_device_filter(int group, const DeviceFilter& filter) {
  if (filter.denied.size() + filter.majors.size() > kMaxDevices) {
    return Error{"more than " + std::to_string(kMaxDevices) + " devices", ErrorCode::kSystem};
  }
  const std::vector<bpf_insn> code = device_program(filter);
  bpf_attr load{};
  load.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  load.insn_cnt = static_cast<__u32>(code.size());
  load.insns = reinterpret_cast<std::uintptr_t>(code.data());
  load.license = reinterpret_cast<std::uintptr_t>("Apache-2.0");
  const int program = bpf(BPF_PROG_LOAD, load);
  if (program < 0) return device_error("cannot load a device filter", errno);
  bpf_attr attach{};
  attach.target_fd = static_cast<__u32>(group);
  attach.attach_bpf_fd = static_cast<__u32>(program);
  attach.attach_type = BPF_CGROUP_DEVICE;
  attach.attach_flags = BPF_F_ALLOW_MULTI;  // Filters of groups above and below stay in force.
  const int error = bpf(BPF_PROG_ATTACH, attach) == 0 ? 0 : errno;
  ::close(program);  // The group holds it.
  if (error != 0) return device_error("cannot attach the device filter", error);
  return std::nullopt;
}

std::vector<std::string> device_deny_lines(const DeviceFilter& filter) {
  std::vector<std::string> lines;
  for (const DeviceNumber& device : filter.denied) {
    lines.push_back("c " + std::to_string(device.major) + ":" + std::to_string(device.minor) +
                    " rwm");
  }
  for (const unsigned each : filter.majors) {
    lines.push_back("c " + std::to_string(each) + ":* m");
  }
  return lines;
}

}  // namespace muster
