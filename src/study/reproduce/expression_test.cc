#include "study/reproduce/expression.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace muster {
namespace {

RunResults some_results() {
  RunResults results;
  results["fifo"] = {{"jct_mean_s", 7200.0}, {"waits", {1.0, 2.5}}, {"text", "x"}};
  results["tune@0.5"] = {{"jct_mean_s", 3600}};
  results["study"] = nlohmann::json::parse(
      R"({"sections": [{"key": "use", "rows": [[">8", 7], ["All sizes", 8]]}]})");
  results["a-b"] = {{"deep", {{"er", -4}}}};
  return results;
}

double value_of(std::string_view text) {
  const Result<double> value = evaluate(text, some_results());
  EXPECT_TRUE(value.ok()) << text << ": " << (value.ok() ? "" : value.error().message);
  return value.ok() ? value.value() : 0;
}

std::string error_of(std::string_view text) {
  const Result<double> value = evaluate(text, some_results());
  return value.ok() ? "no error" : value.error().message;
}

TEST(Expression, ComputesWithTheUsualPrecedence) {
  EXPECT_DOUBLE_EQ(value_of("1 + 2 * 3"), 7);
  EXPECT_DOUBLE_EQ(value_of("(1 + 2) * 3"), 9);
  EXPECT_DOUBLE_EQ(value_of("8 / 4 / 2"), 1);
  EXPECT_DOUBLE_EQ(value_of("10 - 4 - 3"), 3);
  EXPECT_DOUBLE_EQ(value_of("-2 * -(3)"), 6);
  EXPECT_DOUBLE_EQ(value_of("max(1, 5, 2) - min(4, 3)"), 2);
  EXPECT_DOUBLE_EQ(value_of("mean(1, 2, 6)"), 3);
}

TEST(Expression, ReadsResultsOfRuns) {
  EXPECT_DOUBLE_EQ(value_of("fifo.jct_mean_s / 3600"), 2);
  EXPECT_DOUBLE_EQ(value_of("fifo.waits.1"), 2.5);
  EXPECT_DOUBLE_EQ(value_of("a-b.deep.er - 1"), -5);
  EXPECT_DOUBLE_EQ(value_of("study.sections.use.rows.all-sizes.1"), 8);
  EXPECT_DOUBLE_EQ(value_of("study.sections.use.rows.8.1"), 7);
}

TEST(Expression, NamesWhatIsWrong) {
  EXPECT_EQ(error_of("srtf.jct_mean_s"), "'srtf.jct_mean_s': unknown run 'srtf'");
  EXPECT_EQ(error_of("fifo.jct_meen_s"),
            "'fifo.jct_meen_s': no number 'fifo.jct_meen_s'; did you mean 'jct_mean_s'?");
  EXPECT_EQ(error_of("fifo.text"), "'fifo.text': no number 'fifo.text'");
  EXPECT_EQ(error_of("fifo.waits.7"), "'fifo.waits.7': no number 'fifo.waits.7'");
  EXPECT_EQ(error_of("fifo.waits.1 / (1 - 1)"), "'fifo.waits.1 / (1 - 1)': division by zero");
  EXPECT_EQ(error_of("1 +"), "'1 +': expected a value at the end");
  EXPECT_EQ(error_of("(1"), "'(1': missing ')'");
  EXPECT_EQ(error_of("1 2"), "'1 2': unexpected '2'");
  EXPECT_EQ(error_of("fifo"), "'fifo': 'fifo' is not a number and not RUN.MEMBER");
  EXPECT_EQ(error_of("median(1)"),
            "'median(1)': unknown function 'median'; one of: min, max, mean");
  EXPECT_NE(error_of(std::string(1000, '(')).find("too many parentheses"), std::string::npos);
  EXPECT_NE(error_of(std::string(1000, '-') + "1").find("too many parentheses"), std::string::npos);
}

TEST(Expression, IsCheckedWithoutResults) {
  const RunNames runs = {"a", "fifo"};
  EXPECT_FALSE(check_expression("fifo.member / 2", runs));
  EXPECT_FALSE(check_expression("1 / (a.b - a.b)", runs));
  EXPECT_TRUE(check_expression("1 +", runs));
  EXPECT_TRUE(check_expression("", runs));
  EXPECT_EQ(check_expression("fido.x", runs)->message,
            "'fido.x': unknown run 'fido'; did you mean 'fifo'?");
  RunNames many;
  for (int i = 0; i < 100; ++i) many.insert("run-" + std::to_string(i));
  EXPECT_EQ(check_expression("other.x", many)->message, "'other.x': unknown run 'other'");
}

}  // namespace
}  // namespace muster
