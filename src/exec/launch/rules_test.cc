#include "exec/launch/rules.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/testing.h"

namespace muster {
namespace {

const std::string kRequired = "manager_uid = 900\ngrant_uid = 901\n";

std::string problem(const std::string& text) {
  const auto rules = parse_rules(text, "launch.conf");
  return rules.ok() ? "ok" : rules.error().place + ": " + rules.error().message;
}

Rules rules_of(const std::string& text) {
  const auto rules = parse_rules(kRequired + text, "launch.conf");
  EXPECT_TRUE(rules.ok()) << rules.error().message;
  return rules.ok() ? rules.value() : Rules{};
}

TEST(Rules, Defaults) {
  const Rules rules = rules_of("");
  EXPECT_EQ(rules.manager_uid, 900u);
  EXPECT_EQ(rules.grant_uid, 901u);
  EXPECT_EQ(rules.min_uid, 1000u);
  EXPECT_FALSE(rules.allow_groups.has_value());
  EXPECT_TRUE(rules.deny_users.empty());
  EXPECT_TRUE(rules.gpu_devices.empty());
  EXPECT_EQ(rules.umask, 077u);
  EXPECT_TRUE(rules.no_new_privs);
  EXPECT_EQ(rules.max_processes, 4096u);
  EXPECT_EQ(rules.max_processes_per_gpu, 4096u);
}

TEST(Rules, AllKeys) {
  const Rules rules = rules_of(
      "# Rules of our site.\n"
      "\n"
      "  min_uid=2000  \n"
      "allow_groups = 70, 71\t,72\n"
      "deny_users = 5000\n"
      "gpu_devices = /dev/fake[0-9]*, /dev/other\n"
      "umask = 027\n"
      "no_new_privs = false\n"
      "max_processes = 100\n"
      "max_processes_per_gpu = 0");
  EXPECT_EQ(rules.min_uid, 2000u);
  EXPECT_EQ(rules.allow_groups, (std::vector<gid_t>{70, 71, 72}));
  EXPECT_EQ(rules.deny_users, (std::vector<uid_t>{5000}));
  EXPECT_EQ(rules.gpu_devices, (std::vector<std::string>{"/dev/fake[0-9]*", "/dev/other"}));
  EXPECT_EQ(rules.umask, 027u);
  EXPECT_FALSE(rules.no_new_privs);
  EXPECT_EQ(rules.max_processes, 100u);
  EXPECT_EQ(rules.max_processes_per_gpu, 0u);
}

TEST(Rules, AccountNames) {
  EXPECT_EQ(rules_of("deny_users = daemon, 5\n").deny_users, (std::vector<uid_t>{1, 5}));
  EXPECT_EQ(rules_of("allow_groups = daemon\n").allow_groups, (std::vector<gid_t>{1}));
  EXPECT_EQ(problem(kRequired + "deny_users = no-such-user\n"),
            "launch.conf:3: deny_users: expected users other than root, separated by commas, not "
            "'no-such-user'");
  EXPECT_EQ(problem("manager_uid = root\n"),
            "launch.conf:1: manager_uid: expected a user other than root, not 'root'");
  EXPECT_EQ(problem(kRequired + "allow_groups = daemon, root\n"),
            "launch.conf:3: allow_groups: expected groups other than root, separated by commas, "
            "not 'daemon, root'");
}

TEST(Rules, EachMistakeNamesItsLine) {
  const auto third = [](const std::string& line) { return problem(kRequired + line); };
  EXPECT_EQ(third("min_uids = 5\n"), "launch.conf:3: unknown key 'min_uids'");
  EXPECT_EQ(third("\n\nmin_uid\n"), "launch.conf:5: expected 'key = value'");
  EXPECT_EQ(third("min_uid = 5\nmin_uid = 5\n"), "launch.conf:4: min_uid: set twice");
  EXPECT_EQ(third("grant_uid = 902\n"), "launch.conf:3: grant_uid: set twice");
  EXPECT_EQ(third("min_uid = 0\n"), "launch.conf:3: min_uid: expected a number from 1, not '0'");
  for (const char* value : {"", "-1", "+5", "5 6", "0x10", "1e3", "4294967295", "99999999999999"}) {
    EXPECT_NE(third(std::string("min_uid = ") + value), "ok") << value;
  }
  for (const char* value : {"", "0", "-1", "4294967295", "4294967296"}) {
    EXPECT_NE(problem(std::string("grant_uid = 901\nmanager_uid = ") + value), "ok") << value;
  }
  for (const char* value : {"", "8", "1000", "-1", "0o22", "u=rwx"}) {
    EXPECT_NE(third(std::string("umask = ") + value), "ok") << value;
  }
  for (const char* value : {"", "yes", "True", "1", "true false"}) {
    EXPECT_NE(third(std::string("no_new_privs = ") + value), "ok") << value;
  }
  for (const char* value : {"", "0", "4194305", "many"}) {
    EXPECT_NE(third(std::string("max_processes = ") + value), "ok") << value;
  }
  for (const char* value : {"", ",", "5,", ",5", "5,,6", "5;6"}) {
    EXPECT_NE(third(std::string("allow_groups = ") + value), "ok") << value;
    EXPECT_NE(third(std::string("deny_users = ") + value), "ok") << value;
  }
  for (const char* value : {"", "dev/x", "/dev/../etc", "/dev/x,", "/dev/.."}) {
    EXPECT_NE(third(std::string("gpu_devices = ") + value), "ok") << value;
  }
}

TEST(Rules, OddBytesAreRefused) {
  for (const char c : {'\0', '\r', '\x1b', '\x7f', '\xc3'}) {
    EXPECT_EQ(problem(kRequired + "min_uid = 5" + std::string(1, c) + "\n"),
              "launch.conf:3: contains a character other than printable ASCII");
    EXPECT_NE(problem(kRequired + "# " + std::string(1, c)), "ok");
  }
}

TEST(Rules, SizesAreLimited) {
  std::string list = "deny_users = 1";
  for (int i = 2; i <= 256; ++i) list += "," + std::to_string(i);
  EXPECT_EQ(rules_of(list).deny_users.size(), 256u);
  EXPECT_NE(problem(kRequired + list + ",257"), "ok");
  std::string text = kRequired + "#";
  text.resize(kMaxRulesBytes, 'x');
  EXPECT_EQ(problem(text), "ok");
  EXPECT_EQ(problem(text + "x"), "launch.conf: longer than 64 KiB");
}

TEST(Rules, TheServicesAreRequiredAndDifferent) {
  const std::string both =
      "launch.conf: manager_uid and grant_uid: set both, to two different users";
  EXPECT_EQ(problem(""), both);
  EXPECT_EQ(problem("manager_uid = 900\n"), both);
  EXPECT_EQ(problem("grant_uid = 900\n"), both);
  EXPECT_EQ(problem("grant_uid = 900\nmanager_uid = 900\n"), both);
}

TEST(Rules, MayRun) {
  Rules rules = rules_of("");
  const std::vector<gid_t> groups{2000, 2001};
  const auto reason = [&](uid_t uid, gid_t gid = 2000) {
    const MaybeError error = may_run(rules, uid, gid, groups);
    return error ? error->message : "";
  };
  const std::string root = "jobs do not run as root";
  const std::string service = "this user runs a service of Muster";
  const std::string low = "the uid is below min_uid of launch.conf";
  const std::string denied = "in deny_users of launch.conf";
  const std::string group = "not in a group of allow_groups in launch.conf";
  EXPECT_EQ(reason(1000), "");
  EXPECT_EQ(reason(999), low);
  EXPECT_EQ(reason(1), low);
  EXPECT_EQ(reason(0), root);
  EXPECT_EQ(reason(1000, 0), root);
  EXPECT_EQ(reason(0xffffffff), root);
  EXPECT_EQ(reason(1000, 0xffffffff), root);
  EXPECT_EQ(reason(0xfffffffe), "");
  rules.manager_uid = 1500;
  rules.grant_uid = 1501;
  EXPECT_EQ(reason(1500), service);
  EXPECT_EQ(reason(1501), service);
  rules.deny_users = {1600};
  EXPECT_EQ(reason(1600), denied);
  rules.allow_groups = {{2001}};
  EXPECT_EQ(reason(1000), "");
  EXPECT_EQ(reason(1600), denied);
  rules.allow_groups = {{2002}};
  EXPECT_EQ(reason(1000), group);
  EXPECT_EQ(reason(1000, 2002), "");
  rules.allow_groups = std::vector<gid_t>{};
  EXPECT_EQ(reason(1000), group);
}

TEST(Rules, TheFileMustBeRoots) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to create a file of root";
  const Folder folder;
  folder.write("launch.conf", kRequired);
  const std::string path = folder / "launch.conf";
  EXPECT_TRUE(load_rules(path).ok());
  for (const mode_t mode : {0644U, 0640U, 0660U, 0400U, 04600U, 0700U}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    const auto rules = load_rules(path);
    ASSERT_FALSE(rules.ok()) << mode;
    EXPECT_EQ(rules.error().code, ErrorCode::kForbidden);
  }
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  ASSERT_EQ(::chown(path.c_str(), 1, 0), 0);
  EXPECT_EQ(load_rules(path).error().message, "must be a regular file of root with mode 0600");
  ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  EXPECT_TRUE(load_rules(path).ok());
  ASSERT_EQ(::symlink(path.c_str(), (folder / "link").c_str()), 0);
  EXPECT_FALSE(load_rules(folder / "link").ok());
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_FALSE(load_rules(folder / "fifo").ok());
  EXPECT_FALSE(load_rules(folder.path()).ok());
  EXPECT_EQ(load_rules(folder / "none").error().code, ErrorCode::kSystem);
  folder.write("large", kRequired + "#" + std::string(kMaxRulesBytes, 'x'));
  EXPECT_EQ(load_rules(folder / "large").error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace muster
