#pragma once

// Frames between the manager and the launcher (LauncherRequest, LauncherAnswer), and between the
// shim and the supervisor of its lease (SupervisorOrder, SupervisorReport). A change of a frame
// changes kWireVersion.

#include "exec/launch/frame.h"
#include "exec/launch/grant.h"

namespace muster {

inline constexpr std::uint32_t kMaxDevices = 64;
inline constexpr std::uint32_t kMaxRanks = 1024;  // On one node.

struct LeaseDevice {
  std::uint32_t major = 0, minor = 0;
  constexpr void fields(auto f) { f(major, minor); }
};

struct LeaseKey {
  InstanceBytes instance{};
  std::int64_t job = 0, epoch = 0;
  std::int32_t part = 0;  // Index of the node among the nodes of the lease.
  bool is_valid() const { return job >= 0 && epoch >= 0 && part >= 0; }
  constexpr void fields(auto f) { f(instance, job, epoch, part); }
};

// The step of the launcher or the supervisor that failed.
enum class LaunchStage : std::uint32_t {
  kRequest = 1,  // Reading the frame and its descriptors.
  kGrant,
  kRules,
  kRunRecord,  // A lease runs at most once.
  kControlGroup,
  kSession,   // PAM.
  kProcess,   // Starting the shim or a rank.
  kIdentity,  // Changing to the user of the job.
};
bool is_stage(LaunchStage stage);

// ---- manager to launcher

struct HelloFrame : FrameOf<1> {};

// Descriptors: the job request and the environment of the manager, each a sealed memfd.
struct StartFrame : FrameOf<2, 2> {
  LeaseKey lease;
  std::int64_t cpu_milli = 0, mem_mib = 0;
  std::int64_t deadline_ms = 0;  // The supervisor kills the lease after it; 0: no deadline.
  std::uint32_t max_processes = 0, ranks = 0;
  std::uint32_t device_count = 0;
  std::array<LeaseDevice, kMaxDevices> devices{};  // Only the first device_count are not 0.
  GrantBytes grant{};
  bool is_valid() const;
  constexpr void fields(auto f) {
    f(lease, cpu_milli, mem_mib, deadline_ms, max_processes, ranks, device_count, devices, grant);
  }
};

// Asks whether a lease has left anything on this node.
struct SweepFrame : FrameOf<3> {
  LeaseKey lease;
  bool is_valid() const { return lease.is_valid(); }
  constexpr void fields(auto f) { f(lease); }
};

// ---- launcher to manager

struct WelcomeFrame : FrameOf<17> {
  std::uint32_t manager_uid = 0, features = 0;  // No features are defined.
  bool is_valid() const { return features == 0; }
  constexpr void fields(auto f) { f(manager_uid, features); }
};
struct StartedFrame : FrameOf<18, 1> {};  // Descriptor: a pidfd of the shim.
struct RefusedFrame : FrameOf<19> {
  ErrorCode code = ErrorCode::kInvalid;
  std::int32_t error_number = 0;  // errno; 0: none.
  LaunchStage stage = LaunchStage::kRequest;
  bool is_valid() const;
  constexpr void fields(auto f) { f(code, error_number, stage); }
};
struct CleanFrame : FrameOf<20> {};
struct BusyFrame : FrameOf<21> {};

// ---- shim to supervisor

struct GoFrame : FrameOf<33, 1> {  // Starts a rank. Descriptor: its output.
  std::uint32_t rank = 0, local_rank = 0;
  bool is_valid() const { return local_rank < kMaxRanks; }
  constexpr void fields(auto f) { f(rank, local_rank); }
};
struct SignalFrame : FrameOf<34> {  // To all ranks of the lease.
  std::int32_t signal = 0;
  bool is_valid() const;
  constexpr void fields(auto f) { f(signal); }
};
struct ResizeFrame : FrameOf<35> {
  std::int64_t cpu_milli = 0, mem_mib = 0;
  bool is_valid() const;
  constexpr void fields(auto f) { f(cpu_milli, mem_mib); }
};
struct KillFrame : FrameOf<36> {};

// ---- supervisor to shim

struct RanFrame : FrameOf<49> {
  std::uint32_t rank = 0;
  std::int32_t pid = 0;  // For display only; no order contains a pid.
  bool is_valid() const { return pid > 0; }
  constexpr void fields(auto f) { f(rank, pid); }
};
struct FailedFrame : FrameOf<50> {
  std::uint32_t rank = 0;
  LaunchStage stage = LaunchStage::kProcess;
  std::int32_t error_number = 0;
  bool is_valid() const { return is_stage(stage) && error_number >= 0; }
  constexpr void fields(auto f) { f(rank, stage, error_number); }
};
struct EndedFrame : FrameOf<51> {
  std::uint32_t rank = 0;
  std::int32_t status = 0;  // As waitpid() returns it.
  std::int64_t user_us = 0, system_us = 0, max_rss_kib = 0;
  bool is_valid() const { return user_us >= 0 && system_us >= 0 && max_rss_kib >= 0; }
  constexpr void fields(auto f) { f(rank, status, user_us, system_us, max_rss_kib); }
};
struct OomFrame : FrameOf<52> {};
struct OverFrame : FrameOf<53> {};  // All processes have ended and the control group is removed.

using LauncherRequest = std::variant<HelloFrame, StartFrame, SweepFrame>;
using LauncherAnswer =
    std::variant<WelcomeFrame, StartedFrame, RefusedFrame, CleanFrame, BusyFrame>;
using SupervisorOrder = std::variant<GoFrame, SignalFrame, ResizeFrame, KillFrame>;
using SupervisorReport = std::variant<RanFrame, FailedFrame, EndedFrame, OomFrame, OverFrame>;

}  // namespace muster
