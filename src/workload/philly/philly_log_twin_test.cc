// A simple reference implementation of the log reader must return the same History.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/types/random.h"
#include "tests/campaign.h"
#include "tests/philly_files.h"
#include "workload/philly/philly_log.h"

namespace muster {
namespace {

using Json = nlohmann::json;

// Returns seconds since 1970, UTC. Correct only for the summer of 2017 to the summer of 2018.
std::optional<std::int64_t> naive_time(const Json& value, std::optional<std::int64_t> earliest) {
  if (value.is_null()) return std::nullopt;
  const std::string text = value.get<std::string>();
  if (text.empty() || text == "None") return std::nullopt;
  std::tm fields = {};
  EXPECT_NE(strptime(text.c_str(), "%Y-%m-%d %H:%M:%S", &fields), nullptr);
  const std::int64_t wall = timegm(&fields);
  const std::int64_t fall_back = 1509847200;                       // 2017-11-05 02:00:00.
  const std::int64_t spring_forward = fall_back + 18 * 7 * 86400;  // 2018-03-11 02:00:00.
  const bool winter = wall >= fall_back && wall < spring_forward;
  const std::int64_t time = wall + (winter ? 8 : 7) * 3600;
  const bool twice = wall >= fall_back - 3600 && wall < fall_back;
  if (twice && earliest && time < *earliest && time + 3600 >= *earliest) return time + 3600;
  return time;
}

struct NaiveAttempt {
  std::optional<std::int64_t> start, end;
  std::map<std::string, std::set<int>> gpus;
  friend bool operator==(const NaiveAttempt&, const NaiveAttempt&) = default;
};

struct NaiveJob {
  std::string id, status, tenant, user;
  std::int64_t submit = 0;
  std::int64_t run = 0;
  int gpus = 0;
  int failures = 0;
  std::vector<NaiveAttempt> attempts;
  friend bool operator==(const NaiveJob&, const NaiveJob&) = default;
};

NaiveAttempt naive_attempt(const Json& from, std::optional<std::int64_t>& earliest) {
  NaiveAttempt attempt;
  attempt.start = naive_time(from.at("start_time"), earliest);
  if (attempt.start) earliest = attempt.start;
  attempt.end = naive_time(from.at("end_time"), earliest);
  if (attempt.start && attempt.end && *attempt.end < *attempt.start) attempt.end.reset();
  if (attempt.end) earliest = attempt.end;
  for (const Json& share : from.at("detail")) {
    for (const Json& gpu : share.at("gpus")) {
      attempt.gpus[share.at("ip")].insert(std::stoi(gpu.get<std::string>().substr(3)));
    }
  }
  return attempt;
}

NaiveJob naive_job(const Json& from) {
  NaiveJob job;
  job.id = from.at("jobid");
  job.status = from.at("status");
  job.tenant = from.at("vc");
  job.user = from.at("user");
  job.submit = naive_time(from.at("submitted_time"), std::nullopt).value();
  std::optional<std::int64_t> earliest = job.submit;
  for (const Json& attempt : from.at("attempts")) {
    job.attempts.push_back(naive_attempt(attempt, earliest));
    const NaiveAttempt& made = job.attempts.back();
    if (made.start && made.end) job.run += *made.end - *made.start;
  }
  if (!job.attempts.empty()) {
    for (const auto& [node, gpus] : job.attempts[0].gpus) job.gpus += static_cast<int>(gpus.size());
    job.failures = static_cast<int>(job.attempts.size()) - (job.status == "Failed" ? 0 : 1);
  }
  const auto when = [](const NaiveAttempt& a) { return a.start ? a.start : a.end; };
  std::stable_sort(job.attempts.begin(), job.attempts.end(), [&](const auto& a, const auto& b) {
    return when(a) && (!when(b) || *when(a) < *when(b));
  });
  return job;
}

std::vector<NaiveJob> naive_log(const std::string& text) {
  std::vector<NaiveJob> jobs;
  for (const Json& job : Json::parse(text)) jobs.push_back(naive_job(job));
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const NaiveJob& a, const NaiveJob& b) { return a.submit < b.submit; });
  return jobs;
}

// Converts the History to the form of the reference implementation.
std::vector<NaiveJob> told(const History& history) {
  const auto seconds = [](Instant time) {
    return time == Instant::never() ? std::nullopt : std::optional(time.us() / 1'000'000);
  };
  const std::map<Status, std::string> names = {{Status::kPassed, "Pass"},
                                               {Status::kKilled, "Killed"},
                                               {Status::kFailed, "Failed"},
                                               {Status::kUnknown, "Running"}};
  std::vector<NaiveJob> jobs;
  for (const PastJob& from : history.jobs) {
    NaiveJob job{history.ids[from.id],
                 names.at(from.status),
                 history.tenants[from.tenant],
                 history.users[from.user],
                 seconds(from.submit).value(),
                 from.run.us() / 1'000'000,
                 from.gpus,
                 from.failures,
                 {}};
    for (const Attempt& attempt : history.attempts_of(from)) {
      NaiveAttempt made{seconds(attempt.start), seconds(attempt.end), {}};
      for (const HostShare& share : history.hosts_of(attempt)) {
        std::set<int>& gpus = made.gpus[history.nodes[share.node].name];
        for (int i = 0; i < 64; ++i) {
          if ((share.gpus >> i & 1) != 0) gpus.insert(i);
        }
      }
      job.attempts.push_back(std::move(made));
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

class PhillyLogReference : public testing::TestWithParam<JsonLayout> {};

TEST_P(PhillyLogReference, ReadsTheSame) {
  for (const std::uint64_t seed : {1u, 2u}) {
    PhillyJobs options;
    options.jobs = 5000;
    options.seed = seed;
    options.layout = GetParam();
    const std::string text = written(write_philly_log, options);
    const Result<History> history = parse_philly_log(text, "log");
    ASSERT_TRUE(history.ok()) << history.error().message;
    const std::vector<NaiveJob> wanted = naive_log(text);
    const std::vector<NaiveJob> got = told(history.value());
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i], wanted[i]) << "seed " << seed << ", job " << wanted[i].id;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, PhillyLogReference,
                         testing::Values(JsonLayout::kIndented, JsonLayout::kCompact));

std::string small_log() {
  PhillyJobs options;
  options.jobs = 6;
  options.seed = 4;
  options.layout = JsonLayout::kCompact;
  return written(write_philly_log, options);
}

TEST(PhillyLogReference, SaysTheByteOfEveryTruncation) {
  const std::string text = small_log();
  const std::size_t whole = text.find_last_of(']') + 1;
  for (std::size_t length = 0; length < whole; ++length) {
    const Result<History> history = parse_philly_log(text.substr(0, length), "log");
    ASSERT_FALSE(history.ok()) << length;
    const std::string start = "log: byte " + std::to_string(length) + ": ";
    EXPECT_TRUE(history.error().message.starts_with(start)) << history.error().message;
  }
  EXPECT_TRUE(parse_philly_log(text, "log").ok());
}

// After a change of any byte, the log is either rejected with a position, or read exactly as by the
// JSON library of the reference implementation.
TEST(PhillyLogReference, AgreesOnWhatIsJson) {
  const std::string text = small_log();
  Random random(7);
  int refused = 0;
  for (std::uint64_t round = 0; round < campaign_size(4000, 4000); ++round) {
    std::string broken = text;
    const std::size_t at = random.below(broken.size());
    constexpr std::string_view kBytes = "{}[]\",:\\ \n09.-eutfn\x01\xff";
    broken[at] = kBytes[random.below(kBytes.size())];
    const Result<History> history = parse_philly_log(broken, "log");
    if (history.ok()) {
      EXPECT_TRUE(Json::accept(broken)) << broken.substr(at < 20 ? 0 : at - 20, 40);
    } else {
      ++refused;
      EXPECT_EQ(history.error().message.find('\n'), std::string::npos);
      EXPECT_TRUE(history.error().message.starts_with("log: ")) << history.error().message;
    }
  }
  EXPECT_GT(refused, campaign_floor(1000));
}

}  // namespace
}  // namespace muster
