#include "exec/shim/shim.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <functional>
#include <utility>

#include "base/os/testing.h"
#include "exec/lease/lease_directory.h"

namespace muster {
namespace {

using Kind = ProcessEvent::Kind;

// Ranks without processes. Every order is recorded, and `react` can answer it with events, which
// the shim gets later, as from another process.
class FakeProcesses final : public JobProcesses {
 public:
  using React = std::function<void(FakeProcesses&, const std::string& order)>;
  FakeProcesses(std::vector<std::string>& orders, React react)
      : orders_(orders),
        react_(std::move(react)),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void tell(Kind kind, int rank = 0, int code = 0, int signal = 0) {
    ProcessEvent event;
    event.kind = kind;
    event.end = {.rank = rank, .code = code, .signal = signal};
    tell(std::move(event));
  }
  void tell(ProcessEvent event) {
    coming_.push_back(std::move(event));
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(wake_.get(), &one, sizeof one), ssize_t{sizeof one});
  }

  std::string isolation() const override { return "cgroup-v2"; }
  std::string isolation_why() const override { return ""; }
  void start(std::span<const int> outputs) override {
    output_ = Fd(::dup(outputs.front()));
    order("start " + std::to_string(outputs.size()));
  }
  void signal(int number) override { order("signal " + std::to_string(number)); }
  void kill() override { order("kill"); }
  MaybeError resize(Limits) override { return std::nullopt; }
  std::vector<ProcessEvent> take(std::int64_t) override {
    std::uint64_t count = 0;
    if (::read(wake_.get(), &count, sizeof count) != ssize_t{sizeof count}) return {};
    return std::exchange(coming_, {});
  }
  int fd() const override { return wake_.get(); }
  std::int64_t deadline_us() const override { return kNever; }
  ProcessUse use() const override { return {}; }
  void account(ExitReport& report) const override { report.user_s = 1.5; }

  void print(const std::string& text) {
    ASSERT_EQ(::write(output_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    output_.reset();
  }

 private:
  void order(const std::string& words) {
    orders_.push_back(words);
    react_(*this, words);
  }

  std::vector<std::string>& orders_;
  React react_;
  Fd wake_;
  Fd output_;
  std::vector<ProcessEvent> coming_;
};

class ShimTest : public ::testing::Test {
 protected:
  void SetUp() override { ::sigprocmask(SIG_SETMASK, nullptr, &mask_); }
  void TearDown() override { ::sigprocmask(SIG_SETMASK, &mask_, nullptr); }

  // Runs a lease of `ranks` ranks to its end and returns its report.
  ExitReport run(int ranks, FakeProcesses::React react) {
    LaunchSpec spec;
    spec.job = 1;
    spec.epoch = 1;
    spec.token = "0123456789abcdef";
    spec.argv = {"true"};
    spec.ranks_per = RanksPer::kGpu;
    for (int i = 0; i < ranks; ++i) spec.gpus.push_back(i);
    spec.world_size = ranks;
    spec.grace_ms = 50;
    spec.time_limit_ms = time_limit_ms_;
    EXPECT_TRUE(make_record(folder_.path(), spec).ok());
    Result<Shim> shim = Shim::claim(folder_ / "j1.e1");
    EXPECT_TRUE(shim.ok());
    const auto make = [&](const LaunchSpec&, const std::string&) {
      return Result<std::unique_ptr<JobProcesses>>(
          std::make_unique<FakeProcesses>(orders_, std::move(react)));
    };
    EXPECT_FALSE(shim.value().prepare(make));
    EXPECT_FALSE(shim.value().run());
    const Result<ExitReport> report = read_exit(folder_.read("j1.e1/exit.json"));
    EXPECT_TRUE(report.ok());
    return report.ok() ? report.value() : ExitReport{};
  }

  Folder folder_;
  std::int64_t time_limit_ms_ = 0;
  std::vector<std::string> orders_;
  sigset_t mask_{};
};

using Orders = std::vector<std::string>;

TEST_F(ShimTest, ReportsTheEndsOfItsRanksAndTheirOutput) {
  const ExitReport report = run(2, [](FakeProcesses& fake, const std::string& order) {
    if (order == "start 2") {
      fake.print("hello\n");
      for (const int rank : {0, 1}) fake.tell(Kind::kRan, rank);
      for (const int rank : {1, 0}) fake.tell(Kind::kEnded, rank);
    } else if (order == "kill") {
      fake.tell(Kind::kOver);
    }
  });
  EXPECT_EQ(report.cause, EndCause::kFinished);
  EXPECT_EQ(report.ranks, (std::vector<RankEnd>{{0, 0, 0}, {1, 0, 0}}));
  EXPECT_EQ(report.user_s, 1.5);
  EXPECT_EQ(orders_, (Orders{"start 2", "kill"}));  // The ranks may have left processes behind.
  EXPECT_EQ(folder_.read("j1.e1/out.log"), "[rank0]: hello\n");
  EXPECT_EQ(read_started(folder_.read("j1.e1/started.json")).value().isolation, "cgroup-v2");
}

TEST_F(ShimTest, StopsTheOtherRanksWhenOneFails) {
  const ExitReport report = run(2, [](FakeProcesses& fake, const std::string& order) {
    if (order == "start 2") {
      for (const int rank : {0, 1}) fake.tell(Kind::kRan, rank);
      fake.tell(Kind::kEnded, 1, 3);
    } else if (order == "signal 15") {
      fake.tell(Kind::kEnded, 0, 0, SIGTERM);
    } else if (order == "kill") {
      fake.tell(Kind::kOver);
    }
  });
  EXPECT_EQ(report.cause, EndCause::kFailed);
  EXPECT_EQ(report.words, "rank 1 ended with status 3");
  EXPECT_FALSE(report.forced);
  EXPECT_EQ(orders_, (Orders{"start 2", "signal 15", "kill"}));
}

TEST_F(ShimTest, ReportsAStartThatFailsLater) {
  const ExitReport report = run(2, [](FakeProcesses& fake, const std::string& order) {
    if (order == "start 2") {
      fake.tell(Kind::kRan, 0);
      ProcessEvent failed;
      failed.kind = Kind::kFailed;
      failed.end.rank = 1;
      failed.error_number = ENOENT;
      failed.words = "cannot run 'x'";
      fake.tell(std::move(failed));
    } else if (order == "kill") {
      fake.tell(Kind::kEnded, 0, 0, SIGKILL);
      fake.tell(Kind::kOver);
    }
  });
  EXPECT_EQ(report.cause, EndCause::kCouldNotStart);
  EXPECT_EQ(report.error_number, ENOENT);
  EXPECT_EQ(report.words, "cannot run 'x'");
  EXPECT_EQ(orders_, (Orders{"start 2", "kill"}));
}

TEST_F(ShimTest, KillsRanksThatOutliveTheTimeLimitAndTheGracePeriod) {
  time_limit_ms_ = 50;
  const ExitReport report = run(1, [](FakeProcesses& fake, const std::string& order) {
    if (order == "start 1") fake.tell(Kind::kRan);
    if (order != "kill") return;
    fake.tell(Kind::kEnded, 0, 0, SIGKILL);
    fake.tell(Kind::kOver);
  });
  EXPECT_EQ(report.cause, EndCause::kTimeLimit);
  EXPECT_TRUE(report.forced);
  EXPECT_EQ(orders_, (Orders{"start 1", "signal 15", "kill"}));
}

TEST_F(ShimTest, TellsAKillForMemoryFromAFailure) {
  const ExitReport report = run(1, [](FakeProcesses& fake, const std::string& order) {
    if (order == "start 1") {
      fake.tell(Kind::kRan);
      fake.tell(Kind::kOutOfMemory);
      fake.tell(Kind::kEnded, 0, 0, SIGKILL);
    } else if (order == "kill") {
      fake.tell(Kind::kOver);
    }
  });
  EXPECT_EQ(report.cause, EndCause::kOutOfMemory);
  EXPECT_EQ(report.words,
            "exceeded its memory limit of 1024 MiB; rank 0 was killed by signal 9 (SIGKILL)");
}

TEST_F(ShimTest, KillsAJobThatUsesTooMuchMemory) {
  const ExitReport report = run(1, [](FakeProcesses& fake, const std::string& order) {
    if (order == "start 1") {
      fake.tell(Kind::kRan);
      ProcessEvent event;
      event.kind = Kind::kOutOfMemory;
      event.used_bytes = std::int64_t{2048} << 20;
      fake.tell(std::move(event));
    } else if (order == "kill") {
      fake.tell(Kind::kEnded, 0, 0, SIGKILL);
      fake.tell(Kind::kOver);
    }
  });
  EXPECT_EQ(report.cause, EndCause::kOutOfMemory);
  EXPECT_EQ(report.words, "used 2048 MiB; its memory limit is 1024 MiB");
  EXPECT_EQ(orders_, (Orders{"start 1", "kill"}));
}

}  // namespace
}  // namespace muster
