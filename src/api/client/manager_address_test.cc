#include "api/client/manager_address.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "api/client/target.h"

namespace muster {
namespace {

namespace fs = std::filesystem;
using Variables = std::map<std::string, std::string>;

Result<ManagerAddress> found(const std::string& server, const Variables& variables) {
  return find_manager(server, [&](const char* name) -> const char* {
    const auto at = variables.find(name);
    return at == variables.end() ? nullptr : at->second.c_str();
  });
}

TEST(ManagerAddress, TakesTheNearestAnswer) {
  Variables variables = {{"HOME", "/home/ann"}};
  EXPECT_EQ(found("", variables).value().socket, "/home/ann/.local/state/muster/muster.sock");
  variables["XDG_STATE_HOME"] = "/state";
  EXPECT_EQ(found("", variables).value().socket, "/state/muster/muster.sock");
  variables["MUSTER_HOME"] = "/var/muster";
  EXPECT_EQ(found("", variables).value().socket, "/var/muster/muster.sock");
  variables["MUSTER_SERVER"] = "/run/m.sock";
  EXPECT_EQ(found("", variables).value().socket, "/run/m.sock");
  EXPECT_EQ(found("unix:other.sock", variables).value().socket, "other.sock");
  EXPECT_FALSE(found("", {}).ok());
}

TEST(ManagerAddress, ReadsAddresses) {
  for (const auto& [text, host, port, tls] :
       std::vector<std::tuple<std::string, std::string, std::string, bool>>{
           {"http://gpu:8080", "gpu", "8080", false},
           {"https://gpu", "gpu", "443", true},
           {"https://gpu:1/", "gpu", "1", true},
           {"http://[::1]:80", "::1", "80", false},
           {"http://[::1]", "::1", "80", false}}) {
    const Result<ManagerAddress> where = found(text, {{"MUSTER_TOKEN", "abc"}});
    ASSERT_TRUE(where.ok()) << text << ": " << where.error().message;
    EXPECT_EQ(where.value().host, host);
    EXPECT_EQ(where.value().port, port);
    EXPECT_EQ(where.value().tls, tls);
    EXPECT_EQ(where.value().token, "abc");
    EXPECT_EQ(where.value().socket, "");
  }
  EXPECT_EQ(found("http://[::1]:80", {}).value().text(), "http://[::1]:80");
}

TEST(ManagerAddress, RefusesWhatIsNone) {
  for (const char* text :
       {"gpu:8080", "http://", "http://:80", "http://a:0", "http://a:70000", "http://a:b",
        "http://a/b", "http://u@a", "http://[::1", "http://[::1]x:1", "ftp://a/b"}) {
    EXPECT_FALSE(found(text, {}).ok()) << text;
  }
  EXPECT_FALSE(found("/" + std::string(200, 'x'), {}).ok());
}

TEST(ManagerAddress, KeepsTokensFromOthers) {
  const fs::path home = fs::temp_directory_path() / ("muster_where_" + std::to_string(getpid()));
  fs::create_directories(home);
  const Variables variables = {{"MUSTER_HOME", home.string()}};
  std::ofstream(home / "token") << "secret\n";
  fs::permissions(home / "token", fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(found("http://a:1", variables).value().token, "secret");
  EXPECT_EQ(found("/a/socket", variables).value().token, "");
  fs::permissions(home / "token", fs::perms::group_read, fs::perm_options::add);
  EXPECT_NE(found("http://a:1", variables).error().message.find("chmod 600"), std::string::npos);
  EXPECT_FALSE(found("http://a:1", {{"MUSTER_TOKEN", "a\r\nX: y"}}).ok());
  fs::remove_all(home);
}

TEST(RequestTarget, EscapesWhatPeopleType) {
  EXPECT_EQ(target("/v1/jobs", {{"state", "all"}, {"user", ""}, {"tenant", "a&b=c d"}}),
            "/v1/jobs?state=all&tenant=a%26b%3Dc%20d");
  EXPECT_EQ(escaped("../12"), "..%2F12");
}

}  // namespace
}  // namespace muster
