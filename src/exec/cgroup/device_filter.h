#pragma once

// Denies the processes of a control group access to character devices. Muster uses it for the GPU
// nodes that a lease does not have.

#include <string>
#include <vector>

#include "base/types/result.h"

namespace muster {

struct DeviceNumber {
  unsigned major = 0;
  unsigned minor = 0;
  friend auto operator<=>(const DeviceNumber&, const DeviceNumber&) = default;
};

struct DeviceFilter {
  std::vector<DeviceNumber> denied;  // No access.
  std::vector<unsigned> majors;      // No mknod of any device with such a major number.
  bool empty() const { return denied.empty() && majors.empty(); }
};

// Returns a filter that denies all GPU nodes below `dev` (nvidia0, nvidia-caps, dri, kfd, accel)
// except those in `own`, which are absolute paths. Shared control nodes such as nvidiactl stay
// open. A node that is created later is not in the filter.
DeviceFilter filter_gpus(const std::vector<std::string>& own, const std::string& dev = "/dev");

// Attaches the filter to a directory of version 2. It ends with the group. Needs CAP_BPF and
// CAP_NET_ADMIN, or CAP_SYS_ADMIN.
MaybeError attach_device_filter(int group, const DeviceFilter& filter);

// Returns the lines for devices.deny of version 1.
std::vector<std::string> device_deny_lines(const DeviceFilter& filter);

}  // namespace muster
