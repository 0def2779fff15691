#include "exec/launch/grant_key.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/os/testing.h"

namespace muster {
namespace {

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

TEST(GrantKeyFile, IsCreatedOnce) {
  const Folder folder;  // mkdtemp() gives mode 0700.
  EXPECT_EQ(read_grant_key(folder.path(), ::geteuid()).error().code, ErrorCode::kNotFound);
  const auto first = open_grant_key(folder.path());
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(mode_of(folder / "key"), 0400u);
  EXPECT_EQ(folder.read("key").size(), 32u);
  EXPECT_EQ(open_grant_key(folder.path()).value(), first.value());
  EXPECT_EQ(read_grant_key(folder.path(), ::geteuid()).value(), first.value());
  const Folder other;
  EXPECT_NE(open_grant_key(other.path()).value(), first.value());
}

TEST(GrantKeyFile, WrongFilesAreRefused) {
  const auto code = [](auto break_it) {
    const Folder folder;
    EXPECT_TRUE(open_grant_key(folder.path()).ok());
    break_it(folder);
    const auto key = open_grant_key(folder.path());
    return key.ok() ? "ok" : key.error().message.substr(folder.path().size());
  };
  const std::string mode = "/key: must belong to the user of muster-grant, with mode 0400";
  EXPECT_EQ(code([](const Folder& f) { ::chmod((f / "key").c_str(), 0440); }), mode);
  EXPECT_EQ(code([](const Folder& f) { ::chmod((f / "key").c_str(), 0600); }), mode);
  EXPECT_EQ(code([](const Folder& f) { ::chmod(f.path().c_str(), 0750); }),
            ": must belong to the user of muster-grant, with mode 0700");
  const std::string size = "/key: not 32 bytes long";
  EXPECT_EQ(code([](const Folder& f) { f.write("key", std::string(31, 'x'), 0400); }), size);
  EXPECT_EQ(code([](const Folder& f) { f.write("key", std::string(33, 'x'), 0400); }), size);
  EXPECT_EQ(code([](const Folder& f) { f.write("key", "", 0400); }), size);
  EXPECT_NE(code([](const Folder& f) {
              ::rename((f / "key").c_str(), (f / "real").c_str());
              EXPECT_EQ(::symlink("real", (f / "key").c_str()), 0);
            }),
            "ok");
  EXPECT_NE(code([](const Folder& f) {
              ::unlink((f / "key").c_str());
              EXPECT_EQ(::mkfifo((f / "key").c_str(), 0400), 0);
            }),
            "ok");
}

TEST(GrantKeyFile, AnotherOwnerIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to change the owner";
  const Folder folder;
  ASSERT_TRUE(open_grant_key(folder.path()).ok());
  EXPECT_EQ(read_grant_key(folder.path(), 1).error().code, ErrorCode::kForbidden);
  ASSERT_EQ(::chown((folder / "key").c_str(), 1, 1), 0);
  EXPECT_EQ(open_grant_key(folder.path()).error().code, ErrorCode::kForbidden);
  ASSERT_EQ(::chown(folder.path().c_str(), 1, 1), 0);
  EXPECT_TRUE(read_grant_key(folder.path(), 1).ok());
}

// Left by a process that was killed before it renamed the file.
TEST(GrantKeyFile, AnIncompleteFileIsReplaced) {
  const Folder folder;
  folder.write("key.new", "half", 0400);
  EXPECT_TRUE(open_grant_key(folder.path()).ok());
  EXPECT_EQ(::access((folder / "key.new").c_str(), F_OK), -1);
}

TEST(GrantKeyFile, ConcurrentCallersGetTheSameKey) {
  for (int round = 0; round < 20; ++round) {
    const Folder folder;
    int results[2];
    ASSERT_EQ(::pipe(results), 0);
    constexpr int kProcesses = 8;
    for (int i = 0; i < kProcesses; ++i) {
      if (::fork() != 0) continue;
      const auto key = open_grant_key(folder.path());
      if (key.ok()) (void)!::write(results[1], key.value().data(), key.value().size());
      ::_exit(0);
    }
    while (::wait(nullptr) > 0) {
    }
    std::array<std::uint8_t, kProcesses * sizeof(GrantKey)> keys{};
    ASSERT_EQ(::read(results[0], keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
    for (std::size_t at = 0; at < keys.size(); ++at)
      ASSERT_EQ(keys[at], keys[at % sizeof(GrantKey)]);
    ::close(results[0]);
    ::close(results[1]);
  }
}

}  // namespace
}  // namespace muster
