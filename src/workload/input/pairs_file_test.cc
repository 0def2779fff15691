#include "workload/input/pairs_file.h"
#include "base/file/csv.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/types/random.h"
#include "tests/campaign.h"
#include "tests/data.h"
#include "workload/input/profiles_testing.h"

namespace muster {
namespace {

const std::string kPairsHead =
    "job_type_1,scale_factor,job_type_2,tput1_alone,tput1_colocated,tput2_colocated\n";
const std::string kSound = kPairsHead +
                           "res50,1,A3C,8,6,1\n"
                           "A3C,1,res50,4,1,6\n"
                           "A3C,1,A3C,4,0,0\n"
                           "A3C,2,A3C,6,3,3\n";

std::string pairs_complaint(std::string_view text) {
  ProfileTable profiles = synergy_like_profiles();
  const std::size_t before = profiles.size();
  const Result<PairsFile> pairs = parse_pairs(text, "p.csv", profiles);
  if (pairs.ok()) return "(accepted)";
  EXPECT_EQ(profiles.size(), before) << "a refused file added a profile";
  return pairs.error().message;
}

TEST(PairsFile, GivesWhatEachKeepsOfItsSpeed) {
  ProfileTable profiles = synergy_like_profiles();
  const Result<PairsFile> read = parse_pairs(kSound, "p.csv", profiles);
  ASSERT_TRUE(read.ok()) << read.error().message;
  const PairTable& pairs = read.value().table;
  const ProfileId res50 = profiles.find("res50");
  const ProfileId a3c = profiles.find("A3C");
  EXPECT_EQ(pairs.find(res50, a3c, 1), (PairSpeed{0.75, 0.25}));
  EXPECT_EQ(pairs.find(a3c, res50, 1), (PairSpeed{0.25, 0.75}));
  EXPECT_EQ(pairs.find(a3c, a3c, 1), (PairSpeed{0, 0}));
  EXPECT_EQ(pairs.find(a3c, a3c, 2), (PairSpeed{0.5, 0.5}));
  EXPECT_FALSE(pairs.find(res50, a3c, 2).has_value());
  EXPECT_FALSE(pairs.fits(a3c, a3c, 1));
  EXPECT_TRUE(pairs.fits(a3c, a3c, 2));
}

TEST(PairsFile, AddsProfilesOfModelsThatHaveNone) {
  ProfileTable profiles = synergy_like_profiles();
  const std::size_t before = profiles.size();
  const Result<PairsFile> read = parse_pairs(kSound, "p.csv", profiles);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(profiles.size(), before + 1);
  EXPECT_EQ(read.value().notes,
            std::vector<std::string>{"p.csv: 1 model is without a profile: A3C"});
  const Profile& added = profiles[profiles.find("A3C")];
  EXPECT_EQ(added.name(), "A3C");
  EXPECT_FALSE(added.sensitivity_known());
  EXPECT_TRUE(added.loss().has_value());
  EXPECT_TRUE(profiles[profiles.find("res50")].sensitivity_known());
  // Reading the same file again, or another file with this model, finds the profile.
  ASSERT_TRUE(parse_pairs(kSound, "p.csv", profiles).ok());
  EXPECT_EQ(profiles.size(), before + 1);
}

TEST(PairsFile, TakesColumnsInAnyOrderAndWhatSpreadsheetsWrite) {
  ProfileTable profiles = synergy_like_profiles();
  const Result<PairsFile> read = parse_pairs(
      "\xef\xbb\xbf# from Gavel\r\n"
      "tput2_colocated,job_type_2,job_type_1,scale_factor,tput1_alone,tput1_colocated\r\n"
      "\r\n 2 ,\"gnmt\", gnmt ,1,4,1\r\n",
      "p.csv", profiles);
  ASSERT_TRUE(read.ok()) << read.error().message;
  const ProfileId gnmt = profiles.find("gnmt");
  EXPECT_EQ(read.value().table.find(gnmt, gnmt, 1), (PairSpeed{0.25, 0.5}));
  EXPECT_TRUE(read.value().notes.empty());
}

TEST(PairsFile, ReadsTheDocumentedExample) {
  std::ifstream file(std::filesystem::path(__FILE__).parent_path() /
                     "../../../docs/reference/formats.md");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t at = text.find("```csv\n" + kPairsHead);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(pairs_complaint(text.substr(at + 7, text.find("```\n", at + 7) - at - 7)),
            "(accepted)");
}

TEST(PairsFile, OneOrderIsEnough) {
  ProfileTable profiles = synergy_like_profiles();
  const Result<PairsFile> read =
      parse_pairs(kPairsHead + "gnmt,1,lstm,8,4,1\nlstm,1,lstm,2,1,1\n", "p.csv", profiles);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().table.find(profiles.find("lstm"), profiles.find("gnmt"), 1),
            (PairSpeed{0.5, 0.5}));
}

TEST(PairsFile, LowersWhatIsFasterThanAloneAndSaysSo) {
  ProfileTable profiles = synergy_like_profiles();
  const Result<PairsFile> read =
      parse_pairs(kPairsHead + "gnmt,1,lstm,8,8.4,1\nlstm,1,gnmt,2,1,8.4\nlstm,1,lstm,2,2.1,2.2\n",
                  "p.csv", profiles);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().table.find(profiles.find("gnmt"), profiles.find("lstm"), 1),
            (PairSpeed{1, 0.5}));
  EXPECT_EQ(read.value().notes,
            std::vector<std::string>{"p.csv: 3 speeds with another job were above the speed alone "
                                     "and were lowered to it"});
}

TEST(PairsFile, TakesTheFirstOfTwoOrdersAndSaysSo) {
  ProfileTable profiles = synergy_like_profiles();
  const Result<PairsFile> read =
      parse_pairs(kPairsHead + "gnmt,1,lstm,8,4,1\nlstm,1,gnmt,2,1,6\n", "p.csv", profiles);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().table.find(profiles.find("lstm"), profiles.find("gnmt"), 1),
            (PairSpeed{0.5, 0.5}));
  EXPECT_EQ(read.value().notes,
            std::vector<std::string>{"p.csv: 1 pair measured in both orders with different speeds; "
                                     "the first in the file is used"});
}

TEST(PairsFile, SaysWhatIsWrong) {
  const std::pair<std::string, std::string_view> cases[] = {
      {"", "p.csv:1: no pairs: the file is empty"},
      {"# none\n", "p.csv:1: no pairs: the file is empty"},
      {kPairsHead, "p.csv:1: no pairs: nothing after the header"},
      {"a,1,b,1,1,1\n",
       "p.csv:1: header: unknown column: 'a'; one of: job_type_1, scale_factor, job_type_2, "
       "tput1_alone, tput1_colocated, tput2_colocated"},
      {"job_type_1,scale_facto\n",
       "p.csv:1: header: unknown column: 'scale_facto'; did you mean 'scale_factor'?"},
      {"job_type_1,job_type_1\n", "p.csv:1: header: column named twice: 'job_type_1'"},
      {"job_type_1,scale_factor,job_type_2,tput1_alone,tput1_colocated\n",
       "p.csv:1: tput2_colocated: column missing from the header: "
       "'job_type_1,scale_factor,job_type_2,tput1_alone,tput1_colocat...'"},
      {kPairsHead + "a,1,a,1,1\n", "p.csv:2: columns: 5 where the header has 6: 'a,1,a,1,1'"},
      {kPairsHead + ",1,a,1,1,1\n", "p.csv:2: job_type_1: empty: ''"},
      {kPairsHead + "a,1,,1,1,1\n", "p.csv:2: job_type_2: empty: ''"},
      {kPairsHead + "a,1,b\x01,1,1,1\n",
       "p.csv:2: job_type_2: control character in text: 'b\\x01'"},
      {kPairsHead + "a,0,a,1,1,1\n", "p.csv:2: scale_factor: not between 1 and 6400000: '0'"},
      {kPairsHead + "a,7000000,a,1,1,1\n",
       "p.csv:2: scale_factor: not between 1 and 6400000: '7000000'"},
      {kPairsHead + "a,1.5,a,1,1,1\n", "p.csv:2: scale_factor: not a whole number: '1.5'"},
      {kPairsHead + "a,1,a,0,1,1\n", "p.csv:2: tput1_alone: not between 1e-09 and 1000000000: '0'"},
      {kPairsHead + "a,1,a,nan,1,1\n", "p.csv:2: tput1_alone: not a number: 'nan'"},
      {kPairsHead + "a,1,a,1,-1,1\n",
       "p.csv:2: tput1_colocated: not between 0 and 1000000000: '-1'"},
      {kPairsHead + "a,1,a,1,1,1e10\n",
       "p.csv:2: tput2_colocated: not between 0 and 1000000000: '1e10'"},
      {kPairsHead + "a,1,a,1,1,\n", "p.csv:2: tput2_colocated: not a number: ''"},
      {kPairsHead + "a,1,a,1,1,1\n\na,1,a,1,1,1\n",
       "p.csv:4: job_type_2: pair given twice: 'a'; first on line 2"},
      {kPairsHead + "a,1,a,1,1,1\na,1,b,2,1,1\n", "p.csv:3: tput1_alone: 2, but line 2 has 1"},
      {kPairsHead + "a,1,b,1,1,1\nb,2,b,1,1,1\n",
       "p.csv:2: job_type_2: no row has its speed alone, as job_type_1 with scale_factor 1: 'b'"},
      {kPairsHead + "\"a,1,a,1,1,1\n", "p.csv:2: quote not closed: '\"a,1,a,1,1,1'"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(pairs_complaint(text), message);
}

TEST(PairsFile, HasLimits) {
  EXPECT_TRUE(pairs_complaint(std::string(kLongestLine + 1, ','))
                  .starts_with("p.csv:1: line longer than 65536 bytes: "));
  std::string text = kPairsHead;
  for (std::size_t i = 0; i < kMaxPairModels; ++i) text += fmt::format("m{0},1,m{0},1,1,1\n", i);
  EXPECT_EQ(pairs_complaint(text), "(accepted)");
  EXPECT_EQ(pairs_complaint(text + "x,1,x,1,1,1\n"),
            "p.csv:1002: job_type_1: too many models; the maximum is 1000");
}

TEST(PairsFile, SurvivesDamage) {
  constexpr std::string_view kSpice = ",\"\n\r#0123456789.-e A\t\xc3\xff";
  Random random(9);
  int accepted = 0;
  for (std::uint64_t round = 0; round < campaign_size(20'000, 20'000); ++round) {
    std::string text = kSound;
    for (std::uint64_t i = 0; i <= random.below(3); ++i) {
      const std::size_t from = random.below(4) == 0 ? 0 : kPairsHead.size();  // Mostly in the rows.
      text[from + random.below(text.size() - from)] = kSpice[random.below(kSpice.size())];
    }
    const std::string message = pairs_complaint(text);
    if (message == "(accepted)") {
      ++accepted;
      continue;
    }
    EXPECT_TRUE(message.starts_with("p.csv:")) << message;
    for (const char c : message) ASSERT_TRUE(c >= 0x20 && c < 0x7f) << message;
  }
  EXPECT_GT(accepted, campaign_floor(1000));
}

TEST(PairsFile, NamesAMissingFile) {
  ProfileTable profiles;
  const Result<PairsFile> pairs = read_pairs("/no/such/file.csv", profiles);
  ASSERT_FALSE(pairs.ok());
  EXPECT_TRUE(pairs.error().message.starts_with("/no/such/file.csv: no such file"));
}

TEST(PairsFile, ReadsGavelsMeasurements) {
  const auto path = data_file("gavel_colocated_throughputs_v100.csv");
  if (!path) GTEST_SKIP() << "gavel_colocated_throughputs_v100.csv not found; set MUSTER_DATA";
  ProfileTable profiles = synergy_like_profiles();
  const std::size_t before = profiles.size();
  const Result<PairsFile> read = read_pairs(*path, profiles);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(profiles.size(), before + 26);
  ASSERT_EQ(read.value().notes.size(), 1u);  // No speed above 1, and both orders agree.
  EXPECT_EQ(read.value().notes[0],
            *path +
                ": 26 models are without a profile: ResNet-18 (batch size 16), ResNet-18 (batch "
                "size 64), ResNet-18 (batch size 256), ResNet-18 (batch size 32) and 22 more");
  const PairTable& pairs = read.value().table;
  const ProfileId small = profiles.find("ResNet-18 (batch size 16)");
  const ProfileId large = profiles.find("ResNet-18 (batch size 256)");
  ASSERT_TRUE(pairs.find(large, small, 1).has_value());
  EXPECT_DOUBLE_EQ(pairs.find(large, small, 1)->first, 1);
  EXPECT_DOUBLE_EQ(pairs.find(large, small, 1)->second, 24.4546 / 32.3534);
  int fitting = 0;
  for (std::size_t a = before; a < profiles.size(); ++a) {
    for (std::size_t b = before; b < profiles.size(); ++b) {
      ASSERT_TRUE(pairs.find(ProfileId(a), ProfileId(b), 1).has_value());
      if (pairs.fits(ProfileId(a), ProfileId(b), 1)) ++fitting;
    }
  }
  EXPECT_EQ(fitting, 676 - 40);
}

}  // namespace
}  // namespace muster
