#include "exec/lease/spec.h"

#include <gtest/gtest.h>

#include <functional>

namespace muster {
namespace {

LaunchSpec full() {
  LaunchSpec spec;
  spec.job = 12;
  spec.epoch = 3;
  spec.token = "0123456789abcdef";
  spec.mark = "fedcba9876543210";
  spec.argv = {"python", "train.py", "", "a \"b\"\n"};
  spec.env = {{"A", ""}, {"B", "x=y\t\xc3\xa9"}};
  spec.cwd = "/home/ann";
  spec.ranks_per = RanksPer::kGpu;
  spec.gpus = {0, 3};
  spec.gpu_filter = true;
  spec.gpu_nodes = {"/dev/nvidia0", "/dev/nvidia3"};
  spec.gpu_uuids = {"GPU-a", "GPU-b"};
  spec.node_rank = 1;
  spec.first_rank = 4;
  spec.world_size = 6;
  spec.master_addr = "node7";
  spec.master_port = 1234;
  spec.cpu_milli = 2500;
  spec.mem_mib = 4096;
  spec.grace_ms = 0;
  spec.time_limit_ms = 5;
  spec.keep_for_ms = 7'000;
  spec.stop_after_ms = 6'000;
  spec.log_cap_bytes = 4096;
  spec.log_files = 0;
  spec.name = "resnet";
  spec.user = "ada";
  spec.remote = true;
  spec.cgroup_parent = "/muster/jobs";
  return spec;
}

TEST(Spec, ComesBackAsItWasWritten) {
  const auto read = read_spec(spec_json(full()));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read.value() == full());
  EXPECT_EQ(local_ranks(full()), 2);
  EXPECT_EQ(lease_name(full()), "j12.e3.n1");
}

TEST(Spec, OlderRecordsSayNothingOfBeingKept) {
  LaunchSpec older = full();
  older.gpu_filter = false;  // spec_json() then writes no key about devices.
  older.gpu_nodes.clear();
  older.gpu_uuids.clear();
  std::string text = spec_json(older);
  for (const std::string key : {"mark", "keep_for_ms", "stop_after_ms", "name", "user", "remote"}) {
    const std::size_t at = text.find("\"" + key + "\"");
    text.erase(at, text.find('\n', at) - at);
  }
  older.keep_for_ms = older.stop_after_ms = 0;
  older.mark.clear();
  older.name.clear();
  older.user.clear();
  older.remote = false;
  EXPECT_TRUE(read_spec(text).value() == older);
  EXPECT_EQ(mark_of(older), older.token);
  EXPECT_EQ(mark_of(full()), "fedcba9876543210");
}

TEST(Spec, RefusesInOneLine) {
  const auto trouble = [](const std::function<void(LaunchSpec&)>& spoil) {
    LaunchSpec spec = full();
    spoil(spec);
    const auto refusal = check_spec(spec);
    return refusal ? refusal->message : "";
  };
  using S = LaunchSpec;
  EXPECT_EQ(trouble([](S&) {}), "");
  EXPECT_EQ(trouble([](S& s) { s.token = "short"; }),
            "token: must have 16 to 64 characters of [0-9a-z]");
  EXPECT_EQ(trouble([](S& s) { s.token = "../../../../../etc"; }),
            "token: must have 16 to 64 characters of [0-9a-z]");
  EXPECT_EQ(trouble([](S& s) { s.argv.clear(); }), "argv: no command");
  EXPECT_EQ(trouble([](S& s) { s.argv[1] = std::string("a\0b", 3); }),
            "argv: a zero byte in 'a\\x00b'");
  EXPECT_EQ(trouble([](S& s) { s.cwd = "home"; }), "cwd: not an absolute path: 'home'");
  EXPECT_EQ(trouble([](S& s) { s.env = {{"A B", "c"}}; }), "env: not a variable name: 'A B'");
  EXPECT_EQ(trouble([](S& s) {
              s.env = {{"MUSTER_JOB", "c"}};
            }),
            "env: MUSTER_JOB is reserved for Muster");
  EXPECT_EQ(trouble([](S& s) { s.gpus.clear(); }), "ranks: 0 is not between 1 and 1024");
  EXPECT_EQ(trouble([](S& s) { s.first_rank = 5; }),
            "first_rank: 5 and 2 local ranks exceed world_size 6");
  EXPECT_EQ(trouble([](S& s) { s.cpu_milli = 0; }),
            "cpu_milli: 0 is not between 10 and 1000000000");
  EXPECT_EQ(trouble([](S& s) { s.gpu_nodes = {"/etc/passwd"}; }),
            "gpu_nodes: not a path below /dev: '/etc/passwd'");
  EXPECT_EQ(trouble([](S& s) { s.gpu_uuids.pop_back(); }),
            "gpu_uuids: must have one entry per GPU");
  EXPECT_EQ(trouble([](S& s) { s.gpu_filter = false; }), "gpu_nodes, gpu_uuids: need gpu_filter");
  EXPECT_EQ(trouble([](S& s) { s.cgroup_parent = "/a/../b"; }),
            "cgroup_parent: not an absolute path such as /muster: '/a/../b'");
}

TEST(Spec, ReadsStrictly) {
  const auto trouble = [](std::string from, const std::string& to) {
    std::string text = spec_json(full());
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const auto read = read_spec(text);
    return read.ok() ? "" : read.error().message;
  };
  EXPECT_EQ(trouble("\"version\": 1", "\"version\": 2"), "version: 2 is not between 1 and 1");
  EXPECT_EQ(trouble("\"mem_mib\": 4096", "\"mem_mib\": \"4\""), "mem_mib: not a whole number");
  EXPECT_EQ(trouble("\"mem_mib\": 4096", "\"mem_mib\": 18446744073709551615"),
            "mem_mib: not a whole number");
  EXPECT_EQ(trouble("\"mem_mib\"", "\"memory\""), "mem_mib: missing");
  EXPECT_EQ(trouble("{", "{\"grace_m\": 1,"), "unknown key 'grace_m'; did you mean 'grace_ms'?");
  EXPECT_EQ(trouble("\"gpu\"", "\"rack\""), "ranks_per: must be 'node' or 'gpu'");
  EXPECT_EQ(trouble("{", "["), "not JSON");
  EXPECT_EQ(read_spec(std::string(kMaxSpecBytes + 1, ' ')).error().message,
            "longer than 4194304 bytes");
  EXPECT_EQ(read_spec(std::string(1 << 20, '[')).error().message, "not JSON");
}

}  // namespace
}  // namespace muster
