#include "engine/fit/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace muster {
namespace {

Duration session_ms(std::int64_t count) { return Duration::micros(count * 1000); }

// A job with a given CPU time per step and maximum speed, which prefetches some steps and starts up
// before its first report.
class Job {
 public:
  Job(double cpu_seconds, double most) : cpu_seconds_(cpu_seconds), most_(most) {}

  // Its steps after another 20 ms under this limit.
  double run(double cpus) {
    const double loaded = std::min(cpus / cpu_seconds_ * 0.02, ahead_ + most_ * 0.02 - stock_);
    stock_ += loaded;
    const double trained = std::min(stock_, most_ * 0.02);
    stock_ -= trained;
    step_ += trained;
    return std::floor(step_);
  }

 private:
  double cpu_seconds_, most_;
  double ahead_ = 50;
  double stock_ = 0;
  double step_ = 0;
};

Duration drive(Session& session, Job& job, int start_up_ms = 3'000) {
  session.begin(session_ms(0));
  int at = 0;
  for (; at < 1'000'000 && !session.over(); at += 20) {
    if (at >= start_up_ms) {
      const double step = job.run(static_cast<double>(session.cpu_milli()) / 1000);
      if (at % 100 == 0) session.take({session_ms(at), step});
    }
    session.look(session_ms(at));
  }
  return session_ms(at);
}

TEST(Session, FindsWhatAJobNeedsInLessThanAMinute) {
  SessionOptions options;
  options.full = 2000;
  Session session(options);
  Job job(0.008, 100);
  const Duration took = drive(session, job);
  ASSERT_TRUE(session.over());
  EXPECT_FALSE(session.trouble()) << *session.trouble();
  EXPECT_LT(took, Duration::seconds(60));
  EXPECT_NEAR(static_cast<double>(session.curve().need()), 800, 60);
  EXPECT_NEAR(session.curve().at(400), 50, 2.5);
  EXPECT_NEAR(session.curve().at(1500), 100, 2);
}

TEST(Session, AJobThatSaysNothingIsTrouble) {
  SessionOptions options;
  options.full = 2000;
  options.patience = Duration::seconds(10);
  Session session(options);
  session.begin(session_ms(0));
  EXPECT_FALSE(session.look(session_ms(9'000)));
  EXPECT_TRUE(session.look(session_ms(10'000)));
  EXPECT_TRUE(session.over());
  EXPECT_EQ(session.trouble(), "the job has reported no progress for 10 s");
  EXPECT_FALSE(session.look(session_ms(11'000)));
}

TEST(Session, ARestartedJobBeginsItsPointAgain) {
  SessionOptions options;
  options.full = 2000;
  Session session(options);
  session.begin(session_ms(0));
  for (int at = 0; at < 2'000; at += 100) session.take({session_ms(at), at * 1.0});
  session.begin(session_ms(60'000));
  EXPECT_FALSE(session.look(session_ms(60'000)));
  for (int at = 61'000; !session.look(session_ms(at)); at += 100) {
    session.take({session_ms(at), (at - 61'000) * 0.05});
    ASSERT_LT(at, 90'000);
  }
  EXPECT_NEAR(session.curve().at(2000), 50, 0.5);
}

TEST(Session, ItsBudgetEndsIt) {
  SessionOptions options;
  options.full = 24'000;
  options.budget = Duration::seconds(8);
  Session session(options);
  Job job(0.05, 400);
  drive(session, job);
  EXPECT_FALSE(session.trouble());
  EXPECT_GE(session.curve().points().size(), 2U);
  EXPECT_LT(session.measured(), Duration::seconds(25));
}

}  // namespace
}  // namespace muster
