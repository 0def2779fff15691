#include "workload/history/outcomes.h"

#include <gtest/gtest.h>

#include <string>

#include "base/types/testing.h"
#include "workload/generate/past_outcomes.h"
#include "workload/generate/philly_like.h"
#include "workload/history/trace_history.h"

namespace muster {
namespace {

Trace two_jobs() {
  Trace trace;
  for (const char* const id : {"a", "b"}) {
    TraceJob job;
    job.id = id;
    job.gpus = 2;
    job.duration = Duration::seconds(60);
    trace.jobs.push_back(job);
  }
  return trace;
}

const std::string kHeader = "job_id,status,attempts,run_s,reasons\n";

std::string error_of(const std::string& rows) {
  History history = from_trace(two_jobs());
  return error_text(parse_outcomes(kHeader + rows, "past.csv", history));
}

// Writing generated outcomes and reading them does not change them.
TEST(Outcomes, ReadsBackWhatIsWritten) {
  PhillyLikeOptions options;
  options.jobs = 2000;
  const Trace trace = generate_philly_like(options).value();
  const std::vector<PastOutcome> past = draw_past(trace, 7);
  History history = from_trace(trace);
  const MaybeError refusal = parse_outcomes(write_past_csv(trace, past), "past.csv", history);
  ASSERT_FALSE(refusal) << refusal->message;
  std::size_t failures = 0;
  for (std::size_t i = 0; i < past.size(); ++i) {
    const PastJob& job = history.jobs[i];
    EXPECT_EQ(static_cast<int>(job.status), static_cast<int>(past[i].status));
    const auto attempts = history.attempts_of(job);
    ASSERT_EQ(attempts.size(), past[i].attempts.size());
    for (std::size_t k = 0; k < attempts.size(); ++k) {
      EXPECT_EQ(attempts[k].run, past[i].attempts[k].run_time);
      EXPECT_EQ(attempts[k].reason, past[i].attempts[k].failed_of);
      EXPECT_EQ(attempts[k].failed, past[i].attempts[k].failed_of.has_value());
      EXPECT_EQ(attempts[k].start, Instant::never());
    }
    failures += static_cast<std::size_t>(job.failures);
  }
  EXPECT_GT(failures, 300u);
  EXPECT_TRUE(history.knows.status && history.knows.reasons && history.knows.attempts);
  EXPECT_FALSE(history.knows.starts || history.knows.hosts);
}

TEST(Outcomes, CountsThoseNotToldOf) {
  History history = from_trace(two_jobs());
  ASSERT_FALSE(parse_outcomes(kHeader + "b,killed,1,60,\n", "past.csv", history));
  EXPECT_EQ(history.jobs[0].status, Status::kUnknown);
  EXPECT_EQ(history.jobs[1].status, Status::kKilled);
  EXPECT_EQ(history.notes.back(), "1 job without a known outcome");
}

TEST(Outcomes, SaysWhatIsWrong) {
  expect_texts(
      error_of,
      {
          {"c,passed,1,60,\n", "past.csv:2: job_id: no such job in the trace: 'c'"},
          {"a,passed,1,60,\na,passed,1,60,\n", "past.csv:3: job_id: given twice: 'a'"},
          {"a,passd,1,60,\n",
           "past.csv:2: status: no such status: 'passd'; did you mean 'passed'?"},
          {"a,passed,0,,\n", "past.csv:2: attempts: not between 1 and 10000: '0'"},
          {"a,passed,2,60,\n", "past.csv:2: run_s: 1 run time for 2 attempts: '60'"},
          {"a,passed,1,x,\n", "past.csv:2: run_s: not a number: 'x'"},
          {"a,failed,1,60,\n", "past.csv:2: reasons: 0 reasons for 1 failed attempt: ''"},
          {"a,passed,1,600,\n", "past.csv:2: run_s: 600 s in total, but the trace has 60 s: '600'"},
          {"a,failed,1,60,syntax-errr\n",
           "past.csv:2: reasons: no such reason: 'syntax-errr'; did you mean 'syntax-error'?"},
          {",passed,1,60,\n", "past.csv:2: job_id: empty: ''"},
      });
  EXPECT_EQ(error_of("a,failed,1,60,hex\n").substr(0, 42),
            "past.csv:2: reasons: no such reason: 'hex'");
}

}  // namespace
}  // namespace muster
