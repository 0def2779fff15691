#include "exec/machine/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

namespace muster {

namespace {

constexpr std::size_t kMaxRecordBytes = 16 << 10;  // The kernel writes at most 8 KiB.
constexpr int kMaxBlocks = 1000;
constexpr std::uint64_t kUncorrected = std::uint64_t{1} << 61;  // In the status of a bank.

// A cursor over one record. Each take_ returns false, and the cursor is then of no further use.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool take(std::string_view expected) {
    if (!text_.starts_with(expected)) return false;
    text_.remove_prefix(expected.size());
    return true;
  }
  bool take_number(std::uint64_t& number, int base = 10) {
    const auto [end, error] =
        std::from_chars(text_.data(), text_.data() + text_.size(), number, base);
    if (error != std::errc()) return false;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return true;
  }
  bool skip_past(std::string_view mark) {
    const std::size_t at = text_.find(mark);
    if (at == std::string_view::npos) return false;
    text_.remove_prefix(at + mark.size());
    return true;
  }
  bool starts_with(std::string_view text) const { return text_.starts_with(text); }

 private:
  std::string_view text_;
};

// "NVRM: Xid (PCI:0000:3b:00): 79, pid=..."; older drivers write "PCI:0000:3b:00.0".
std::optional<HardwareEvent> find_xid(Scanner scan) {
  std::uint64_t domain = 0;
  std::uint64_t bus = 0;
  std::uint64_t device = 0;
  std::uint64_t function = 0;
  std::uint64_t xid = 0;
  const bool is_address = scan.take("NVRM: Xid (PCI:") && scan.take_number(domain, 16) &&
                          scan.take(":") && scan.take_number(bus, 16) && scan.take(":") &&
                          scan.take_number(device, 16);
  if (!is_address || (scan.take(".") && !scan.take_number(function, 16))) return std::nullopt;
  if (!scan.take("): ") || !scan.take_number(xid)) return std::nullopt;
  HardwareEvent event;
  if (!find_fault(xid, event.fault)) return std::nullopt;
  if (domain <= 0xffffffff && bus <= 0xff && device <= 0xff) {
    event.device = pci_address(static_cast<std::int64_t>(domain), static_cast<std::int64_t>(bus),
                               static_cast<std::int64_t>(device));
  }
  event.what = "Xid " + std::to_string(xid);
  return event;
}

// "EDAC MC0: 1 UE memory read error on CPU_SrcID#0 (channel:0 slot:0 page:0x3e8 offset:0x40 ...".
// A process named "EDAC MC0: 1 UE " can begin other records, so the address is required.
bool is_memory_error(Scanner scan) {
  std::uint64_t number = 0;
  return scan.take("EDAC MC") && scan.take_number(number) && scan.take(": ") &&
         scan.take_number(number) && scan.take(" UE ") && scan.skip_past(" page:0x") &&
         scan.take_number(number, 16) && scan.take(" offset:0x");
}

// "mce: [Hardware Error]: CPU 2: Machine Check Exception: 5 Bank 4: b200000000070f0f". The kernel
// also logs corrected errors, which are normal; the status of the bank tells them apart.
bool is_machine_check(Scanner scan) {
  if (scan.take("mce: Uncorrected hardware memory error")) return true;
  std::uint64_t bank = 0;
  std::uint64_t status = 0;
  return scan.take("mce: [Hardware Error]: CPU ") && scan.skip_past(": Machine Check") &&
         scan.skip_past(" Bank ") && scan.take_number(bank) && scan.take(": ") &&
         scan.take_number(status, 16) && (status & kUncorrected) != 0;
}

}  // namespace

std::optional<HardwareEvent> parse_kernel_record(std::string_view record) {
  Scanner scan(record);
  std::uint64_t priority = 0;
  if (!scan.take_number(priority) || !scan.starts_with(",")) return std::nullopt;
  if (priority >> 3 != 0 || !scan.skip_past(";")) return std::nullopt;
  if (is_memory_error(scan)) return HardwareEvent{HardwareFault::kHost, kNoDevice, "memory error"};
  if (is_machine_check(scan)) {
    return HardwareEvent{HardwareFault::kHost, kNoDevice, "machine check"};
  }
  return find_xid(scan);
}

KernelLog::KernelLog(const std::string& path)
    : file_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)) {
  if (file_.open()) ::lseek(file_.get(), 0, SEEK_END);  // Not possible with a FIFO.
}

std::vector<HardwareEvent> KernelLog::poll() {
  std::vector<HardwareEvent> events;
  std::array<char, kMaxRecordBytes> block{};
  for (int i = 0; file_.open() && i < kMaxBlocks; ++i) {
    const ssize_t got = ::read(file_.get(), block.data(), block.size());
    if (got < 0 && (errno == EPIPE || errno == EINTR)) continue;  // The kernel dropped records.
    if (got <= 0) break;
    rest_.append(block.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      // Properties of a record follow in lines that begin with a space.
      const std::string_view line = std::string_view(rest_).substr(begin, end - begin);
      if (std::optional<HardwareEvent> event = parse_kernel_record(line)) {
        events.push_back(std::move(*event));
      }
    }
    rest_.erase(0, begin);
    if (rest_.size() > kMaxRecordBytes) rest_.clear();
  }
  return events;
}

}  // namespace muster
