#include "api/server/auth.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include "api/server/testing.h"

namespace muster {
namespace {

Auth auth_with(AuthSettings settings) { return Auth(std::move(settings), std::nullopt); }

Result<Caller> local(Auth& auth, uid_t uid) {
  Peer peer;
  peer.uid = uid;
  return auth.caller(peer, {});
}

TEST(Auth, KnowsLocalUsersByNumber) {
  Auth closed = auth_with({});
  const auto own = local(closed, geteuid()).value();
  EXPECT_TRUE(own.is_operator);
  EXPECT_EQ(own.user, getpwuid(geteuid())->pw_name);
  EXPECT_TRUE(local(closed, 0).value().is_operator);
  EXPECT_EQ(local(closed, 987'654).error().code, ErrorCode::kForbidden);
  AuthSettings settings;
  settings.others = true;
  Auth open = auth_with(settings);
  const auto other = local(open, 987'654).value();
  EXPECT_EQ(other.user, "987654");
  EXPECT_FALSE(other.is_operator);
}

TEST(Auth, AsksTheRulesAboutEachCaller) {
  AuthSettings settings;
  settings.admit = [](Caller& caller) -> MaybeError {
    if (caller.uid == 5) return Error{"not you", ErrorCode::kForbidden};
    caller.is_operator = caller.uid == 987'654;
    return std::nullopt;
  };
  Auth auth = auth_with(settings);
  EXPECT_TRUE(local(auth, 987'654).value().is_operator);
  EXPECT_FALSE(local(auth, 0).value().is_operator);
  EXPECT_EQ(local(auth, 5).error().message, "not you");
}

TEST(Auth, LooksUpTheUidOfAUserOnceAMinute) {
  std::vector<std::string> asked;
  UserIds ids([&](const std::string& user) {
    asked.push_back(user);
    return user == "ann" ? 1000 : kNoUid;
  });
  for (const std::time_t now : {100, 130, 159}) {
    EXPECT_EQ(ids.of("ann", now), 1000U);
    EXPECT_EQ(ids.of("nobody-here", now), kNoUid);
  }
  EXPECT_EQ(asked, (std::vector<std::string>{"ann", "nobody-here"}));
  ids.of("ann", 160);
  EXPECT_EQ(asked.size(), 3U);
  ids.of("ann", 50);
  EXPECT_EQ(asked.size(), 4U) << "the clock went back";
  for (int i = 0; i < 10'000; ++i) ids.of(std::to_string(i), 60);
  asked.clear();
  ids.of("ann", 60);
  EXPECT_EQ(asked.size(), 1U) << "the number of kept users is limited";
}

MaybeError origin(const std::string& host, const std::string& from, bool tcp) {
  AuthSettings settings;
  settings.hosts = {"Cluster.example.com"};
  const Auth auth = auth_with(settings);
  Peer peer;
  peer.over_tcp = tcp;
  HttpRequest request;
  request.host = host;
  request.origin = from;
  return auth.check_origin(peer, request);
}

TEST(Auth, RefusesPagesOfOthers) {
  EXPECT_FALSE(origin("localhost", "", false));
  EXPECT_FALSE(origin("127.0.0.1:70", "http://127.0.0.1:70", true));
  EXPECT_FALSE(origin("LOCALHOST:70", "https://localhost:70", true));
  EXPECT_TRUE(origin("127.0.0.1:70", "http://evil.example", true));
  EXPECT_TRUE(origin("127.0.0.1:70", "http://127.0.0.1:71", true));
  EXPECT_TRUE(origin("127.0.0.1:70", "null", false));
  EXPECT_TRUE(origin("", "http://", false));
}

TEST(Auth, RefusesNamesThatAreNotOurs) {
  for (const char* host : {"evil.example", "evil.example:80", "", "localhost.evil.example",
                           "127.0.0.1.evil.example", "[::1].evil", "["}) {
    EXPECT_TRUE(origin(host, "", true)) << host;
    EXPECT_FALSE(origin(host, "", false)) << host;
  }
  for (const char* host : {"localhost:1", "10.1.2.3:70", "[::1]:70", "cluster.Example.com:443"}) {
    EXPECT_FALSE(origin(host, "", true)) << host;
  }
}

TEST(Auth, WithTlsTheCertificateSeesToNames) {
  AuthSettings settings;
  settings.any_host = true;
  Peer peer;
  peer.over_tcp = true;
  HttpRequest request;
  request.host = "gpu.example.org:443";
  EXPECT_FALSE(auth_with(settings).check_origin(peer, request));
  request.origin = "https://evil.example";
  EXPECT_TRUE(auth_with(settings).check_origin(peer, request));
}

TEST(Auth, AllOfThisMachineIsOnePlace) {
  const auto place = [](const char* address) {
    Peer peer;
    peer.over_tcp = true;
    peer.address = address;
    return std::string(peer.place());
  };
  EXPECT_EQ(place("127.0.0.1"), place("127.9.8.7"));
  EXPECT_EQ(place("127.0.0.1"), place("::ffff:127.3.2.1"));
  EXPECT_NE(place("10.0.0.1"), place("10.0.0.2"));
  EXPECT_EQ(place("2001:db8::1"), "2001:db8::1");
}

TEST(Tokens, AreLongAndNeverTheSame) {
  const std::string one = make_token().value();
  EXPECT_EQ(one.size(), 7u + 64u);
  EXPECT_NE(one, make_token().value());
}

TEST(Tokens, AreFoundByTheirFingerprint) {
  const Folder folder;
  const std::string ann = make_token().value();
  const std::string bob = make_token().value();
  folder.write(
      "t", "# users\n\n" +
               token_line(ann, {.user = "ann", .name = "laptop", .is_operator = true}).value() +
               "  " + token_line(bob, {.user = "bob", .name = "ci", .is_operator = false}).value());
  TokenFile file = TokenFile::open(folder / "t").value();
  const auto found = file.find(ann).value();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->user, "ann");
  EXPECT_TRUE(found->is_operator);
  EXPECT_FALSE(file.find(bob).value()->is_operator);
  for (const std::string& wrong :
       {std::string(), ann + "x", ann.substr(1), std::string(10'000, 'x'), bob + '\0'}) {
    EXPECT_FALSE(file.find(wrong).value());
  }
  // The hash in the file is not a token.
  const std::string line =
      token_line(ann, {.user = "ann", .name = "x", .is_operator = true}).value();
  EXPECT_FALSE(file.find(line.substr(0, 64)).value());
  EXPECT_EQ(line.find(ann), std::string::npos);
}

TEST(Tokens, AreReadAgainWhenTheyChange) {
  const Folder folder;
  const std::string token = make_token().value();
  const std::string line =
      token_line(token, {.user = "ann", .name = "x", .is_operator = false}).value();
  folder.write("t", line);
  TokenFile file = TokenFile::open(folder / "t").value();
  EXPECT_TRUE(file.find(token).value());
  folder.write("t", "# none\n");
  EXPECT_FALSE(file.find(token).value());
  folder.write("t", line);
  EXPECT_TRUE(file.find(token).value());
  folder.write("t", line, 0644);
  EXPECT_FALSE(file.find(token).ok());
  EXPECT_FALSE(file.find(token).ok());
  folder.write("t", "gibberish\n");
  EXPECT_FALSE(file.find(token).ok());
  folder.write("t", line);
  EXPECT_TRUE(file.find(token).value());
  std::filesystem::remove(folder / "t");
  EXPECT_FALSE(file.find(token).ok());
}

TEST(Tokens, FilesThatOthersCanReadAreRefused) {
  const Folder folder;
  for (const int mode : {0640, 0604, 0644, 0660, 0610}) {
    folder.write("t", "", mode);
    EXPECT_FALSE(TokenFile::open(folder / "t").ok()) << mode;
  }
  folder.write("t", "", 0600);
  EXPECT_TRUE(TokenFile::open(folder / "t").ok());
  std::filesystem::create_directory(folder / "d");
  EXPECT_FALSE(TokenFile::open(folder / "d").ok());
  EXPECT_FALSE(TokenFile::open(folder / "none").ok());
}

TEST(Tokens, BadLinesAreNamedWithoutTheirContent) {
  const Folder folder;
  const std::string good =
      token_line("t", {.user = "ann", .name = "x", .is_operator = false}).value();
  const std::string print = good.substr(0, 64);
  for (const std::string& bad :
       {std::string("secret ann user x"), print + " ann user", print + " ann king x",
        print + " a\"n user x", print + " ann user x y", "F" + good.substr(1)}) {
    folder.write("t", good + bad + "\n");
    const auto file = TokenFile::open(folder / "t");
    ASSERT_FALSE(file.ok()) << bad;
    EXPECT_NE(file.error().message.find("t:2: "), std::string::npos) << file.error().message;
    EXPECT_EQ(file.error().message.find("secret"), std::string::npos);
    EXPECT_EQ(file.error().message.find(print), std::string::npos);
  }
  EXPECT_FALSE(token_line("t", {.user = "two words", .name = "x", .is_operator = false}).ok());
  EXPECT_FALSE(token_line("t", {.user = "ann", .name = "two\nlines", .is_operator = false}).ok());
}

}  // namespace
}  // namespace muster
