#include "study/reproduce/experiment.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "study/reproduce/claim_verdict.h"
#include "study/reproduce/embedded.h"

namespace muster {
namespace {

constexpr const char* kSmall = R"(
- name: small
  paper: example
  title: A small experiment
  over: ["1", "2.5"]
  runs:
    a: sim --seed {x}
  claims:
    - {claim: c, source: s, published: 2, value: a@2_5.jobs / 2, within: 0.1, above: 1}
  plots:
    - {key: p, title: t, y_label: y, series: {one: "a@{x}.jobs"}}
)";

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string parse_error(const std::string& text) {
  const Result<std::vector<Experiment>> read = parse_experiments(text, "e.yaml");
  return read.ok() ? "no error" : read.error().message;
}

TEST(Experiments, OfThisRepositoryAreValid) {
  const Result<std::vector<Experiment>> read = parse_experiments(experiments_yaml(), "all");
  ASSERT_TRUE(read.ok()) << read.error().message;
  std::set<std::string> papers;
  for (const Experiment& experiment : read.value()) papers.insert(experiment.paper);
  for (const char* paper : {"synergy", "tiresias", "philly", "gandiva", "optimus", "ralp"}) {
    EXPECT_TRUE(papers.contains(paper)) << paper;
  }
}

TEST(Experiments, MayContainSmallFiles) {
  const auto read = [](const std::string& files) {
    return with(kSmall, "  runs:", "  files: " + files + "\n  runs:");
  };
  const Result<std::vector<Experiment>> good = parse_experiments(read("{j.csv: [a, b c]}"), "e");
  ASSERT_TRUE(good.ok()) << good.error().message;
  using Files = std::vector<std::pair<std::string, std::vector<std::string>>>;
  EXPECT_EQ(good.value()[0].files, (Files{{"j.csv", {"a", "b c"}}}));
  for (const char* const bad :
       {"[a]", "{../j: [a]}", "{..: [a]}", "{.j: [a]}", "{a/b: [a]}", "{j: a}", "{j: [\"it's\"]}",
        "{-j: [a]}", "{a.json: [a]}", "{a.log: [a]}"}) {
    EXPECT_FALSE(parse_experiments(read(bad), "e").ok()) << bad;
  }
}

TEST(Experiments, AreRead) {
  const Result<std::vector<Experiment>> read = parse_experiments(kSmall, "e.yaml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const Experiment& experiment = read.value().at(0);
  EXPECT_EQ(experiment.over, (std::vector<std::string>{"1", "2.5"}));
  EXPECT_EQ(experiment.claims.at(0).published, 2);
  EXPECT_EQ(experiment.plots.at(0).series.at(0).first, "one");
  using Commands = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(expanded(experiment, "a", "sim --seed {x}"),
            (Commands{{"a@1", "sim --seed 1"}, {"a@2_5", "sim --seed 2.5"}}));
  EXPECT_EQ(expanded(experiment, "b", "sim"), (Commands{{"b", "sim"}}));
}

TEST(Experiments, AreRejectedWithThePlace) {
  EXPECT_EQ(parse_error(with(kSmall, "title:", "titel:")).substr(0, 9), "e.yaml:4:");
  EXPECT_NE(parse_error(with(kSmall, "within: 0.1, ", "")).find("a claim needs within"),
            std::string::npos);
  EXPECT_NE(parse_error(with(kSmall, "published: 2, ", "")).find("require published"),
            std::string::npos);
  EXPECT_NE(parse_error(with(kSmall, "a@2_5.jobs / 2", "a@2_5.jobs /")).find("expected a value"),
            std::string::npos);
  const std::string fixed = with(kSmall, "a@2_5.jobs", "a.jobs");
  EXPECT_NE(parse_error(with(fixed, "  over: [\"1\", \"2.5\"]\n", "")).find("requires 'over'"),
            std::string::npos);
  const std::string twice = std::string(kSmall) + with(kSmall + 1, "key: p", "key: q");
  EXPECT_NE(parse_error(twice).find("duplicate name"), std::string::npos);
  EXPECT_NE(parse_error("just text"), "no error");
}

// Names become files and keys of a page, and commands must not start jobs or managers.
TEST(Experiments, CannotLeaveTheirDirectoryOrRunOtherCommands) {
  for (const auto& [from, to] : {std::pair{"name: small", "name: ../small"},
                                 {"name: small", "name: Small"},
                                 {"paper: example", "paper: a.b"},
                                 {"    a: sim", "    ../a: sim"},
                                 {"key: p", "key: claims-small"},
                                 {"\"1\", \"2.5\"", "\"../1\", \"2.5\""},
                                 {"\"1\", \"2.5\"", "\"3\", \"2.5\""},
                                 {"y_label: y", "y_label: y, categories: [c]"},
                                 {"\"1\", \"2.5\"", "\"..\", \"2.5\""},
                                 {"sim --seed", "serve --seed"},
                                 {"sim --seed", "reproduce --seed"}}) {
    EXPECT_NE(parse_error(with(kSmall, from, to)), "no error") << to;
  }
}

TEST(Experiments, WriteOnlyToTheirDirectory) {
  const auto error_of = [](const std::string& command) {
    return parse_error(with(kSmall, "  runs:", "  prepare: [\"" + command + "\"]\n  runs:"));
  };
  for (const char* const good :
       {"trace generate --out {dir}/j.csv --outcomes {dir}/o.csv", "sim --out={dir}/run",
        "analyze {dir}/run --outcomes {data}/o.csv", "layers vgg16 --profile {dir}/p.yaml",
        "sweep {dir}/grid.yaml --out {dir}/sweep"}) {
    EXPECT_EQ(error_of(good), "no error") << good;
  }
  for (const char* const bad :
       {"trace generate --out /tmp/j.csv", "trace generate --out j.csv", "sim --out=/tmp/run",
        "sim --out  /tmp/run", "sim --out", "trace generate --out {dir}/../j.csv",
        "trace generate --outcomes /tmp/o.csv", "layers vgg16 --profile {data}/p.yaml",
        "sweep {dir}/grid.yaml", "sweep {dir}/grid.yaml --out {dir}/s --on others"}) {
    EXPECT_EQ(error_of(bad).substr(0, 7), "e.yaml:") << bad;
  }
}

// The page shows commands as lines for a shell.
TEST(Experiments, HaveCommandsWithoutCharactersOfAShell) {
  for (const char* const bad :
       {"; ls", "$(ls)", "`ls`", "| ls", "> f", "& ls", "'", "*", "~", "{a,b}"}) {
    EXPECT_NE(parse_error(with(kSmall, "--seed {x}", std::string("--seed {x} ") + bad))
                  .find("must not contain"),
              std::string::npos)
        << bad;
  }
}

TEST(Experiments, HaveDifferentValuesAndFewShortCommands) {
  EXPECT_NE(parse_error(with(kSmall, "\"1\"", "\"2_5\"")).find("duplicate value"),
            std::string::npos);
  std::string values = "\"1\", \"2.5\"";
  for (int i = 3; i < 10'002; ++i) values += ", \"" + std::to_string(i) + "\"";
  EXPECT_NE(parse_error(with(kSmall, "\"1\", \"2.5\"", values)).find("more than 10,000 commands"),
            std::string::npos);
  const std::string longer = "--seed {x} " + std::string(10'000, 'a');
  EXPECT_NE(parse_error(with(kSmall, "--seed {x}", longer)).find("longer than 10,000 bytes"),
            std::string::npos);
}

TEST(Experiments, UseOnlyTheirRuns) {
  EXPECT_NE(parse_error(with(kSmall, "a@2_5.jobs / 2", "b@2_5.jobs / 2")).find("unknown run"),
            std::string::npos);
  EXPECT_NE(parse_error(with(kSmall, "a@2_5.jobs / 2", "a@{x}.jobs / 2")), "no error");
  EXPECT_EQ(parse_error(with(kSmall, "\"a@{x}.jobs\"", "\"b@{x}.jobs\"")),
            "e.yaml:11: one: 'b@1.jobs': unknown run 'b@1'; did you mean 'a@1'?");
}

TEST(Verdicts, FollowTheCriteriaOfTheClaim) {
  Claim claim;
  claim.published = 2;
  claim.within = 0.1;
  claim.above = 1;
  EXPECT_EQ(judge(claim, 2.2).text, "reproduced");
  EXPECT_EQ(judge(claim, 1.5).text, "direction only");
  EXPECT_EQ(judge(claim, 0.9).text, "not reproduced: the reason is not known");
  claim.why = "too short";
  EXPECT_EQ(judge(claim, 1.5).text, "direction only: too short");
  EXPECT_EQ(judge(claim, 0.9).text, "not reproduced: too short");
  Claim bound;
  bound.at_most = 4;
  EXPECT_EQ(judge(bound, 4).kind, ClaimVerdict::Kind::kReproduced);
  EXPECT_EQ(judge(bound, 4.1).kind, ClaimVerdict::Kind::kNotReproduced);
}

}  // namespace
}  // namespace muster
