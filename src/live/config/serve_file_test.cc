#include "live/config/serve_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/types/testing.h"

namespace muster {
namespace {

Result<ServeFile> parse(std::string_view text) { return parse_serve_file(text, "/etc/m/s.yaml"); }

std::string refused(std::string_view text) { return error_text(parse_serve_file(text, "s.yaml")); }

TEST(ServeFile, SaysEverythingByDefault) {
  for (const char* nothing : {"", "\n", "# a remark alone\n", "---\n", "{}\n"}) {
    const Result<ServeFile> file = parse(nothing);
    ASSERT_TRUE(file.ok()) << file.error().message;
    const ServeFile& serve = file.value();
    EXPECT_EQ(serve.virtual_gpus, 4);
    EXPECT_TRUE(serve.nodes.empty());
    EXPECT_EQ(serve.scheduler.policy, "");
    EXPECT_EQ(serve.scheduler.estimates, "history");
    EXPECT_EQ(serve.scheduler.retry, "adaptive");
    EXPECT_EQ(serve.scheduler.min_run, Duration::seconds(300));
    EXPECT_FALSE(serve.tenants.has_value());
    EXPECT_EQ(serve.grace, Duration::seconds(30));
    EXPECT_EQ(serve.retention, Duration::seconds(2'592'000));
    EXPECT_EQ(serve.log_cap_bytes, 16'777'216);
    EXPECT_EQ(serve.most_queued, 100'000);
    EXPECT_EQ(serve.listen.socket, "");
    EXPECT_FALSE(serve.listen.tcp.has_value());
    EXPECT_TRUE(serve.listen.browsers);
    EXPECT_EQ(serve.listen.max_connections, 256);
    EXPECT_FALSE(serve.closed);
    EXPECT_FALSE(serve.share_account);
    EXPECT_EQ(serve.access.visibility, Visibility::kOwn);
    EXPECT_TRUE(serve.access.hide_names);
    EXPECT_EQ(serve.access.user_priority, (PriorityRange{-100, 0}));
    EXPECT_EQ(serve.cgroup, "/muster");
  }
}

// Most keys of the file, with values other than the defaults.
constexpr std::string_view kEveryKey =
    "virtual_gpus: 8\n"
    "nodes:\n"
    "  - {name: a, gpus: 2, cpus: 1.5, mem: 0.5, gpu_type: v100, rack: r}\n"
    "  - {gpus: 4}\n"
    "scheduler: {preset: p, policy: q, mechanism: m, placement: l, round: 5m, min_run: 1m,\n"
    "            quantum: 10s, estimates: user, retry: \"fixed:3\", checkpoint_interval: 2m}\n"
    "tenants: {list: [{name: t, quota: 3, users: [ann], groups: ['*'], admins: [vera]}]}\n"
    "profiles: zoo.yaml\n"
    "grace: 5s\n"
    "retention: 1d\n"
    "log_cap: 0.5\n"
    "log_files: 0\n"
    "limits: {queued: 10, per_user: 5}\n"
    "listen: {socket: ../m.sock, tcp: \"127.0.0.1:7077\", certificate: /c, key: k, tokens: t,\n"
    "         max_connections: 9}\n"
    "operators: [ann, bob]\n"
    "viewers: {users: [eve], groups: [audit]}\n"
    "others: false\n"
    "mode: personal\n"
    "jobs_share_account: accepted\n"
    "priority: {user: [-5, 0], admin: [-5, 5]}\n"
    "visibility: tenant\n"
    "hide_names: false\n"
    "cgroup: none\n"
    "progress_every: 250ms\n"
    "quarantine: {period: 90s, test: [sh, -c, 'test -e /dev/null']}\n";

TEST(ServeFile, ReadsTheUsersOfTenants) {
  const Result<ServeFile> read = parse(
      "operators: {users: [olga], groups: [ops]}\n"
      "tenants:\n"
      "  list:\n"
      "    - {name: lab, quota: 4, admins: [lea]}\n"
      "    - {name: vision, parent: lab, quota: 2, users: [ann], groups: [vis], admins: [vera]}\n"
      "    - {name: guests, groups: ['*']}\n");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const AccessConfig& access = read.value().access;
  using Names = std::vector<std::string>;
  EXPECT_EQ(access.operators.users, Names{"olga"});
  EXPECT_EQ(access.operators.groups, Names{"ops"});
  ASSERT_EQ(access.tenants.size(), 2U) << "only tenants that take jobs";
  EXPECT_EQ(access.tenants[0].tenant, "vision");
  EXPECT_EQ(access.tenants[0].members.users, Names{"ann"});
  EXPECT_EQ(access.tenants[0].members.groups, Names{"vis"});
  EXPECT_EQ(access.tenants[0].admins, (Names{"vera", "lea"})) << "also the parent's admins";
  EXPECT_EQ(access.tenants[1].members.groups, Names{"*"});
  EXPECT_NE(refused("tenants: {list: [{name: a, quota: 1, users: [x]}, {name: b, parent: a}]}")
                .find("tenants with children take no jobs"),
            std::string::npos);
}

TEST(ServeFile, OthersIsRefusedWithItsReplacements) {
  const std::string why = refused("grace: 1s\nothers: true\n");
  EXPECT_TRUE(why.starts_with("s.yaml:2: others: this manager runs all jobs as ")) << why;
  EXPECT_NE(why.find("'executor: slurm'"), std::string::npos);
  EXPECT_NE(why.find("'jobs_share_account: accepted'"), std::string::npos);
}

TEST(ServeFile, ReadsEveryKeyOfNodes) {
  const Result<ServeFile> read = parse(kEveryKey);
  ASSERT_TRUE(read.ok()) << read.error().message;
  const ServeFile& serve = read.value();
  EXPECT_EQ(serve.virtual_gpus, 8);
  ASSERT_EQ(serve.nodes.size(), 2U);
  EXPECT_EQ(serve.nodes[0].name, "a");
  EXPECT_EQ(serve.nodes[0].gpus, 2);
  EXPECT_EQ(serve.nodes[0].cpu_milli, 1'500);
  EXPECT_EQ(serve.nodes[0].mem_mib, 512);
  EXPECT_EQ(serve.nodes[0].gpu_type, "v100");
  EXPECT_EQ(serve.nodes[0].rack, "r");
  EXPECT_EQ(serve.nodes[1].name, "node-2");
  EXPECT_EQ(serve.nodes[1].gpus, 4);
  EXPECT_EQ(serve.nodes[1].cpu_milli, 0);
  EXPECT_EQ(serve.nodes[1].gpu_type, "gpu");
}

TEST(ServeFile, ReadsEveryKeyOfTheScheduler) {
  const Result<ServeFile> read = parse(kEveryKey);
  ASSERT_TRUE(read.ok()) << read.error().message;
  const ServeFile& serve = read.value();
  EXPECT_EQ(serve.scheduler.preset, "p");
  EXPECT_EQ(serve.scheduler.policy, "q");
  EXPECT_EQ(serve.scheduler.mechanism, "m");
  EXPECT_EQ(serve.scheduler.placement, "l");
  EXPECT_EQ(serve.scheduler.round, Duration::seconds(300));
  EXPECT_EQ(serve.scheduler.min_run, Duration::seconds(60));
  EXPECT_EQ(serve.scheduler.quantum, Duration::seconds(10));
  EXPECT_EQ(serve.scheduler.estimates, "user");
  EXPECT_EQ(serve.scheduler.retry, "fixed:3");
  EXPECT_EQ(serve.scheduler.checkpoint_interval, Duration::seconds(120));
}

TEST(ServeFile, ReadsEveryOtherKey) {
  const Result<ServeFile> read = parse(kEveryKey);
  ASSERT_TRUE(read.ok()) << read.error().message;
  const ServeFile& serve = read.value();
  ASSERT_TRUE(serve.tenants.has_value());
  EXPECT_EQ(serve.tenants->size(), 1U);
  EXPECT_EQ(serve.profiles, "/etc/m/zoo.yaml");
  EXPECT_EQ(serve.grace, Duration::seconds(5));
  EXPECT_EQ(serve.retention, Duration::seconds(86'400));
  EXPECT_EQ(serve.log_cap_bytes, 524'288);
  EXPECT_EQ(serve.log_files, 0);
  EXPECT_EQ(serve.most_queued, 10);
  EXPECT_EQ(serve.most_queued_per_user, 5);
  EXPECT_EQ(serve.listen.socket, "/etc/m.sock");
  EXPECT_EQ(serve.listen.tcp, (TcpAddress{"127.0.0.1", 7077}));
  EXPECT_EQ(serve.listen.certificate, "/c");
  EXPECT_EQ(serve.listen.key, "/etc/m/k");
  EXPECT_EQ(serve.listen.tokens, "/etc/m/t");
  EXPECT_EQ(serve.listen.max_connections, 9);
  EXPECT_TRUE(serve.closed);
  EXPECT_TRUE(serve.share_account);
  EXPECT_EQ(serve.mode, "personal");
  EXPECT_EQ(serve.cgroup, "");
  EXPECT_EQ(serve.progress_every, Duration::micros(250'000));
  EXPECT_EQ(serve.quarantine, Duration::seconds(90));
  EXPECT_EQ(serve.node_test, (std::vector<std::string>{"sh", "-c", "test -e /dev/null"}));
}

TEST(ServeFile, AJobIsSafeUntilItsFirstCheckpointUnlessToldOtherwise) {
  EXPECT_EQ(parse("scheduler: {checkpoint_interval: 7m}").value().scheduler.min_run,
            Duration::seconds(420));
}

TEST(ServeFile, ReadsAddresses) {
  const auto tcp = [](const std::string& text) {
    const Result<ServeFile> file = parse("listen: {tokens: t, tcp: \"" + text + "\"}");
    return file.ok() ? file.value().listen.tcp : std::nullopt;
  };
  EXPECT_EQ(tcp("[::1]:80"), (TcpAddress{"::1", 80}));
  EXPECT_EQ(tcp("0.0.0.0:0"), (TcpAddress{"0.0.0.0", 0}));
  EXPECT_EQ(tcp("none"), std::nullopt);
  EXPECT_FALSE(parse("listen: {tcp: none}").value().listen.browsers);
  EXPECT_EQ(parse("listen: {names: [gpu.example.org, g-2]}").value().listen.names,
            (std::vector<std::string>{"gpu.example.org", "g-2"}));
  for (const char* bad :
       {"7077", ":7077", "1.2.3.4:", "1.2.3.4:65536", "1.2.3.4:-1", "1.2 .3.4:1", "::1:80", "[]:1",
        "1.2.3.4:1x", "http://1.2.3.4:1", "[::1", "[::1:1", "localhost:7077", "head.lab:0"}) {
    EXPECT_EQ(tcp(bad), std::nullopt) << bad;
  }
}

TEST(ServeFile, SaysWhereSomethingIsWrong) {
  expect_beginnings(
      refused,
      {
          {"- a\n", "s.yaml:1: not a map of virtual_gpus, nodes,"},
          {"grase: 3s\n", "s.yaml:1: unknown key: 'grase'; did you mean 'grace'?"},
          {"virtual_gpus: 65\n", "s.yaml:1: virtual_gpus: not between 1 and 64: '65'"},
          {"virtual_gpus: 0\n", "s.yaml:1: virtual_gpus: not between 1 and 64: '0'"},
          {"nodes: 3\n", "s.yaml:1: nodes: not a list: '3'"},
          {"nodes:\n  - {gpus: 1}\n  - {gpu: 1}\n",
           "s.yaml:3: nodes: unknown key: 'gpu'; did you mean 'gpus'?"},
          {"nodes: [{name: a}, {name: a}]\n", "s.yaml:1: nodes: node named twice: 'a'"},
          {"nodes: [{gpus: 0}]\n", "s.yaml:1: gpus: not between 1 and 64: '0'"},
          {"nodes: [{cpus: 0}]\n", "s.yaml:1: cpus: not between 0.01 and 1000000: '0'"},
          {"scheduler:\n  polisy: fifo\n",
           "s.yaml:2: scheduler: unknown key: 'polisy'; did you mean 'policy'?"},
          {"scheduler: {estimates: oracle}\n",
           "s.yaml:1: estimates: unknown: 'oracle'; one of: user, history, progress"},
          {"scheduler: {round: often}\n",
           "s.yaml:1: round: not a duration: 'often'; write 300s, 5m, 2h or 1d"},
          {"scheduler: {quantum: 0}\n",
           "s.yaml:1: quantum: not between 0.1 and 3155760000 seconds: '0'"},
          {"scheduler: fifo\n", "s.yaml:1: scheduler: not a map of preset"},
          {"tenants: {list: []}\n", "s.yaml:1: list: empty list"},
          {"profiles:\n", "s.yaml:1: profiles: not text: nothing"},
          {"profiles: \"a\\nb\"\n", "s.yaml:1: profiles: not one line: 'a\\x0ab'"},
          {"grace: 2h\n", "s.yaml:1: grace: not between 0 and 3600 seconds: '2h'"},
          {"grace: [1]\n", "s.yaml:1: grace: not a duration: a list"},
          {"log_files: 101\n", "s.yaml:1: log_files: not between 0 and 100: '101'"},
          {"quarantine: {period: 0s}\n", "s.yaml:1: period: not between 1 and 86400 seconds: '0s'"},
          {"quarantine: {test: true}\n", "s.yaml:1: test: not a list"},
          {"quarantine: {until: 1d}\n", "s.yaml:1: quarantine: unknown key: 'until'"},
          {"limits: {queued: 0}\n", "s.yaml:1: queued: not between 1 and 10000000: '0'"},
          {"listen: {tcp: \"localhost:1\", tokens: t}\n",
           "s.yaml:1: tcp: must be ADDRESS:PORT with a numeric address, such as 127.0.0.1:7077 or "
           "[::1]:7077: "},
          {"listen: {tcp: \"127.0.0.1:1\"}\n", "s.yaml:1: tcp: also set 'tokens' to a token file"},
          {"listen: {key: k}\n", "s.yaml:1: listen: set both 'certificate' and 'key', or neither"},
          {"listen: {names: [a b]}\n",
           "s.yaml:1: names: not a host name such as gpu.example.org: 'a b'"},
          {"operators: ann\n", "s.yaml:1: operators: not a list: 'ann'"},
          {"operators: [\"a b\"]\n", "s.yaml:1: operators: a name has only"},
          {"others: yes\n", "s.yaml:1: others: not true or false: 'yes'"},
          {"operators: {user: [a]}\n", "s.yaml:1: operators: unknown key"},
          {"jobs_share_account: yes\n", "s.yaml:1: jobs_share_account: must be 'accepted': 'yes'"},
          {"visibility: tenants\n", "s.yaml:1: visibility: unknown: 'tenants'"},
          {"mode: share\n", "s.yaml:1: mode: unknown: 'share'"},
          {"priority: {user: [-100]}\n", "s.yaml:1: user: must be two numbers"},
          {"priority: {user: [-100, -1]}\n", "s.yaml:1: user: must contain 0"},
          {"priority: {user: [-2000, 0]}\n", "s.yaml:1: user: "},
          {"cgroup: muster\n",
           "s.yaml:1: cgroup: must be an absolute path such as /muster, or 'none': 'muster'"},
          {"cgroup: /a/../b\n",
           "s.yaml:1: cgroup: must be an absolute path such as /muster, or 'none': '/a/../b'"},
          {"cgroup: /\n",
           "s.yaml:1: cgroup: must be an absolute path such as /muster, or 'none': '/'"},
      });
}

TEST(ServeFile, ReadsWhatRunsLeases) {
  EXPECT_EQ(parse_serve_file("", "s.yaml").value().executor, "local");
  const Result<ServeFile> read = parse_serve_file(
      "executor: slurm\nslurm:\n  partition: gpu\n  reservation: muster\n  account: lab\n"
      "  qos: high\n  racks: {n1: left, n2: right}\n  every: 2s\n  timeout: 20s\n"
      "  restart_after: 1h\n",
      "s.yaml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const ServeFile& file = read.value();
  EXPECT_EQ(file.executor, "slurm");
  EXPECT_EQ(file.slurm.partition, "gpu");
  EXPECT_EQ(file.slurm.reservation, "muster");
  EXPECT_EQ(file.slurm.account, "lab");
  EXPECT_EQ(file.slurm.qos, "high");
  EXPECT_EQ(file.slurm.racks.at("n2"), "right");
  EXPECT_EQ(file.slurm.every, Duration::seconds(2));
  EXPECT_EQ(file.slurm.timeout, Duration::seconds(20));
  EXPECT_EQ(file.slurm.restart_after, Duration::seconds(3600));
  const auto refused_by = [](const char* text) {
    constexpr std::string_view kExecutors[] = {"local", "slurm"};
    return parse_serve_file(text, "s.yaml", kExecutors).error().message;
  };
  EXPECT_EQ(parse_serve_file("executor: slrm\n", "s.yaml").value().executor, "slrm");
  EXPECT_EQ(refused_by("executor: slrm\n"),
            "s.yaml:1: executor: unknown: 'slrm'; did you mean 'slurm'?");
  EXPECT_EQ(refused_by("slurm: {partition: a}\n"),
            "s.yaml:1: slurm: only allowed with 'executor: slurm'");
  EXPECT_EQ(refused_by("executor: slurm\nnodes: [{gpus: 1}]\n"),
            "s.yaml:2: nodes: not allowed with 'executor: slurm', which uses the nodes of Slurm");
  EXPECT_EQ(refused_by("executor: slurm\nslurm: {racks: [a]}\n"),
            "s.yaml:2: racks: must be a map of node names to racks");
}

TEST(ServeFile, MayBeAbsentUnlessSomebodyNamedIt) {
  const std::string path = testing::TempDir() + "serve_file_test.yaml";
  std::filesystem::remove(path);
  EXPECT_TRUE(read_serve_file(path).ok());
  EXPECT_EQ(read_serve_file(path, true).error().message, path + ": no such file");
  std::ofstream(path) << "profiles: p.yaml\n";
  const std::filesystem::path from =
      std::filesystem::path(path).lexically_relative(std::filesystem::current_path());
  EXPECT_EQ(read_serve_file(from.string()).value().profiles, testing::TempDir() + "p.yaml");
  std::filesystem::remove(path);
}

TEST(ServeFile, TheExampleIsOne) {
  const Result<ServeFile> file = read_serve_file(MUSTER_EXAMPLES "/serve.yaml", true);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file.value().nodes.size(), 3U);
  EXPECT_FALSE(file.value().tenants->check(8));
}

}  // namespace
}  // namespace muster
