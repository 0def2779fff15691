#pragma once

// Finds hardware faults in the kernel log (/dev/kmsg). HardwareWatch polls it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/files.h"
#include "exec/machine/hardware_event.h"

namespace muster {

inline constexpr const char* kKernelLog = "/dev/kmsg";

// Parses a record "PRIORITY,SEQUENCE,TIME,FLAGS;TEXT". Returns a fault for a hardware Xid of the
// NVIDIA driver, an uncorrected error of EDAC, and an uncorrected machine check. Root can write
// records to /dev/kmsg; the kernel marks them with a facility other than 0, and they are ignored.
// Some kernel messages start with the name of a process, at most 15 bytes long, so the patterns
// require text of the driver after that. The result contains no text of the record.
std::optional<HardwareEvent> parse_kernel_record(std::string_view record);

// Reads the records that are new since it was opened. Without permission, or if there is no such
// file, there are none.
class KernelLog {
 public:
  explicit KernelLog(const std::string& path);  // /dev/kmsg, or a file or FIFO in its format.
  bool is_open() const { return file_.open(); }
  std::vector<HardwareEvent> poll();  // Never blocks; reads at most 1,000 blocks.

 private:
  Fd file_;
  std::string rest_;  // An incomplete line; not with /dev/kmsg.
};

}  // namespace muster
