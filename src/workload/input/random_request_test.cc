// Random requests: writing and reading does not change them, and damaged ones are rejected.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "base/text/utf8.h"
#include "base/types/random.h"
#include "base/types/testing.h"
#include "engine/model/job_request.h"
#include "tests/campaign.h"

namespace muster {
namespace {

std::string random_text(Random& random, std::size_t most) {
  // Letters, blanks, quotes, controls, and characters of two, three and four bytes.
  const char* const kPieces[] = {"a",
                                 "Z",
                                 "0",
                                 " ",
                                 "\"",
                                 "\\",
                                 "/",
                                 "'",
                                 "\n",
                                 "\t",
                                 "\x01",
                                 "\x7f",
                                 "\xc3\xa9",
                                 "\xe2\x82\xac",
                                 "\xf0\x9f\x9a\x80"};
  std::string text;
  for (std::size_t n = random.below(most + 1); n > 0; --n) {
    text += kPieces[random.below(std::size(kPieces))];
  }
  return text;
}

std::string random_word(Random& random, std::size_t most) {
  std::string word(1, 'a');
  for (std::size_t n = random.below(most); n > 0; --n) {
    word += "abcXYZ019_"[random.below(10)];
  }
  return word;
}

Duration random_duration(Random& random, Duration most) {
  std::int64_t us = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most.us())));
  if (random.below(4) == 0)
    us = most.us() - us % 1'000'000;  // Large values, where doubles are least precise.
  if (random.below(2) == 0) us -= us % 1'000'000;
  return Duration::micros(us);
}

JobRequest random_request(Random& random) {
  const auto maybe = [&] { return random.below(2) == 0; };
  const auto number = [&](std::int32_t low, std::int32_t high) {
    return low +
           static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(high - low) + 1));
  };
  JobRequest r;
  r.name = random_word(random, 20);
  r.command = {random_word(random, 9)};
  for (std::size_t n = random.below(6); n > 0; --n) r.command.push_back(random_text(random, 30));
  for (std::size_t n = random.below(6); n > 0; --n) {
    r.env[random_word(random, 9)] = random_text(random, 30);
  }
  if (maybe()) r.cwd = "/" + random_text(random, 20);
  if (maybe()) r.tenant = random_word(random, 9);
  if (maybe()) r.gpu_type = random_word(random, 9);
  if (maybe()) r.model = random_word(random, 9);
  r.gpus = number(1, 64);
  if (maybe()) r.cpus = CpuAmount{number(1, 1'000'000'000)};
  if (maybe()) r.mem = MemAmount{number(1, 1 << 30)};
  if (maybe()) r.spread = number(1, 64);
  if (maybe()) {
    r.fewest = number(1, r.gpus);
    r.most = number(r.gpus, kMaxRequestGpus);
  }
  if (maybe()) r.launch_per = LaunchPer::kGpu;
  if (maybe()) r.estimate = random_duration(random, kLongestDuration);
  if (maybe()) r.time_limit = random_duration(random, kLongestDuration);
  if (maybe()) r.prerun = random_duration(random, kLongestDuration);
  if (maybe()) r.grace = random_duration(random, kMaxGrace);
  if (maybe()) r.on_lost.keep_for = kMinKept + random_duration(random, kMaxGrace);
  if (maybe()) r.on_lost.then = maybe() ? OnLost::Then::kFail : OnLost::Then::kRequeue;
  if (maybe() && r.on_lost.kept_for() > kMinKept) {
    r.on_lost.stop_on_agent_after = std::max(kMinKept, r.on_lost.kept_for() - Duration::micros(1));
  }
  if (maybe()) r.priority = number(-kMaxPriority, kMaxPriority);
  if (maybe()) r.retries = number(0, kMaxRequestRetries);
  r.hold = maybe();
  for (std::size_t n = random.below(4); n > 0; --n) r.after_ok.push_back(1 + random.below(99));
  for (std::size_t n = random.below(4); n > 0; --n) {
    r.after_any.push_back(static_cast<std::uint64_t>(INT64_MAX) - random.below(9));
  }
  if (maybe()) {
    r.array = ArrayRange{number(0, 99), 0, number(1, 9), number(0, 9)};
    r.array->last = r.array->first + number(0, 500);
  }
  return r;
}

TEST(JobRequest, IsTheSameAfterWritingAndReading) {
  Random random(1);
  for (std::uint64_t i = 0; i < campaign_size(5'000, 5'000); ++i) {
    const JobRequest request = random_request(random);
    ASSERT_EQ(error_text(check_request(request)), "accepted") << i;
    const std::string json = request_json(request);
    EXPECT_EQ(json.find('\n'), std::string::npos);
    const Result<JobRequest> again = read_request(json);
    ASSERT_TRUE(again.ok()) << again.error().message << "\n" << json;
    ASSERT_EQ(again.value(), request) << json;
  }
}

// After a change of one byte, the text is either rejected with one printable line, or a request
// that can be written and read again.
TEST(JobRequest, ADamagedRequestIsRefusedInOneLine) {
  Random random(2);
  const std::string json = request_json(random_request(random));
  for (std::uint64_t i = 0; i < campaign_size(20'000, 20'000); ++i) {
    std::string damaged = json;
    for (std::size_t n = 1 + random.below(3); n > 0; --n) {
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    }
    const Result<JobRequest> read = read_request(damaged);
    if (read.ok()) {
      EXPECT_EQ(read_request(request_json(read.value())).value(), read.value());
    } else {
      for (const char c : read.error().message) ASSERT_TRUE(c >= 0x20 && c < 0x7f) << damaged;
    }
  }
}

}  // namespace
}  // namespace muster
