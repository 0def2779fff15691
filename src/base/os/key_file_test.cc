#include "base/os/key_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/os/testing.h"

namespace muster {
namespace {

TEST(KeyFile, IsCreatedOnceAndReadAgain) {
  const Folder folder;
  const Result<SecretKey> key = open_key_file(folder / "key");
  ASSERT_TRUE(key.ok()) << key.error().message;
  EXPECT_EQ(open_key_file(folder / "key").value(), key.value());
  EXPECT_EQ(folder.read("key").size(), 32U);
  struct stat facts {};
  ASSERT_EQ(::stat((folder / "key").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  EXPECT_NE(open_key_file(folder / "other").value(), key.value());
}

TEST(KeyFile, ThatOthersCanReadOrThatIsNoKeyIsRefused) {
  const Folder folder;
  folder.write("open", std::string(32, 'k'), 0644);
  EXPECT_EQ(open_key_file(folder / "open").error().code, ErrorCode::kForbidden);
  folder.write("short", "k");
  EXPECT_EQ(open_key_file(folder / "short").error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(folder.read("short"), "k");
  EXPECT_FALSE(open_key_file(folder / "missing/key").ok());
}

}  // namespace
}  // namespace muster
