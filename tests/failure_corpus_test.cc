// Measures the classifier on tests/failures/corpus: excerpts of logs, written after messages in
// public threads (github:...) and in the source of frameworks (framework:...), and our own mixtures
// (own:...). The signatures are tuned on the split "dev". All excerpts of one source are in one
// split. The confusion table of the split "test" is in docs/reference/failures.md.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <sstream>

#include "engine/failure/reaction.h"
#include "failure_samples.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

const fs::path kTests = fs::path(__FILE__).parent_path();
constexpr double kMinRight = 0.95;
constexpr double kMaxFlips = 0.02;

const std::vector<FailureSample>& corpus() {
  static const std::vector<FailureSample> kCorpus =
      read_sample_folder(kTests / "failures" / "corpus");
  return kCorpus;
}

struct Score {
  int all = 0;
  int right = 0;
  int flips = 0;  // Retried although it must stop, or stopped although it must be retried.
  std::array<std::array<int, kReasonCount>, kReasonCount> confusion = {};  // [expected][got]
};

bool flips(const FailureSample& sample, const Diagnosis& got) {
  if (sample.react == "*") return false;
  const Reaction expected =
      sample.react.empty() ? reaction_to(sample.reason) : find_reaction(sample.react).value();
  return (expected == Reaction::kStop) != (got.reaction == Reaction::kStop);
}

Score score_of(std::string_view split) {
  Score score;
  for (const FailureSample& sample : corpus()) {
    if (sample.split != split) continue;
    const Diagnosis got = diagnose(sample);
    const bool flipped = flips(sample, got);
    ++score.all;
    score.right += got.reason == sample.reason ? 1 : 0;
    score.flips += flipped ? 1 : 0;
    ++score
          .confusion[static_cast<std::size_t>(sample.reason)][static_cast<std::size_t>(got.reason)];
    if (got.reason == sample.reason && !flipped) continue;
    fmt::print("{} miss: {}: is {}, got {} ({}, {}{}): {}\n", split, sample.id,
               info_of(sample.reason).key, info_of(got.reason).key, got.signature,
               key_of(got.reaction), flipped ? ", flipped" : "", got.evidence);
  }
  fmt::print("{}: {} of {} right ({:.1f}%), {} reactions flipped ({:.1f}%)\n", split, score.right,
             score.all, 100.0 * score.right / score.all, score.flips,
             100.0 * score.flips / score.all);
  return score;
}

// One row per expected reason: the number of excerpts, the right ones, and the wrong results.
std::string table_of(const Score& score) {
  std::string out = "| Reason | Excerpts | Correct | Wrong results |\n|---|---|---|---|\n";
  for (std::size_t row = 0; row < kReasonCount; ++row) {
    int all = 0;
    std::string wrong;
    for (std::size_t column = 0; column < kReasonCount; ++column) {
      const int count = score.confusion[row][column];
      all += count;
      if (count == 0 || column == row) continue;
      wrong +=
          fmt::format("{}{} `{}`", wrong.empty() ? "" : ", ", count, info_of(Reason(column)).key);
    }
    out += fmt::format("| `{}` | {} | {} | {} |\n", info_of(Reason(row)).key, all,
                       score.confusion[row][row], wrong);
  }
  return out + fmt::format("| all | {} | {} | {} reactions are wrong |\n", score.all, score.right,
                           score.flips);
}

TEST(FailureCorpus, IsLargeAndSplitBySource) {
  std::map<Reason, int> reasons_seen;
  std::map<std::string, std::string> split_of;
  std::set<std::string> ids;
  for (const FailureSample& sample : corpus()) {
    ++reasons_seen[sample.reason];
    EXPECT_TRUE(ids.insert(sample.id).second) << sample.id;
    EXPECT_TRUE(sample.split == "dev" || sample.split == "test") << sample.id;
    const auto known = split_of.emplace(sample.source, sample.split).first;
    EXPECT_EQ(known->second, sample.split) << "one source in both splits: " << sample.source;
  }
  EXPECT_GE(ids.size(), 400u);
  EXPECT_EQ(reasons_seen.size(), kReasonCount);
  for (const auto& [reason, count] : reasons_seen) EXPECT_GE(count, 10) << info_of(reason).key;
  std::vector<FailureSample> misleading;
  read_samples(kTests / "failures" / "corpus" / "decoys.txt", misleading);
  EXPECT_GE(misleading.size(), 60u);
}

TEST(FailureCorpus, DevelopmentSplit) {
  const Score score = score_of("dev");
  EXPECT_GE(score.right, kMinRight * score.all);
  EXPECT_LE(score.flips, kMaxFlips * score.all);
}

// Do not tune signatures on single excerpts of this split.
TEST(FailureCorpus, TestSplit) {
  const Score score = score_of("test");
  EXPECT_GE(score.right, kMinRight * score.all);
  EXPECT_LE(score.flips, kMaxFlips * score.all);
  const std::string table = table_of(score);
  std::ifstream file(kTests.parent_path() / "docs" / "reference" / "failures.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_NE(page.str().find(table), std::string::npos)
      << "docs/reference/failures.md: replace the confusion table by\n"
      << table;
}

}  // namespace
}  // namespace muster
