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
#include "base/os/files.h"
#include "base/text/text.h"
#include "live/config/serve_file.h"
#include "live/config/settings.h"
#include "live/config/site.h"
#include "live/daemon/background.h"
#include "live/lease/exec_hands.h"
#include "live/manager/manager.h"

namespace muster {

namespace {

// Where the dashboard is if nothing else is said; another port if that one is taken, and then the
// same again, since pages that are open and tickets are of one address.
constexpr std::uint16_t kPortForBrowsers = 7070;
constexpr const char* kPortFile = "browser-port";

std::uint16_t kept_port(const std::string& home) {
  const Result<Fd> directory = open_directory(home);
  if (!directory.ok()) return kPortForBrowsers;
  const Result<std::string> text = read_file(directory.value().get(), kPortFile, 16);
  const Result<std::int64_t> port = parse_int(text.ok() ? trim(text.value()) : "");
  const bool good = port.ok() && port.value() >= 1024 && port.value() <= 65'535;
  return good ? static_cast<std::uint16_t>(port.value()) : kPortForBrowsers;
}

Refusal keep_port(const std::string& home, std::uint16_t port) {
  const Result<Fd> directory = open_directory(home);
  if (!directory.ok()) return directory.error();
  return write_whole(directory.value(), kPortFile, std::to_string(port) + "\n");
}

ServerSettings server_settings(const ServeFile& file, const std::string& home) {
  ServerSettings settings;
  settings.socket_path = file.listen.socket.empty() ? home + "/muster.sock" : file.listen.socket;
  settings.auth.operators = file.operators;
  settings.auth.others = file.others;
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
  // Everybody who comes through a tunnel comes from one address.
  settings.max_per_peer = std::max(settings.max_per_peer, settings.max_connections / 2);
  return settings;
}

std::string config_path(const DaemonOptions& options) {
  return options.config.empty() ? options.home + "/config.yaml" : options.config;
}

Result<ServeFile> read_config(const DaemonOptions& options) {
  return read_serve_file(config_path(options), !options.config.empty(), executor_names());
}

// By the file's own lines, which the scheduler's settings no longer know.
Refusal check_quotas(const ServeFile& file, const Site& site) {
  if (!file.tenants) return std::nullopt;
  std::int32_t gpus = 0;
  for (const ServerFacts& server : site.servers) gpus += server.gpus;
  return file.tenants->check(gpus);
}

std::string described(const Site& site, const RosterSettings& has) {
  const Resources& total = has.topology.total();
  const bool all_virtual = site.servers.front().gpus_virtual;
  return fmt::format("{} {}GPU{} on {} server{}, {:g} CPUs, {:g} GiB; isolation {}", total.gpus,
                     all_virtual ? "virtual " : "", total.gpus == 1 ? "" : "s",
                     has.topology.node_count(), has.topology.node_count() == 1 ? "" : "s",
                     static_cast<double>(total.cpu_milli) / 1000,
                     static_cast<double>(total.mem_mib * 10 / 1024) / 10, site.isolation);
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

// Everything the configuration says, found to be right.
struct Plan {
  ServeFile file;
  Site site;
  std::string scheduling;
  ServerSettings serving;
};

std::string own_signatures(const std::string& home) { return home + "/signatures.yaml"; }

// Whatever could be refused later is refused here, without taking any place: --check does no more.
Result<Plan> make_plan(const DaemonOptions& options) {
  Result<ServeFile> read = read_config(options);
  if (!read.ok()) return read.error();
  Plan plan;
  plan.file = std::move(read).value();
  Result<Site> site = find_site(plan.file, options.home);
  if (!site.ok()) return site.error();
  plan.site = std::move(site).value();
  if (plan.file.others && ::geteuid() == 0 && !plan.site.as_submitter) {
    return Error{
        "others: jobs run as the manager's user, which is root; run 'muster serve' as a "
        "user of its own to let others in",
        ErrorCode::kInvalid};
  }
  Result<std::string> scheduling = settings_text(plan.file, plan.site.servers);
  if (!scheduling.ok()) return scheduling.error();
  plan.scheduling = std::move(scheduling).value();
  if (const Refusal refusal = check_quotas(plan.file, plan.site)) return *refusal;
  const Result<RosterSettings> roster = roster_settings(plan.scheduling);
  if (!roster.ok())
    return Error{config_path(options) + ": " + roster.error().message, ErrorCode::kInvalid};
  plan.serving = server_settings(plan.file, options.home);
  if (const Refusal refusal = ApiServer::check(plan.serving)) return *refusal;
  const Doctor doctor(plan.site.files, own_signatures(options.home));
  if (const Refusal refusal = doctor.check()) return *refusal;
  if (::access(options.shim.c_str(), X_OK) != 0) {
    return Error{options.shim + ": the program muster-shim is not there", ErrorCode::kNotFound};
  }
  if (!plan.site.trouble.empty()) options.say(plan.site.trouble);
  options.say(described(plan.site, roster.value()));
  return plan;
}

ManagerSettings manager_settings(const Plan& plan, const DaemonOptions& options) {
  const ServeFile& file = plan.file;
  ManagerSettings settings;
  settings.home = options.home;
  settings.files = plan.site.files;
  settings.scheduling = plan.scheduling;
  settings.nodes = node_notes(plan.site.servers);
  settings.launch.grace = file.grace;
  settings.launch.log_cap_bytes = file.log_cap_bytes;
  settings.launch.log_files = file.log_files;
  settings.launch.cgroup_parent = plan.site.cgroup_parent;
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

// Pages that are open and tickets are of the address that was found.
void note_port(const ApiServer& server, const DaemonOptions& options) {
  const std::uint16_t wanted = kept_port(options.home);
  const std::uint16_t port = server.tcp_port();
  if (port == wanted) return;
  if (port == 0) {
    return options.log("no address for browsers to be had on " + server.tcp_trouble());
  }
  options.log(
      fmt::format("port {} is taken by another; the dashboard is on {}", wanted, server.url()));
  if (const Refusal refusal = keep_port(options.home, port)) options.log(refusal->message);
}

// Servers have come, gone or changed while we run.
void take_servers(const std::vector<ServerFacts>& servers, const Plan& plan,
                  const DaemonOptions& options, Manager& manager) {
  if (const Refusal refusal = remember_servers(options.home, servers)) {
    options.log(refusal->message);
  }
  Result<std::string> scheduling = settings_text(plan.file, servers);
  if (!scheduling.ok()) return options.log(scheduling.error().message);
  const Result<RosterSettings> roster = roster_settings(scheduling.value());
  if (!roster.ok()) return options.log("with the servers of now: " + roster.error().message);
  manager.change_settings(std::move(scheduling).value(), node_notes(servers));
}

}  // namespace

Result<std::string> socket_of(const DaemonOptions& options) {
  const Result<ServeFile> file = read_config(options);
  if (!file.ok()) return file.error();
  return server_settings(file.value(), options.home).socket_path;
}

Refusal run_daemon(const DaemonOptions& options) {
  const Result<Plan> plan = make_plan(options);
  if (!plan.ok()) return plan.error();
  if (options.check_only) return std::nullopt;
  const ServerSettings& serving = plan.value().serving;
  // One that was killed a moment ago may still have the journal; one that serves is refused there.
  standing_of(options.home, serving.socket_path);
  Result<std::unique_ptr<Manager>> opened = Manager::open(manager_settings(plan.value(), options));
  if (!opened.ok()) return opened.error();
  Manager& manager = *opened.value();
  if (plan.value().site.elsewhere && plan.value().site.trouble.empty()) {
    if (const Refusal refusal = remember_servers(options.home, plan.value().site.servers)) {
      options.log(refusal->message);
    }
  }

  const SignalWatch signals([&manager] { manager.stop(); });
  Result<std::unique_ptr<Executor>> executor =
      open_executor(plan.value().file, plan.value().site, options.shim, manager.instance().id);
  if (!executor.ok()) return executor.error();
  ExecHands hands(
      std::move(executor).value(), Doctor(plan.value().site.files, own_signatures(options.home)),
      [&manager](std::vector<Input> news) { manager.news(std::move(news)); },
      [&](const std::vector<ServerFacts>& servers) {
        take_servers(servers, plan.value(), options, manager);
      },
      options.log);
  hands.stop_strangers(manager.leases());
  manager.use(hands);
  Result<std::unique_ptr<ApiServer>> server = ApiServer::open(serving, manager);
  if (!server.ok()) return server.error();
  const std::string& url = server.value()->url();
  if (serving.or_any_port) note_port(*server.value(), options);
  options.say("serving on " + serving.socket_path + (url.empty() ? "" : " and " + url));
  const Refusal refusal = manager.run();
  server.value()->stop();
  return refusal;
}

}  // namespace muster
