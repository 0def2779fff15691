#include "live/daemon.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <utility>

#include "api/server.h"
#include "config/serve_file.h"
#include "exec/node.h"
#include "live/local_hands.h"
#include "live/manager.h"
#include "live/settings.h"

namespace muster {

namespace {

ServerSettings server_settings(const ServeFile& file, const std::string& home) {
  ServerSettings settings;
  settings.socket_path = file.listen.socket.empty() ? home + "/muster.sock" : file.listen.socket;
  settings.auth.operators = file.operators;
  settings.auth.others = file.others;
  if (file.listen.tcp) {
    const TcpAddress& tcp = *file.listen.tcp;
    const bool v6 = tcp.host.find(':') != std::string::npos;
    settings.tcp_address =
        fmt::format("{}{}{}:{}", v6 ? "[" : "", tcp.host, v6 ? "]" : "", tcp.port);
    settings.auth.hosts.push_back(tcp.host);
  }
  settings.token_file = file.listen.tokens;
  settings.certificate = file.listen.certificate;
  settings.key = file.listen.key;
  settings.max_connections = static_cast<std::size_t>(file.listen.max_connections);
  return settings;
}

Result<ServeFile> read_config(const DaemonOptions& options) {
  const bool named = !options.config.empty();
  return read_serve_file(named ? options.config : options.home + "/config.yaml", named);
}

std::string described(const ServeFile& file, const NodeFacts& machine, const RosterSettings& has) {
  const Resources& total = has.topology.total();
  const bool all_virtual = machine.gpus_virtual || !file.nodes.empty();
  return fmt::format("{} {}GPU{} on {} server{}, {:g} CPUs, {:g} GiB; isolation {}", total.gpus,
                     all_virtual ? "virtual " : "", total.gpus == 1 ? "" : "s",
                     has.topology.node_count(), has.topology.node_count() == 1 ? "" : "s",
                     static_cast<double>(total.cpu_milli) / 1000,
                     static_cast<double>(total.mem_mib * 10 / 1024) / 10,
                     machine.full_isolation ? "full" : "reduced: " + machine.isolation_why);
}

// The signals that end us are waited for by one thread alone, so that no other is interrupted.
class SignalWatch {
 public:
  explicit SignalWatch(std::function<void()> on_end) {
    ::sigemptyset(&set_);
    ::sigaddset(&set_, SIGTERM);
    ::sigaddset(&set_, SIGINT);
    ::sigaddset(&set_, SIGHUP);
    ::sigaddset(&set_, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    thread_ = std::thread([this, on_end = std::move(on_end)] {
      int which = 0;
      // SIGUSR1 is how our destructor wakes us; from anybody else it means nothing.
      while (::sigwait(&set_, &which) == 0 && which != SIGTERM && which != SIGINT && !ended_) {
      }
      on_end();
    });
  }
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  ~SignalWatch() {
    ended_ = true;
    ::pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }

 private:
  sigset_t set_{};
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

}  // namespace

Result<std::string> socket_of(const DaemonOptions& options) {
  const Result<ServeFile> file = read_config(options);
  if (!file.ok()) return file.error();
  return server_settings(file.value(), options.home).socket_path;
}

Refusal run_daemon(const DaemonOptions& options) {
  Result<ServeFile> read = read_config(options);
  if (!read.ok()) return read.error();
  const ServeFile& file = read.value();
  if (file.others && ::geteuid() == 0) {
    return Error{
        "others: jobs run as the manager's user, which is root; run 'muster serve' as a "
        "user of its own to let others in"};
  }
  Result<NodeFacts> machine = find_node(file.virtual_gpus, file.cgroup);
  if (!machine.ok()) return machine.error();
  Result<std::string> scheduling = settings_text(file, machine.value());
  if (!scheduling.ok()) return scheduling.error();
  const Result<RosterSettings> roster = roster_settings(scheduling.value());
  if (!roster.ok()) return roster.error();
  options.say(described(file, machine.value(), roster.value()));
  if (options.check_only) return std::nullopt;
  if (::access(options.shim.c_str(), X_OK) != 0) {
    return Error{options.shim + ": the program muster-shim is not there"};
  }

  ManagerSettings settings;
  settings.home = options.home;
  settings.scheduling = std::move(scheduling).value();
  settings.nodes = node_notes(file, machine.value());
  settings.launch.grace = file.grace;
  settings.launch.log_cap_bytes = file.log_cap_bytes;
  settings.launch.log_files = file.log_files;
  if (machine.value().full_isolation) settings.launch.cgroup_parent = file.cgroup;
  if (!file.node_test.empty()) {
    settings.node_test = file.node_test;
  } else if (!machine.value().gpus_virtual) {
    settings.node_test = {"nvidia-smi", "-L"};
  }
  settings.retention = file.retention;
  settings.progress_every = file.progress_every;
  settings.most_queued = static_cast<std::size_t>(file.most_queued);
  settings.most_queued_per_user = static_cast<std::size_t>(file.most_queued_per_user);
  settings.log = options.log;
  Result<std::unique_ptr<Manager>> opened = Manager::open(std::move(settings));
  if (!opened.ok()) return opened.error();
  Manager& manager = *opened.value();

  const SignalWatch signals([&manager] { manager.stop(); });
  LocalExecutor::Settings exec;
  exec.leases = options.home + "/leases";
  exec.shim = options.shim;
  Result<LocalExecutor> executor = LocalExecutor::open(std::move(exec));
  if (!executor.ok()) return executor.error();
  Doctor doctor(options.home + "/leases", options.home + "/signatures.yaml");
  if (const Refusal refusal = doctor.check()) return refusal;
  LocalHands hands(
      std::move(executor).value(), std::move(doctor),
      [&manager](std::vector<Input> news) { manager.news(std::move(news)); }, options.log);
  hands.stop_strangers(manager.leases());
  manager.use(hands);
  const ServerSettings serving = server_settings(file, options.home);
  Result<std::unique_ptr<ApiServer>> server = ApiServer::open(serving, manager);
  if (!server.ok()) return server.error();
  std::string tcp = serving.tcp_address;  // With the port that was free, if any would do.
  if (!tcp.empty())
    tcp.replace(tcp.rfind(':') + 1, tcp.npos, std::to_string(server.value()->tcp_port()));
  options.say("serving on " + serving.socket_path + (tcp.empty() ? "" : " and " + tcp));
  const Refusal refusal = manager.run();
  server.value()->stop();
  return refusal;
}

}  // namespace muster
