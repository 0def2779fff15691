// CPU, memory, logs and the control socket of running leases.

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cmath>

#include "exec/machine/lease_fixture.h"
#include "exec/machine/local_executor.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MUSTER_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MUSTER_SANITIZED 1
#endif
#endif

namespace muster {
namespace {

// A process that uses all available CPU, for comparison with a job without limits.
class Spinner {
 public:
  Spinner() : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (boot_micros() >= 0) continue;
  }
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;
  ~Spinner() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  double cpu_s() const {
    clockid_t clock = 0;
    timespec used{};
    EXPECT_EQ(::clock_getcpuclockid(pid_, &clock), 0);
    EXPECT_EQ(::clock_gettime(clock, &used), 0);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
  }

 private:
  pid_t pid_;
};

// CPUs used by the lease, its loops per second, and CPUs used by the control process.
struct SpinRate {
  double cpus = 0;
  double loops = 0;
  double control = 0;
};

// Measures with one CPU, with a tenth (visible even on a busy machine), and with one CPU again.
struct Rates {
  SpinRate whole, tenth, again;
  bool follow() const {
    return whole.cpus > 0.2 && tenth.cpus < 0.2 && tenth.cpus > 0.03 &&
           tenth.loops < 0.75 * whole.loops && again.cpus > 1.3 * tenth.cpus;
  }
  // Whether a process without limits could get a CPU.
  bool free() const { return std::min({whole.control, tenth.control, again.control}) > 0.6; }
  friend std::ostream& operator<<(std::ostream& out, const Rates& rates) {
    for (const SpinRate& rate : {rates.whole, rates.tenth, rates.again}) {
      out << rate.cpus << " CPUs, " << rate.loops << " loops/s, control " << rate.control << "; ";
    }
    return out;
  }
};

class LimitsHold : public LeaseTest {
 protected:
  SpinRate rate_of(const LaunchSpec& spec, const Spinner& control, int ms) {
    const auto look = [&] {
      const auto status = executor_->status(lease_name(spec));
      EXPECT_TRUE(status.ok());
      std::error_code none;
      const auto size = std::filesystem::file_size(dir(spec) + "/progress.jsonl", none);
      return SpinRate{status.ok() ? status.value().cpu_s : 0, static_cast<double>(size),
                      control.cpu_s()};
    };
    const std::int64_t since = boot_micros();
    const SpinRate before = look();
    ::usleep(static_cast<useconds_t>(ms * 1000));
    const SpinRate after = look();
    const double seconds = static_cast<double>(boot_micros() - since) * 1e-6;
    return {(after.cpus - before.cpus) / seconds, (after.loops - before.loops) / seconds,
            (after.control - before.control) / seconds};
  }

  LaunchSpec busy() {
    return shell(
        "while :; do i=0; while [ $i -lt 300 ]; do i=$((i+1)); done; echo >>$MUSTER_PROGRESS; "
        "done");
  }

  Rates rates_of(const LaunchSpec& spec) {
    const Spinner control;
    const auto settled_rate = [&](int ms) {
      rate_of(spec, control, 150);
      return rate_of(spec, control, ms);
    };
    Rates rates;
    rates.whole = settled_rate(600);
    const auto refusal = executor_->resize(lease_name(spec), {.cpu_milli = 100, .mem_mib = 512});
    EXPECT_FALSE(refusal) << refusal->message;
    rates.tenth = settled_rate(700);
    EXPECT_FALSE(executor_->resize(lease_name(spec), {.cpu_milli = 1000, .mem_mib = 512}));
    rates.again = settled_rate(400);
    return rates;
  }

  // The machine may be busy: try again, or skip the test.
  void resize_follows(const LaunchSpec& spec) {
    start(spec);
    started();
    Rates rates;
    bool free = false;
    for (int i = 0; i < 6 && !rates.follow(); ++i) {
      rates = rates_of(spec);
      free = free || rates.free();
    }
    EXPECT_FALSE(executor_->kill(lease_name(spec)));
    EXPECT_EQ(ended().cause, EndCause::kKilled);
    if (!rates.follow() && !free) GTEST_SKIP() << "the CPUs are busy: " << rates;
    EXPECT_TRUE(rates.follow()) << rates;
  }

  // Sends the unchanged text to the control socket of the lease and returns the response line.
  std::string raw(const LaunchSpec& spec, const std::string& text) {
    const auto directory = open_directory(dir(spec));
    const Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    control_path(directory.value()).copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
    std::string got;
    char piece[4096];
    pollfd ready{fd.get(), POLLIN, 0};
    while (!got.ends_with("\n") && ::poll(&ready, 1, kPatience) == 1) {
      const ssize_t n = ::recv(fd.get(), piece, sizeof piece, 0);
      if (n <= 0) break;
      got.append(piece, static_cast<std::size_t>(n));
    }
    return got;
  }
};

TEST_F(LimitsHold, AResizeIsFollowedInAGroup) {
  LaunchSpec spec = busy();
  if (!with_group(spec)) GTEST_SKIP() << "no control groups here";
  resize_follows(spec);
}

TEST_F(LimitsHold, AResizeIsFollowedWithoutAGroup) { resize_follows(busy()); }

TEST_F(LimitsHold, TheStartSaysWhichIsolation) {
  LaunchSpec spec = shell("true");
  start(spec);
  StartedFacts facts = started();
  EXPECT_EQ(facts.isolation, "reduced");
  EXPECT_EQ(facts.isolation_why,
            "no cgroup parent is configured; not enforced: process limit; GPU device filter");
  EXPECT_TRUE(open_process(facts.pid, facts.process_start + 1).ok() == false);
  ended();
  LaunchSpec grouped = shell("cat /proc/self/cgroup");
  if (!with_group(grouped)) GTEST_SKIP() << "no control groups here";
  start(grouped);
  facts = started();
  EXPECT_TRUE(facts.isolation.starts_with("cgroup-v")) << facts.isolation;
  ended();
  EXPECT_NE(log_of(grouped).find(grouped.token), std::string::npos);
  EXPECT_TRUE(ControlGroup::find(group_parent_, grouped.token).empty());
}

TEST_F(LimitsHold, TooMuchMemoryIsTold) {
  for (const bool grouped : {false, true}) {
    LaunchSpec spec = this->spec({"tail", "/dev/zero"});  // Buffers a line that never ends.
    spec.mem_mib = 64;
    if (grouped && !with_group(spec)) continue;
    const ExitReport report = run(spec);
    EXPECT_EQ(report.cause, EndCause::kOutOfMemory) << report.words;
    EXPECT_EQ(report.ranks, (std::vector<RankEnd>{{0, 0, SIGKILL}}));
    EXPECT_GE(report.mem_peak_mib, 50);
  }
}

TEST_F(LimitsHold, MemoryInUseIsNotTakenAway) {
  for (const bool grouped : {false, true}) {
    LaunchSpec spec = this->spec({"python3", "-c",
                                  "import time; b = bytearray(b'x') * (100 << 20); "
                                  "open('p', 'w').write('1\\n'); time.sleep(100)"});
    spec.mem_mib = 256;
    if (grouped && !with_group(spec)) continue;
    std::filesystem::remove(scratch_ + "/p");
    start(spec);
    pid_in(scratch_ + "/p");
    EXPECT_TRUE(executor_->resize(lease_name(spec), {.cpu_milli = 500, .mem_mib = 32}));
    auto status = executor_->status(lease_name(spec));
    ASSERT_TRUE(status.ok());
    EXPECT_EQ(status.value().limits.mem_mib, 256);
    EXPECT_EQ(status.value().limits.cpu_milli, 1000);
    EXPECT_GE(status.value().mem_bytes, 100 << 20);
    EXPECT_FALSE(executor_->resize(lease_name(spec), {.cpu_milli = 500, .mem_mib = 200}));
    EXPECT_EQ(executor_->status(lease_name(spec)).value().limits.mem_mib, 200);
    EXPECT_FALSE(executor_->resize(lease_name(spec), {.cpu_milli = 500, .mem_mib = 400}));
    EXPECT_FALSE(executor_->kill(lease_name(spec)));
    ended();
  }
}

TEST_F(LimitsHold, LogsAreCappedAndTheEndIsKept) {
  LaunchSpec spec = shell("seq 1 300000; echo last >&2");
  spec.log_cap_bytes = 64 << 10;
  spec.log_files = 2;
  EXPECT_EQ(run(spec).cause, EndCause::kFinished);
  std::string all;
  for (const char* name : {"/out.log.2", "/out.log.1", "/out.log"}) {
    const std::string text = text_of(dir(spec) + name);
    EXPECT_LE(text.size(), 64U << 10);
    EXPECT_TRUE(text.ends_with("\n"));
    all += text;
  }
  EXPECT_FALSE(std::filesystem::exists(dir(spec) + "/out.log.3"));
  EXPECT_TRUE(all.ends_with("299999\n300000\nlast\n"));
  std::istringstream lines(all);
  int number = 0;
  int before = 0;
  while (lines >> number) {
    EXPECT_TRUE(before == 0 || number == before + 1);
    before = number;
  }
  EXPECT_EQ(before, 300000);
}

TEST_F(LimitsHold, AFullDiskLosesLogsNotTheJob) {
  ::mkdir(leases_.c_str(), 0700);
  if (::mount("none", leases_.c_str(), "tmpfs", 0, "size=512k") != 0) {
    GTEST_SKIP() << "may not mount a small disk";
  }
  const LaunchSpec spec = shell("seq 1 300000; echo done >done; exit 6");
  const ExitReport report = run(spec);
  EXPECT_EQ(report.cause, EndCause::kFailed);
  EXPECT_EQ(report.ranks, (std::vector<RankEnd>{{0, 6, 0}}));
  EXPECT_GT(report.log_lost_bytes, 1'000'000);
  EXPECT_EQ(report.log_trouble, "No space left on device");
  EXPECT_EQ(text_of(scratch_ + "/done"), "done\n");
  // Without disk space for the record or the report, nothing runs.
  const LaunchSpec next = shell("echo ran >ran");
  if (!executor_->start(next)) {
    const ExitReport refused = ended();
    EXPECT_EQ(refused.cause, EndCause::kCouldNotStart);
    EXPECT_NE(refused.words.find("No space left on device"), std::string::npos) << refused.words;
  }
  EXPECT_FALSE(std::filesystem::exists(scratch_ + "/ran"));
  executor_.reset();
  EXPECT_EQ(::umount2(leases_.c_str(), MNT_DETACH), 0);
}

TEST_F(LimitsHold, GarbageOnTheSocketIsRefusedInOneLine) {
  const LaunchSpec spec = shell("sleep 100");
  start(spec);
  started();
  const auto refused = [](const std::string& why) {
    return R"({"ok":false,"error":")" + why + "\"}\n";
  };
  EXPECT_EQ(raw(spec, "\x01\xff garbage\n"), refused("not JSON"));
  EXPECT_EQ(raw(spec, "[1]\n"), refused("not a JSON object"));
  EXPECT_EQ(raw(spec, "{\"do\":\"dance\"}\n"),
            refused("do: not one of: resize, stop, kill, status"));
  EXPECT_EQ(raw(spec, "{\"do\":\"stop\",\"grace_m\":1}\n"),
            refused("unknown key 'grace_m'; did you mean 'grace_ms'?"));
  EXPECT_EQ(raw(spec, "{\"do\":\"resize\",\"cpu_milli\":-5,\"mem_mib\":1}\n"),
            refused("cpu_milli: -5 is not between 10 and 1000000000"));
  EXPECT_EQ(raw(spec, std::string(5000, '[')), refused("request longer than 4096 bytes"));
  EXPECT_EQ(raw(spec, std::string(4000, '[') + "\n"), refused("not JSON"));
  // Twenty silent clients and one that sends a request.
  const auto directory = open_directory(dir(spec));
  std::vector<Fd> silent;
  for (int i = 0; i < 20; ++i) {
    silent.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    control_path(directory.value()).copy(address.sun_path, sizeof address.sun_path - 1);
    ::connect(silent.back().get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  EXPECT_TRUE(eventually([&] { return executor_->status(lease_name(spec)).ok(); }));
  EXPECT_FALSE(executor_->kill(lease_name(spec)));
  EXPECT_EQ(ended().cause, EndCause::kKilled);
}

TEST_F(LimitsHold, TheShimIsSmallAndQuick) {
#ifdef MUSTER_SANITIZED
  GTEST_SKIP() << "sanitizers are neither";
#endif
  const LaunchSpec spec = shell("sleep 100");
  start(spec);
  const StartedFacts facts = started();
  const std::string status = text_of("/proc/" + std::to_string(facts.pid) + "/status");
  const std::size_t at = status.find("VmHWM:");
  ASSERT_NE(at, std::string::npos);
  EXPECT_LT(std::atoi(status.c_str() + at + 6), 5 * 1024);
  EXPECT_FALSE(executor_->kill(lease_name(spec)));
  ended();
}

}  // namespace
}  // namespace muster
