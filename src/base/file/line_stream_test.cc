#include "base/file/line_stream.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster {
namespace {

std::vector<std::string> lines_of(const std::string& text, std::size_t block = LineStream::kBlock) {
  LineStream stream(ByteSource::of(text, "file"), block);
  std::vector<std::string> lines;
  while (stream.next().value()) {
    lines.emplace_back(stream.line());
    EXPECT_EQ(stream.number(), static_cast<std::int64_t>(lines.size()));
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(LineStream, EndsLinesAsUnixAndWindowsDo) {
  EXPECT_EQ(lines_of(""), Lines{});
  EXPECT_EQ(lines_of("a"), Lines{"a"});
  EXPECT_EQ(lines_of("a\n"), Lines{"a"});
  EXPECT_EQ(lines_of("a\r\n\nb\r\n"), (Lines{"a", "", "b"}));
  EXPECT_EQ(lines_of("\n"), Lines{""});
  EXPECT_EQ(lines_of("\xef\xbb\xbf"
                     "a\n\xef\xbb\xbf"
                     "b"),
            (Lines{"a",
                   "\xef\xbb\xbf"
                   "b"}));
}

TEST(LineStream, CutsTheSameLinesWhateverTheBlock) {
  std::string text;
  Lines wanted;
  for (std::size_t i = 0; i < 50; ++i) {
    wanted.emplace_back(i % 17, static_cast<char>('a' + i % 26));
    text += wanted.back() + "\n";
  }
  for (std::size_t block = 18; block < 80; ++block) EXPECT_EQ(lines_of(text, block), wanted);
}

TEST(LineStream, RefusesALineWithoutEnd) {
  const std::string text = "a\n" + std::string(2 * LineStream::kBlock, 'x');
  LineStream stream(ByteSource::of(text, "file"));
  ASSERT_TRUE(stream.next().value());
  EXPECT_EQ(stream.next().error().message, "file:2: line longer than 65536 bytes");
}

// The same line at every position in a block.
TEST(LineStream, RefusesALongLineWithAnEndToo) {
  const std::string text = std::string(70'000, 'x') + "\n";
  EXPECT_EQ(LineStream(ByteSource::of(text, "file")).next().error().message,
            "file:1: line longer than 65536 bytes");
}

}  // namespace
}  // namespace muster
