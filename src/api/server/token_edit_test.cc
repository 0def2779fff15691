#include "api/server/token_edit.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "api/server/testing.h"

namespace muster {
namespace {

std::string line_of(const std::string& token, const std::string& user, const std::string& name) {
  return token_line(token, {.user = user, .name = name}).value();
}

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  const Result<TokenFile> file = TokenFile::open(path);
  for (const TokenFacts& token : file.value().tokens()) names.push_back(token.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(TokenEdit, AddsAndRevokesByNameOrFingerprint) {
  const Folder folder;
  const std::string path = folder / "t";
  EXPECT_FALSE(revoke_token(path, "a").ok()) << "no file";
  for (const char* name : {"a", "b", "c", "c"}) {
    ASSERT_FALSE(add_token(path, line_of(make_token().value(), "ann", name)));
  }
  EXPECT_EQ(revoke_token(path, "a").value().name, "a");
  EXPECT_EQ(revoke_token(path, "a").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(revoke_token(path, "c").error().code, ErrorCode::kConflict);
  const std::string print = TokenFile::open(path).value().tokens().at(1).fingerprint;
  EXPECT_EQ(print.size(), 8U);
  EXPECT_EQ(revoke_token(path, print.substr(0, 7)).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(revoke_token(path, print).value().fingerprint, print);
  EXPECT_EQ(names_in(path), (Names{"b", "c"}));
}

TEST(TokenEdit, KeepsTheModeAndBadFiles) {
  const Folder folder;
  folder.write("t", line_of("x", "ann", "a"), 0400);
  ASSERT_FALSE(add_token(folder / "t", line_of("y", "ann", "b")));
  struct stat facts {};
  ASSERT_EQ(::stat((folder / "t").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0400U);
  folder.write("bad", "gibberish\n");
  EXPECT_TRUE(add_token(folder / "bad", line_of("y", "ann", "b")));
  EXPECT_FALSE(revoke_token(folder / "bad", "b").ok());
}

TEST(TokenEdit, TwoEditsAtTheSameTimeLoseNothing) {
  const Folder folder;
  const std::string path = folder / "t";
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      EXPECT_FALSE(add_token(path, line_of(std::to_string(i), "ann", "t" + std::to_string(i))));
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(names_in(path).size(), 8U);
}

TEST(TokenEdit, TheServerSeesWhatChanged) {
  const Folder folder;
  const std::string path = folder / "t";
  ASSERT_FALSE(add_token(path, line_of("x", "ann", "a")));
  TokenFile file = TokenFile::open(path).value();
  EXPECT_TRUE(file.changes().empty());
  ASSERT_FALSE(add_token(path, line_of("y", "bob", "b")));
  ASSERT_TRUE(file.find("y").ok()) << "a request reads the file first";
  std::vector<TokenChange> changes = file.changes();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_TRUE(changes[0].created);
  EXPECT_EQ(changes[0].token.user, "bob");
  ASSERT_TRUE(revoke_token(path, "a").ok());
  changes = file.changes();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_FALSE(changes[0].created);
  EXPECT_EQ(changes[0].token.name, "a");
  EXPECT_TRUE(file.changes().empty());
}

}  // namespace
}  // namespace muster
