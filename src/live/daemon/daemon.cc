#include "live/daemon/daemon.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "api/server/server.h"
#include "base/os/account.h"
#include "base/os/files.h"
#include "base/text/text.h"
#include "live/access/access_gate.h"
#include "live/access/manager_mode.h"
#include "live/config/serve_file.h"
#include "live/config/settings.h"
#include "live/config/site.h"
#include "live/config/state_directory.h"
#include "live/daemon/background.h"
#include "live/lease/executor_lease_runner.h"
#include "live/manager/manager.h"

namespace muster {

namespace {

// Default port of the dashboard. If it is in use, the daemon picks another port and keeps it,
// because open pages and tickets are bound to one address.
constexpr std::uint16_t kPortForBrowsers = 7070;
constexpr const char* kPortFile = "browser-port";

// Digest of the configuration file that the running manager has read.
constexpr const char* kConfigDigestFile = "config.digest";

std::uint16_t kept_port(const std::string& home) {
  const Result<Fd> directory = open_directory(home);
  if (!directory.ok()) return kPortForBrowsers;
  const Result<std::string> text = read_file(directory.value().get(), kPortFile, 16);
  const Result<std::int64_t> port = parse_int(text.ok() ? trim(text.value()) : "");
  const bool good = port.ok() && port.value() >= 1024 && port.value() <= 65'535;
  return good ? static_cast<std::uint16_t>(port.value()) : kPortForBrowsers;
}

MaybeError keep_port(const std::string& home, std::uint16_t port) {
  const Result<Fd> directory = open_directory(home);
  if (!directory.ok()) return directory.error();
  return write_whole(directory.value(), kPortFile, std::to_string(port) + "\n");
}

ServerSettings server_settings(const ServeFile& file, const std::string& home) {
  ServerSettings settings;
  settings.socket_path = file.listen.socket.empty() ? home + "/muster.sock" : file.listen.socket;
  settings.auth.hosts = file.listen.names;
  if (file.listen.tcp) {
    const TcpAddress& tcp = *file.listen.tcp;
    const bool v6 = tcp.host.find(':') != std::string::npos;
    settings.tcp_address =
        fmt::format("{}{}{}:{}", v6 ? "[" : "", tcp.host, v6 ? "]" : "", tcp.port);
  } else if (file.listen.browsers) {
    settings.tcp_address = fmt::format("127.0.0.1:{}", kept_port(home));
    settings.or_any_port = true;
  }
  settings.ticket_key = home + "/ticket.key";
  settings.token_file = file.listen.tokens;
  settings.certificate = file.listen.certificate;
  settings.key = file.listen.key;
  settings.max_connections = static_cast<std::size_t>(file.listen.max_connections);
  // All users of a tunnel share one address.
  settings.max_per_peer = std::max(settings.max_per_peer, settings.max_connections / 2);
  return settings;
}

std::string config_path(const DaemonOptions& options) {
  return options.config.empty() ? options.home + "/config.yaml" : options.config;
}

Result<ServeFile> read_config(const DaemonOptions& options) {
  return read_serve_file(config_path(options), !options.config.empty(), executor_names());
}

// Called when the manager starts; has_changed_config() reads the file.
MaybeError keep_config_digest(const std::string& home, const std::string& digest) {
  const Result<Fd> directory = open_directory(home);
  if (!directory.ok()) return directory.error();
  return write_whole(directory.value(), kConfigDigestFile, digest + "\n");
}

// Checked here because the messages name lines of the file, which the settings no longer contain.
MaybeError check_quotas(const ServeFile& file, const Site& site) {
  if (!file.tenants) return std::nullopt;
  std::int32_t gpus = 0;
  for (const NodeDescription& node : site.nodes) gpus += node.gpus;
  return file.tenants->check(gpus);
}

std::string described(const Site& site, const RosterSettings& has) {
  const Resources& total = has.topology.total();
  const bool all_virtual = site.nodes.front().gpus_virtual;
  return fmt::format("{} {}GPU{} on {} node{}, {:g} CPUs, {:g} GiB; isolation {}", total.gpus,
                     all_virtual ? "virtual " : "", total.gpus == 1 ? "" : "s",
                     has.topology.node_count(), has.topology.node_count() == 1 ? "" : "s",
                     static_cast<double>(total.cpu_milli) / 1000,
                     static_cast<double>(total.mem_mib * 10 / 1024) / 10, site.isolation);
}

// Only one thread waits for the signals that end the daemon, so no other thread is interrupted.
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
      // The destructor wakes this thread with SIGUSR1. From any other process the signal is
      // ignored.
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

// The validated configuration.
struct Plan {
  ServeFile file;
  Site site;
  AccountMode account;
  std::string scheduling;
  ServerSettings serving;
};

Result<AccountMode> mode_of(const ServeFile& file, const Site& site) {
  const Result<Account> own = find_account(::geteuid());
  return find_mode({.elsewhere = site.elsewhere,
                    .as_submitter = site.as_submitter,
                    .share_account = file.share_account,
                    .closed = file.closed,
                    .wanted = file.mode},
                   own.ok() ? own.value().name : std::to_string(::geteuid()), ::geteuid());
}

void admit_by(const AccountMode& account, const AccessConfig& access, AuthSettings& auth) {
  auth.others = account.admits_others;
  // Only the server's thread calls it.
  const auto gate = std::make_shared<AccessGate>(account, access, std::make_unique<SystemUsers>());
  auth.admit = [gate](Caller& caller) { return gate->admit(caller); };
}

std::string own_signatures(const std::string& home) { return home + "/signatures.yaml"; }

// Detects all errors without acquiring anything. --check stops after this.
Result<Plan> make_plan(const DaemonOptions& options) {
  Plan plan;
  Result<ServeFile> read = read_config(options);
  if (!read.ok()) return read.error();
  plan.file = std::move(read).value();
  Result<Site> site = find_site(plan.file, options.home);
  if (!site.ok()) return site.error();
  plan.site = std::move(site).value();
  Result<AccountMode> account = mode_of(plan.file, plan.site);
  if (!account.ok()) return account.error();
  plan.account = std::move(account).value();
  Result<std::string> scheduling = settings_text(plan.file, plan.site.nodes);
  if (!scheduling.ok()) return scheduling.error();
  plan.scheduling = std::move(scheduling).value();
  if (const MaybeError refusal = check_quotas(plan.file, plan.site)) return *refusal;
  const Result<RosterSettings> roster = roster_settings(plan.scheduling);
  if (!roster.ok())
    return Error{config_path(options) + ": " + roster.error().message, ErrorCode::kInvalid};
  plan.serving = server_settings(plan.file, options.home);
  admit_by(plan.account, plan.file.access, plan.serving.auth);
  if (const MaybeError refusal = ApiServer::check(plan.serving)) return *refusal;
  const FailureDiagnoser doctor(plan.site.files, own_signatures(options.home));
  if (const MaybeError refusal = doctor.check()) return *refusal;
  if (::access(options.shim.c_str(), X_OK) != 0) {
    return Error{options.shim + ": muster-shim not found; build or reinstall Muster",
                 ErrorCode::kNotFound};
  }
  if (!plan.site.trouble.empty()) options.say(plan.site.trouble);
  options.say(plan.account.text());
  options.say(described(plan.site, roster.value()));
  return plan;
}

ManagerSettings manager_settings(const Plan& plan, const DaemonOptions& options) {
  const ServeFile& file = plan.file;
  ManagerSettings settings;
  settings.home = options.home;
  settings.files = plan.site.files;
  settings.scheduling = plan.scheduling;
  settings.account = plan.account;
  settings.nodes = node_notes(plan.site.nodes);
  settings.launch.grace = file.grace;
  settings.launch.log_cap_bytes = file.log_cap_bytes;
  settings.launch.log_files = file.log_files;
  settings.launch.cgroup_parent = plan.site.cgroup_parent;
  settings.launch.gpus = plan.site.gpus;
  if (!plan.site.node_test.empty()) settings.node_test = plan.site.node_test;
  if (!file.node_test.empty()) settings.node_test = file.node_test;
  settings.retention = file.retention;
  settings.progress_every = file.progress_every;
  settings.profile = file.profile;
  settings.most_queued = static_cast<std::size_t>(file.most_queued);
  settings.most_queued_per_user = static_cast<std::size_t>(file.most_queued_per_user);
  settings.log = options.log;
  settings.what_if = options.what_if;
  return settings;
}

// Open pages and tickets are bound to this port.
void note_port(const ApiServer& server, const DaemonOptions& options) {
  const std::uint16_t wanted = kept_port(options.home);
  const std::uint16_t port = server.tcp_port();
  if (port == wanted) return;
  if (port == 0) {
    return options.log("no address for browsers: " + server.tcp_trouble());
  }
  options.log(fmt::format("port {} is in use; the dashboard is at {}", wanted, server.url()));
  if (const MaybeError refusal = keep_port(options.home, port)) options.log(refusal->message);
}

// The audit has a row for each start, so that it shows when the rights of users changed.
ServerAct start_act(const Plan& plan) {
  const UserList& operators = plan.file.access.operators;
  std::string words = plan.account.text() + "; operators:";
  for (const std::string& name : operators.users) words += " " + name;
  for (const std::string& name : operators.groups) words += " group " + name;
  if (operators.empty()) words += " none";
  return {.caller = {.user = user_name(::geteuid()), .uid = ::geteuid(), .via = "manager"},
          .call = "startManager",
          .status = 200,
          .answer = std::move(words)};
}

// Called when nodes were added, removed or changed while the daemon runs.
void take_nodes(const std::vector<NodeDescription>& nodes, const Plan& plan,
                const DaemonOptions& options, Manager& manager) {
  if (const MaybeError refusal = store_nodes(options.home, nodes)) {
    options.log(refusal->message);
  }
  Result<std::string> scheduling = settings_text(plan.file, nodes);
  if (!scheduling.ok()) return options.log(scheduling.error().message);
  const Result<RosterSettings> roster = roster_settings(scheduling.value());
  if (!roster.ok())
    return options.log("invalid settings for the current nodes: " + roster.error().message);
  manager.change_settings(std::move(scheduling).value(), node_notes(nodes));
}

}  // namespace

Result<std::string> socket_of(const DaemonOptions& options) {
  const Result<ServeFile> file = read_config(options);
  if (!file.ok()) return file.error();
  return server_settings(file.value(), options.home).socket_path;
}

Result<std::string> mode_text(const DaemonOptions& options) {
  const Result<ServeFile> file = read_config(options);
  if (!file.ok()) return file.error();
  const Result<Site> site = find_site(file.value(), options.home);
  if (!site.ok()) return site.error();
  const Result<AccountMode> mode = mode_of(file.value(), site.value());
  if (!mode.ok()) return mode.error();
  return mode.value().text();
}

bool has_changed_config(const DaemonOptions& options) {
  const Result<Fd> directory = open_directory(options.home);
  if (!directory.ok()) return false;
  const Result<std::string> kept = read_file(directory.value().get(), kConfigDigestFile, 64);
  const Result<ServeFile> file = read_config(options);
  return kept.ok() && file.ok() && trim(kept.value()) != file.value().digest;
}

MaybeError run_daemon(const DaemonOptions& options) {
  const Result<Plan> plan = make_plan(options);
  if (!plan.ok()) return plan.error();
  if (options.check_only) return std::nullopt;
  const ServerSettings& serving = plan.value().serving;
  // A manager that was just killed may still hold the journal. Manager::open() rejects a running
  // one.
  daemon_state(options.home, serving.socket_path);
  Result<std::unique_ptr<Manager>> opened = Manager::open(manager_settings(plan.value(), options));
  if (!opened.ok()) return opened.error();
  Manager& manager = *opened.value();
  if (const MaybeError error =
          store_mode(options.home, std::string(name_of(plan.value().account.mode)))) {
    return error;
  }
  if (const MaybeError error = keep_config_digest(options.home, plan.value().file.digest)) {
    options.log(error->message);
  }
  if (plan.value().site.elsewhere && plan.value().site.trouble.empty()) {
    if (const MaybeError refusal = store_nodes(options.home, plan.value().site.nodes)) {
      options.log(refusal->message);
    }
  }

  const SignalWatch signals([&manager] { manager.stop(); });
  Result<std::unique_ptr<Executor>> executor =
      open_executor(plan.value().file, plan.value().site, options.shim, manager.instance().id);
  if (!executor.ok()) return executor.error();
  ExecutorLeaseRunner runner(
      std::move(executor).value(),
      FailureDiagnoser(plan.value().site.files, own_signatures(options.home)),
      [&manager](std::vector<Input> news) { manager.news(std::move(news)); },
      [&](const std::vector<NodeDescription>& nodes) {
        take_nodes(nodes, plan.value(), options, manager);
      },
      options.log);
  runner.stop_unknown_leases(manager.leases());
  manager.use(runner);
  Result<std::unique_ptr<ApiServer>> server = ApiServer::open(serving, manager);
  if (!server.ok()) return server.error();
  const std::string& url = server.value()->url();
  if (serving.or_any_port) note_port(*server.value(), options);
  options.say("serving on " + serving.socket_path + (url.empty() ? "" : " and " + url));
  manager.record(start_act(plan.value()));
  const MaybeError refusal = manager.run();
  server.value()->stop();
  return refusal;
}

}  // namespace muster
