#include "api/web/dash.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

TEST(Dash, HasThePageItsScriptAndItsStyle) {
  for (const char* path : {"/", "/app.js", "/app.css", "/icon.svg"}) {
    const DashFile* file = find_dash_file(path);
    ASSERT_NE(file, nullptr) << path;
    EXPECT_EQ(file->gzip.substr(0, 2), "\x1f\x8b") << path;
  }
  EXPECT_EQ(find_dash_file("/index.html"), nullptr);
  EXPECT_EQ(find_dash_file("/app.js.gz"), nullptr);
  EXPECT_EQ(find_dash_file(""), nullptr);
}

// Size limit of the dashboard, for slow connections.
TEST(Dash, IsSmall) {
  std::size_t bytes = 0;
  for (const DashFile& file : dash_files()) bytes += file.gzip.size();
  EXPECT_LT(bytes, 150'000U);
}

TEST(Dash, MayLoadNothingFromElsewhere) {
  const std::string headers(dash_headers());
  EXPECT_NE(headers.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(headers.find("unsafe"), std::string::npos);
  EXPECT_EQ(headers.find("http:"), std::string::npos);
  EXPECT_EQ(headers.find("https:"), std::string::npos);
}

}  // namespace
}  // namespace muster
