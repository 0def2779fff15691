#include "workload/philly/json_batches.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster {
namespace {

std::string padded(std::string_view text) { return std::string(text) + std::string(64, '"'); }

std::size_t length_of(std::string_view text) {
  const std::string room = padded(text);
  return json_object_length(std::string_view(room).substr(0, text.size()));
}

struct Cut {
  std::vector<std::string> objects;
  std::string error;
};

Cut cut(const std::string& text, std::size_t window = JsonBatches::kWindow) {
  JsonBatches batches(ByteSource::of(text, "log"), window);
  Cut result;
  while (true) {
    const Result<bool> there = batches.next();
    if (!there.ok()) {
      result.error = there.error().message;
      return result;
    }
    if (!there.value()) return result;
    EXPECT_EQ(batches.objects_before(), static_cast<std::int64_t>(result.objects.size()));
    EXPECT_TRUE(batches.text().starts_with('[') && batches.text().ends_with(']'));
    EXPECT_FALSE(batches.objects().empty());
    for (const std::string_view object : batches.objects()) {
      EXPECT_GE(object.data(), batches.text().data());
      result.objects.emplace_back(object);
    }
  }
}

TEST(JsonObjectLength, CountsBracesOutsideOfTexts) {
  EXPECT_EQ(length_of("{}"), 2u);
  EXPECT_EQ(length_of("{} {}"), 2u);
  EXPECT_EQ(length_of(R"({"a":{"b":{}}},)"), 14u);
  EXPECT_EQ(length_of(R"({"a":"}"})"), 9u);
  EXPECT_EQ(length_of(R"({"a":"\"}"})"), 11u);
  EXPECT_EQ(length_of(R"({"a":"\\"})"), 10u);
  EXPECT_EQ(length_of(R"({"a":"\\\"}"}x)"), 13u);
  EXPECT_EQ(length_of("{"), std::string_view::npos);
  EXPECT_EQ(length_of(R"({"a":"})"), std::string_view::npos);
  EXPECT_EQ(length_of(""), std::string_view::npos);
}

// The same object after padding of each length, so that quotes, escapes and braces are at each
// position in a block of 64 bytes.
TEST(JsonObjectLength, DoesNotDependOnWhereInABlockThingsAre) {
  for (std::size_t blanks = 0; blanks < 130; ++blanks) {
    const std::string object =
        "{" + std::string(blanks, ' ') + R"("k":"a\"}{\\","l":[{"m":"}"},{}],"n":"\\\\\"{"})";
    EXPECT_EQ(length_of(object), object.size()) << blanks;
    EXPECT_EQ(length_of(object + ",{}"), object.size()) << blanks;
    EXPECT_EQ(length_of(object.substr(0, object.size() - 1)), std::string_view::npos) << blanks;
  }
}

TEST(JsonBatches, CutsTheSameObjectsWhateverTheWindow) {
  std::vector<std::string> objects;
  std::string text = " \n[ ";
  for (int i = 0; i < 40; ++i) {
    const auto size = static_cast<std::size_t>(i);
    objects.push_back("{\"n\":\"" + std::string(size * size / 4, "x}\"{"[i % 2]) + "\"}");
    text += (i > 0 ? (i % 3 == 0 ? "\n,\t" : ",") : "") + objects.back();
  }
  text += "\r\n] \n";
  for (std::size_t window = 1; window < 600; window += window < 70 ? 1 : 37) {
    const Cut result = cut(text, window);
    EXPECT_EQ(result.error, "") << window;
    EXPECT_EQ(result.objects, objects) << window;
  }
}

TEST(JsonBatches, KnowsWhatIsAroundObjects) {
  EXPECT_EQ(cut("[]").error, "");
  EXPECT_EQ(cut("\xef\xbb\xbf[{}]").objects, std::vector<std::string>{"{}"});
  EXPECT_EQ(cut("").error, "log: byte 0: the file is empty");
  EXPECT_EQ(cut("  ").error, "log: byte 2: the file is empty");
  EXPECT_EQ(cut(" {}").error, "log: byte 1: not a JSON array: does not begin with '['");
  EXPECT_EQ(cut("[{} {}]").error, "log: byte 4: expected ',' or ']' after a job");
  EXPECT_EQ(cut("[{},]").error, "log: byte 4: not a job: does not begin with '{': ']'");
  EXPECT_EQ(cut("[,{}]").error, "log: byte 1: not a job: does not begin with '{': ','");
  EXPECT_EQ(cut("[7]").error, "log: byte 1: not a job: does not begin with '{': '7'");
  EXPECT_EQ(cut("[{}] x").error, "log: byte 5: unexpected text after the end of the array");
  EXPECT_EQ(cut("[{},[]]").error, "log: byte 4: not a job: does not begin with '{': '['");
}

TEST(JsonBatches, SaysWhereAFileEndsTooEarly) {
  const std::string text = R"([{"a":1},{"b":"}"},{}])";
  for (std::size_t length = 0; length < text.size(); ++length) {
    for (const std::size_t window : {std::size_t{1}, std::size_t{7}, JsonBatches::kWindow}) {
      const std::string error = cut(text.substr(0, length), window).error;
      EXPECT_TRUE(error.starts_with("log: byte " + std::to_string(length) + ": ")) << error;
    }
  }
  EXPECT_EQ(cut(text.substr(0, 17)).error,
            "log: byte 17: job 2: the file ends inside the job that begins at byte 9");
  EXPECT_EQ(cut(text.substr(0, 18)).error, "log: byte 18: the file ends before the array");
}

TEST(JsonBatches, RefusesAnObjectWithoutEnd) {
  const std::string text = "[{},{\"a\":\"" + std::string(JsonBatches::kLongestObject + 100, 'x');
  EXPECT_EQ(cut(text).error,
            "log: byte 4: job 2: longer than 16 MiB: a quote or brace is not closed");
}

TEST(JsonBatches, TellsWhoseByteItIs) {
  const std::string text = R"([{"a":1},{"b":2},{"c":3}])";
  JsonBatches batches(ByteSource::of(text, "log"));
  ASSERT_TRUE(batches.next().value());
  const auto at = [&](std::size_t i) {
    return batches.fail_at(batches.text().data() + i, "what").message;
  };
  EXPECT_EQ(at(0), "log: byte 0: job 1: what");
  EXPECT_EQ(at(8), "log: byte 8: job 1: what");
  EXPECT_EQ(at(9), "log: byte 9: job 2: what");
  EXPECT_EQ(at(20), "log: byte 20: job 3: what");
}

}  // namespace
}  // namespace muster
