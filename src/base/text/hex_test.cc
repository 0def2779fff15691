#include "base/text/hex.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Hex, IsReadAsItWasWritten) {
  const unsigned char bytes[] = {0, 0x9f, 0xff};
  EXPECT_EQ(to_hex(bytes), "009fff");
  EXPECT_EQ(from_hex("009fff"), std::string("\0\x9f\xff", 3));
  for (const char* wrong : {"", "0", "0g", "FF", "0x"}) EXPECT_FALSE(from_hex(wrong)) << wrong;
}

}  // namespace
}  // namespace muster
