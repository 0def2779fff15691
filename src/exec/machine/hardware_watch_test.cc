#include "exec/machine/hardware_watch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "exec/machine/gpu_health.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

std::string parsed(const char* record) {
  const std::optional<HardwareEvent> event = parse_kernel_record(record);
  return event ? event->what : "";
}

TEST(KernelLog, FindsXidsOfTheHardware) {
  const auto event = parse_kernel_record(
      "4,339,5140900,-;NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', GPU has fallen off");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->what, "Xid 79");
  EXPECT_EQ(event->device, pci_address(0, 0x3b, 0));
  EXPECT_EQ(event->fault, HardwareFault::kGpuLost);
  EXPECT_EQ(parsed("4,1,1,-,caller=T9;NVRM: Xid (PCI:0000:af:00.0): 48, pid=1"), "Xid 48");
  for (const int xid : {48, 63, 64, 74, 79, 92, 95, 119, 120}) {
    const std::string record =
        "4,1,1,-;NVRM: Xid (PCI:0000:af:00): " + std::to_string(xid) + ", pid=7";
    EXPECT_EQ(parsed(record.c_str()), "Xid " + std::to_string(xid));
  }
}

TEST(KernelLog, IgnoresXidsThatAProgramCanCause) {
  for (const int xid : {13, 31, 43, 45, 0, 790}) {
    const std::string record =
        "4,1,1,-;NVRM: Xid (PCI:0000:af:00): " + std::to_string(xid) + ", pid=7";
    EXPECT_EQ(parsed(record.c_str()), "") << record;
  }
}

TEST(KernelLog, FindsUncorrectedErrorsOfTheHost) {
  EXPECT_EQ(parsed("4,1,1,-;EDAC MC0: 1 UE memory read error on CPU_SrcID#0_Ha#0_Chan#0_DIMM#0 "
                   "(channel:0 slot:0 page:0x3e8 offset:0x40 grain:32 -  OVERFLOW)"),
            "memory error");
  EXPECT_EQ(parsed("4,1,1,-;EDAC MC0: 1 UE on any memory ( page:0x0 offset:0x0 grain:1)"),
            "memory error");
  EXPECT_EQ(parsed("4,1,1,-;EDAC MC0: 1 CE memory read error on CPU_SrcID#0_Ha#0_Chan#0_DIMM#0 "
                   "(channel:0 slot:0 page:0x3e8 offset:0x40 grain:32 syndrome:0x0)"),
            "");
  EXPECT_EQ(parsed("0,1,1,-;mce: [Hardware Error]: CPU 2: Machine Check Exception: 5 Bank 4: "
                   "b200000000070f0f"),
            "machine check");
  EXPECT_EQ(parsed("0,1,1,-;mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 4: "
                   "9200000000070f0f"),
            "")
      << "a corrected error";
  EXPECT_EQ(parsed("0,1,1,-;mce: [Hardware Error]: Machine check events logged"), "");
  EXPECT_EQ(parsed("3,1,1,-;mce: Uncorrected hardware memory error in user-access at 1000"),
            "machine check");
}

TEST(KernelLog, IgnoresWhatAUserWroteOrNamed) {
  for (const char* const record :
       {"12,1,1,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1",  // Facility 1: written to /dev/kmsg.
        "18446744073709551615,1,1,-;NVRM: Xid (PCI:0000:3b:00): 79",
        "99999999999999999999,1,1,-;NVRM: Xid (PCI:0000:3b:00): 79",
        "-4,1,1,-;NVRM: Xid (PCI:0000:3b:00): 79", "4;NVRM: Xid (PCI:0000:3b:00): 79",
        "6,1,1,-;NVRM: Xid (PCI:[77]: segfault at 0 ip 0 sp 0 error 4 in x): 79, ",
        "6,1,1,-;EDAC MC0: 1 UE [77]: segfault at 0 ip 0 sp 0 error 4 in UE on x",
        // Text that any user can cause, with the name of a process ("EDAC MC0: 1 UE ") in front.
        "4,1,1,-;EDAC MC0: 1 UE (77): Attempt to set a LOCK_MAND lock via flock(2). This support "
        "has been removed and the request ignored.",
        "4,1,1,-;EDAC MC0: 1 UE  (77): Using mlock ulimits for SHM_HUGETLB is deprecated",
        "6,1,1,-;x[77]: NVRM: Xid (PCI:0000:3b:00): 79", " SUBSYSTEM=pci", ";", "4,", "",
        "4,1,1,-;NVRM: Xid (PCI:0000:3b:00): ", "4,1,1,-;EDAC MC0: 1 UE "}) {
    EXPECT_EQ(parsed(record), "") << record;
  }
}

class Hardware : public testing::Test {
 protected:
  Hardware() {
    char name[] = "/tmp/muster-hardware-XXXXXX";
    directory_ = ::mkdtemp(name);
    const std::ofstream empty(log());
    ::setenv("FAKE_NVML_EVENTS", events().c_str(), 1);
  }
  ~Hardware() override {
    ::unsetenv("FAKE_NVML_EVENTS");
    std::filesystem::remove_all(directory_);
  }
  std::string log() const { return directory_ + "/kmsg"; }
  std::string events() const { return directory_ + "/events"; }
  static void append(const std::string& path, const std::string& line) {
    std::ofstream(path, std::ios::app) << line << "\n" << std::flush;
  }
  static std::vector<std::string> wait_for(HardwareWatch& watch, std::size_t count) {
    std::vector<std::string> all;
    for (int i = 0; i < 2000 && all.size() < count; ++i) {
      for (std::string& each : watch.poll()) all.push_back(std::move(each));
      std::this_thread::sleep_for(5ms);
    }
    return all;
  }

  std::string directory_;
};

TEST_F(Hardware, TheKernelLogIsReadFromItsEnd) {
  append(log(), "4,1,1,-;NVRM: Xid (PCI:0000:3b:00): 79, old");
  KernelLog kernel(log());
  EXPECT_TRUE(kernel.poll().empty());
  append(log(), "4,2,1,-;NVRM: Xid (PCI:0000:3b:00): 74, new\n SUBSYSTEM=pci\n6,3,1,-;usb 1-1");
  ASSERT_EQ(kernel.poll().size(), 1U);
  EXPECT_TRUE(kernel.poll().empty());
  EXPECT_TRUE(KernelLog(directory_ + "/none").poll().empty());
}

TEST_F(Hardware, AFifoGivesLinesInPieces) {
  const std::string fifo = directory_ + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  KernelLog kernel(fifo);
  EXPECT_TRUE(kernel.poll().empty()) << "no writer";
  std::ofstream out(fifo);
  out << "4,2,1,-;NVRM: Xid (PCI:0000" << std::flush;
  EXPECT_TRUE(kernel.poll().empty());
  out << ":3b:00): 74, x\n" << std::flush;
  EXPECT_EQ(kernel.poll().size(), 1U);
  out << std::string(40'000, 'x') << "\n4,2,1,-;NVRM: Xid (PCI:0:3b:0): 79, x\n" << std::flush;
  EXPECT_EQ(kernel.poll().size(), 1U) << "a line that is too long is dropped";
}

TEST_F(Hardware, NvmlReportsXidsAndCounters) {
  append(events(), "ecc 0 3\nrows 1 2");
  GpuHealth gpus(FAKE_NVML);
  EXPECT_TRUE(gpus.poll_counters().empty()) << "they were there before";
  append(events(), "xid 0 13\nxid 1 79\necc 0 4\nrows 1 3");
  const std::vector<HardwareEvent> xids = gpus.poll_xids();
  ASSERT_EQ(xids.size(), 1U) << "a program can cause Xid 13";
  EXPECT_EQ(xids[0].what, "Xid 79");
  EXPECT_EQ(xids[0].device, pci_address(0, 0x3c, 0));
  const std::vector<HardwareEvent> counters = gpus.poll_counters();
  ASSERT_EQ(counters.size(), 2U);
  EXPECT_EQ(counters[0].what, "uncorrected ECC errors");
  EXPECT_EQ(counters[1].what, "remapped rows");
  EXPECT_TRUE(gpus.poll_counters().empty());
  EXPECT_TRUE(GpuHealth("no-such-nvml.so").poll_xids().empty());
  EXPECT_TRUE(GpuHealth("libc.so.6").poll_counters().empty());
}

TEST_F(Hardware, OneFaultFromTwoSourcesCountsOnce) {
  HardwareWatch watch({FAKE_NVML, log(), 5ms});
  std::this_thread::sleep_for(100ms);  // It has opened its sources.
  append(log(), "4,2,1,-;NVRM: Xid (PCI:0000:3b:00): 79, x");
  append(events(), "xid 0 79");
  EXPECT_EQ(wait_for(watch, 1), std::vector<std::string>{"Xid 79"});
  append(log(), "4,3,1,-;NVRM: Xid (PCI:0000:3c:00): 79, another GPU");
  EXPECT_EQ(wait_for(watch, 1), std::vector<std::string>{"Xid 79"});
  std::this_thread::sleep_for(100ms);
  EXPECT_TRUE(watch.poll().empty());
}

TEST_F(Hardware, WithoutSourcesNothingHappens) {
  HardwareWatch watch({"no-such-nvml.so", directory_ + "/none", 1ms});
  std::this_thread::sleep_for(30ms);
  EXPECT_TRUE(watch.poll().empty());
}

TEST(FaultFilter, CountsAFaultOncePerMinuteAndCapsTheRate) {
  FaultFilter filter;
  const FaultFilter::Clock::time_point start{};
  const HardwareEvent ecc{HardwareFault::kGpuMemory, 7, "Xid 48"};
  EXPECT_TRUE(filter.passes(ecc, start));
  EXPECT_FALSE(filter.passes({HardwareFault::kGpuMemory, 7, "remapped rows"}, start + 59s));
  EXPECT_FALSE(filter.passes({HardwareFault::kGpuMemory, kNoDevice, "Xid 63"}, start + 59s));
  EXPECT_TRUE(filter.passes({HardwareFault::kGpuLost, 7, "Xid 79"}, start + 59s));
  EXPECT_TRUE(filter.passes(ecc, start + 60s));
  std::size_t passed = 0;
  for (std::int64_t gpu = 100; gpu < 200; ++gpu) {
    passed += filter.passes({HardwareFault::kGpuLost, gpu, "Xid 79"}, start + 61s) ? 1 : 0;
  }
  EXPECT_EQ(passed, FaultFilter::kMaxEvents - 2);
}

}  // namespace
}  // namespace muster
