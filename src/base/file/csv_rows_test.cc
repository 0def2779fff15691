#include "base/file/csv_rows.h"

#include <gtest/gtest.h>

#include "base/file/csv.h"
#include "base/types/testing.h"

namespace muster {
namespace {

using Comments = CsvRows::Comments;

// Returns the first field of each row, joined.
std::string row_lines_of(std::string_view text, Comments comments) {
  CsvRows rows(text, "f", comments);
  std::string out;
  while (rows.next()) {
    EXPECT_EQ(rows.split(), std::nullopt);
    out += std::to_string(rows.number()) + ":" + std::string(rows.fields().front()) + " ";
  }
  return out;
}

TEST(CsvRows, SkipsBlankLinesAndCommentsIfThereAreAny) {
  EXPECT_EQ(row_lines_of("a,1\n\n  \n#b\nc\n", Comments::kHash), "1:a 5:c ");
  EXPECT_EQ(row_lines_of("a,1\n\n  \n#b\nc\n", Comments::kNone), "1:a 4:#b 5:c ");
  EXPECT_EQ(row_lines_of("", Comments::kHash), "");
}

TEST(CsvRows, StopsAtTheFirstRefusalAndSaysWhere) {
  const auto refusal = [](const std::string& text) {
    CsvRows rows(text, "f", Comments::kHash);
    EXPECT_TRUE(rows.next());
    return error_text(rows.read([] { return MaybeError(); }, [&] { return rows.check_width(2); }));
  };
  expect_texts(refusal, {
                            {"a,b\n1,2\n", "accepted"},
                            {"a,b\n1,2\n\n3\n4\n", "f:4: columns: 1 where the header has 2: '3'"},
                            {"a,b\n1,\"2\n", "f:2: quote not closed: '\"2'"},
                        });
  EXPECT_EQ(refusal("a,b\n" + std::string(kLongestLine + 1, 'x')).substr(0, 16),
            "f:2: line longer");
}

}  // namespace
}  // namespace muster
