// Shims whose daemon is on another machine. They get orders through a file and end without contact.

#include "exec/lease/remote_order.h"
#include "exec/machine/lease_fixture.h"

namespace muster {
namespace {

class Remote : public LeaseTest {
 protected:
  LaunchSpec remote(const std::string& script) {
    LaunchSpec spec = shell(script);
    spec.remote = true;
    return spec;
  }
  std::string directory(const LaunchSpec& spec) const { return leases_ + "/" + lease_name(spec); }
  void order(const LaunchSpec& spec, const RemoteOrder& order) {
    const auto open = open_directory(directory(spec));
    ASSERT_TRUE(open.ok());
    ASSERT_FALSE(write_whole(open.value(), "wish.json", remote_order_json(order)));
  }
};

TEST_F(Remote, WishesComeBackAsTheyWereWritten) {
  RemoteOrder order;
  order.serial = 7;
  order.limits = Limits{.cpu_milli = 500, .mem_mib = 64};
  order.stop_ms = 0;
  order.kill = true;
  const RemoteOrder again = read_remote_order(remote_order_json(order)).value();
  EXPECT_EQ(again.serial, 7);
  EXPECT_EQ(again.limits->cpu_milli, 500);
  EXPECT_EQ(again.limits->mem_mib, 64);
  EXPECT_EQ(again.stop_ms, 0);
  EXPECT_TRUE(again.kill);
  EXPECT_FALSE(read_remote_order(remote_order_json(RemoteOrder{})).value().ends());
  EXPECT_FALSE(read_remote_order(R"({"serial":1,"kill":0,"cpu_milli":500})").ok());
  EXPECT_FALSE(read_remote_order(R"({"serial":1,"kill":0,"start":1})").ok());
  EXPECT_FALSE(read_remote_order("").ok());
}

TEST_F(Remote, StopsAndIsResizedByFile) {
  const LaunchSpec spec =
      remote("trap 'echo saved; exit 0' TERM; echo $$ >p; while :; do sleep 0.02; done");
  start(spec);
  pid_in(scratch_ + "/p");
  RemoteOrder resize;
  resize.serial = 1;
  resize.limits = Limits{.cpu_milli = 250, .mem_mib = 512};
  order(spec, resize);
  EXPECT_TRUE(eventually([&] {
    const auto status = executor_->status(lease_name(spec));
    return status.ok() && status.value().limits.cpu_milli == 250;
  }));
  resize.serial = 2;
  resize.stop_ms = kPatience;
  order(spec, resize);
  const ExitReport report = ended();
  EXPECT_EQ(report.cause, EndCause::kStopped);
  EXPECT_FALSE(report.forced);
  EXPECT_TRUE(log_of(spec).ends_with("saved\n"));
}

TEST_F(Remote, RetiredEndsAtOnceAndNeverBegins) {
  const LaunchSpec deaf = remote("trap '' TERM; echo $$ >p; while :; do sleep 0.02; done");
  start(deaf);
  pid_in(scratch_ + "/p");
  RemoteOrder retire;
  retire.serial = 1;
  retire.kill = true;
  order(deaf, retire);
  EXPECT_EQ(ended().cause, EndCause::kKilled);

  const LaunchSpec late = remote("touch began");
  ASSERT_TRUE(make_record(leases_, late).ok());
  order(late, retire);
  start(late);
  EXPECT_EQ(ended().cause, EndCause::kCouldNotStart);
  EXPECT_FALSE(std::filesystem::exists(scratch_ + "/began"));
}

TEST_F(Remote, EndsByItselfWhenItHearsNothing) {
  LaunchSpec cut = remote("trap '' TERM; echo $$ >p; while :; do sleep 0.02; done");
  cut.stop_after_ms = 1'000;
  start(cut);
  const pid_t job = pid_in(scratch_ + "/p");
  ::usleep(1'500'000);  // It keeps running while its record exists.
  EXPECT_EQ(::kill(job, 0), 0);
  const std::int64_t before = boot_micros();
  std::filesystem::rename(directory(cut), scratch_ + "/elsewhere");
  EXPECT_TRUE(eventually([&] { return ::kill(job, 0) != 0; }));
  EXPECT_GE(boot_micros() - before, 700'000);
  std::filesystem::rename(scratch_ + "/elsewhere", directory(cut));
  const ExitReport report = ended();
  EXPECT_EQ(report.cause, EndCause::kKilled);
  EXPECT_EQ(report.words, "the lease record was unreadable for 1 s");
}

}  // namespace
}  // namespace muster
