#include "live/config/serve_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "base/file/document.h"
#include "base/file/item_reader.h"
#include "base/file/text_file.h"
#include "base/text/text.h"
#include "base/types/digest.h"
#include "live/config/access_section.h"
#include "workload/input/tenants_file.h"

namespace muster {

namespace {

constexpr std::array<std::string_view, 25> kServeKeys = {
    "virtual_gpus",   "nodes",      "scheduler",  "tenants",
    "profiles",       "grace",      "retention",  "log_cap",
    "log_files",      "limits",     "listen",     "operators",
    "viewers",        "others",     "mode",       "jobs_share_account",
    "priority",       "visibility", "hide_names", "cgroup",
    "progress_every", "quarantine", "profiling",  "executor",
    "slurm"};
constexpr std::array<std::string_view, 6> kNodeKeys = {"name", "gpus",     "cpus",
                                                       "mem",  "gpu_type", "rack"};
constexpr std::array<std::string_view, 10> kSchedulerKeys = {
    "preset",  "policy",  "mechanism", "placement", "round",
    "min_run", "quantum", "estimates", "retry",     "checkpoint_interval"};
constexpr std::array<std::string_view, 2> kLimitKeys = {"queued", "per_user"};
constexpr std::array<std::string_view, 8> kSlurmKeys = {
    "partition", "reservation", "account", "qos", "racks", "every", "timeout", "restart_after"};
constexpr std::array<std::string_view, 2> kQuarantineKeys = {"period", "test"};
constexpr std::array<std::string_view, 7> kListenKeys = {
    "socket", "tcp", "certificate", "key", "tokens", "max_connections", "names"};
constexpr std::array<std::string_view, 3> kEstimates = {"user", "history", "progress"};

constexpr std::size_t kMaxServeNodes = 1'000;
constexpr std::size_t kMaxListenNames = 100;
constexpr std::size_t kMaxTestWords = 100;
constexpr Bounds kServeAmount = {0.01, 1e6};  // CPUs, or GiB.
constexpr Bounds kLogCap = {0.01, 1e6};       // MB.
constexpr Bounds kLogFiles = {0, 100};
constexpr Bounds kQueued = {1, 10'000'000};
constexpr Bounds kConnections = {1, 10'000};
constexpr Duration kShortest = Duration::micros(100'000);
constexpr Duration kHour = Duration::seconds(3'600);
constexpr Duration kDay = Duration::seconds(86'400);

class ServeReader {
 public:
  // Relative paths start at `base`.
  ServeReader(std::string name, std::filesystem::path base,
              std::span<const std::string_view> executors)
      : name_(std::move(name)), base_(std::move(base)), executors_(executors), in_(name_) {}

  Result<ServeFile> read(const Item& root);

 private:
  void read_nodes(const Item& list);
  ServeNode read_node(const Item& entry, std::size_t number);
  void read_scheduler(const Item& section);
  void read_listen(const Item& section);
  TcpAddress read_address(const Item& item);
  std::string read_host(const Item& item);
  void read_output(const Item& root);
  void read_rest(const Item& root);
  void read_quarantine(const Item& section);
  void read_executor(const Item& root);
  std::string read_group(const Item& item);

  // Each sets its target if the map has the key.
  void set_path(const Item& map, std::string_view key, std::string& to);
  void set_duration(const Item& map, std::string_view key, Duration least, Duration most,
                    Duration& to);
  void set_name(const Item& map, std::string_view key, std::string& to) {
    to = in_.name_or(map, key, to);
  }
  void set_count(const Item& map, std::string_view key, Bounds bounds, std::int32_t& to) {
    to = static_cast<std::int32_t>(in_.whole_or(map, key, bounds, to));
  }

  std::string name_;
  std::filesystem::path base_;
  std::span<const std::string_view> executors_;
  ItemReader in_;
  ServeFile out_;
};

Result<ServeFile> ServeReader::read(const Item& root) {
  if (root.kind == Item::Kind::kEmpty) return out_;
  in_.allow_keys(root, kServeKeys);
  set_count(root, "virtual_gpus", {1, kMaxGpusPerNode}, out_.virtual_gpus);
  read_executor(root);
  if (const Item* nodes = root.find("nodes")) read_nodes(*nodes);
  if (const Item* scheduler = root.find("scheduler")) read_scheduler(*scheduler);
  if (const Item* listen = root.find("listen")) read_listen(*listen);
  if (const Item* limits = root.find("limits")) {
    in_.allow_keys(*limits, kLimitKeys);
    set_count(*limits, "queued", kQueued, out_.most_queued);
    set_count(*limits, "per_user", kQueued, out_.most_queued_per_user);
  }
  set_path(root, "profiles", out_.profiles);
  set_duration(root, "grace", Duration(), kHour, out_.grace);
  set_duration(root, "retention", Duration(), kLongestDuration, out_.retention);
  set_duration(root, "progress_every", kShortest, kHour, out_.progress_every);
  if (const Item* quarantine = root.find("quarantine")) read_quarantine(*quarantine);
  read_output(root);
  read_rest(root);
  read_access(root, in_, out_);
  if (in_.failed()) return in_.error();
  if (const Item* section = root.find("tenants")) {
    Result<TenantTree> tenants = read_tenants_section(*section, name_);
    if (!tenants.ok()) return tenants.error();
    out_.tenants = std::move(tenants).value();
    if (const MaybeError refusal = read_tenant_users(*section, name_, out_.access)) return *refusal;
  }
  return std::move(out_);
}

void ServeReader::set_path(const Item& map, std::string_view key, std::string& to) {
  const Item* item = map.find(key);
  if (item == nullptr) return;
  const std::filesystem::path given = in_.line(*item);
  to = (base_ / given).lexically_normal().string();
}

void ServeReader::set_duration(const Item& map, std::string_view key, Duration least, Duration most,
                               Duration& to) {
  if (const Item* item = map.find(key)) to = in_.duration(*item, least, most);
}

void ServeReader::read_nodes(const Item& list) {
  in_.expect_list(list);
  if (list.items.size() > kMaxServeNodes) {
    in_.refuse(list, fmt::format("more than {} nodes", kMaxServeNodes));
  }
  for (const Item& entry : list.items) {
    if (in_.failed()) return;
    ServeNode node = read_node(entry, out_.nodes.size() + 1);
    const auto same = [&](const ServeNode& other) { return other.name == node.name; };
    if (std::any_of(out_.nodes.begin(), out_.nodes.end(), same)) {
      in_.refuse(entry, "node named twice: " + in_quotes(node.name));
    }
    out_.nodes.push_back(std::move(node));
  }
}

ServeNode ServeReader::read_node(const Item& entry, std::size_t number) {
  ServeNode node;
  in_.allow_keys(entry, kNodeKeys);
  const auto amount = [&](std::string_view key, double unit) -> std::int64_t {
    const Item* item = entry.find(key);
    return item == nullptr ? 0 : std::llround(in_.number(*item, kServeAmount) * unit);
  };
  node.name = fmt::format("node-{}", number);
  set_name(entry, "name", node.name);
  set_count(entry, "gpus", {1, kMaxGpusPerNode}, node.gpus);
  node.cpu_milli = amount("cpus", 1000);
  node.mem_mib = amount("mem", 1024);
  set_name(entry, "gpu_type", node.gpu_type);
  set_name(entry, "rack", node.rack);
  return node;
}

void ServeReader::read_scheduler(const Item& section) {
  ServeScheduler& to = out_.scheduler;
  in_.allow_keys(section, kSchedulerKeys);
  set_name(section, "preset", to.preset);
  set_name(section, "policy", to.policy);
  set_name(section, "mechanism", to.mechanism);
  set_name(section, "placement", to.placement);
  set_name(section, "retry", to.retry);
  set_name(section, "estimates", to.estimates);
  if (std::find(kEstimates.begin(), kEstimates.end(), to.estimates) == kEstimates.end()) {
    in_.refuse(*section.find("estimates"),
               "unknown: " + in_quotes(to.estimates) + suggestion(to.estimates, kEstimates));
  }
  if (const Item* round = section.find("round")) {
    to.round = in_.duration(*round, Duration(), kLongestDuration);
  }
  set_duration(section, "checkpoint_interval", Duration(), kLongestDuration,
               to.checkpoint_interval);
  to.min_run = to.checkpoint_interval;
  set_duration(section, "min_run", Duration(), kLongestDuration, to.min_run);
  set_duration(section, "quantum", kShortest, kLongestDuration, to.quantum);
}

void ServeReader::read_listen(const Item& section) {
  ServeListen& to = out_.listen;
  in_.allow_keys(section, kListenKeys);
  set_path(section, "socket", to.socket);
  set_path(section, "certificate", to.certificate);
  set_path(section, "key", to.key);
  set_path(section, "tokens", to.tokens);
  set_count(section, "max_connections", kConnections, to.max_connections);
  const Item* tcp = section.find("tcp");
  if (tcp != nullptr && in_.line(*tcp) == "none") {
    to.browsers = false;
    tcp = nullptr;
  }
  if (tcp != nullptr) to.tcp = read_address(*tcp);
  if (tcp != nullptr && to.tokens.empty()) in_.refuse(*tcp, "also set 'tokens' to a token file");
  if (to.certificate.empty() != to.key.empty()) {
    in_.refuse(section, "set both 'certificate' and 'key', or neither");
  }
  if (section.find("names") == nullptr) return;
  const Item& names = in_.list(section, "names");
  if (names.items.size() > kMaxListenNames) {
    in_.refuse(names, fmt::format("more than {} names", kMaxListenNames));
  }
  for (const Item& name : names.items) {
    if (!in_.failed()) to.names.push_back(read_host(name));
  }
}

// "gpu.example.org", as in a browser's Host header, without the port.
std::string ServeReader::read_host(const Item& item) {
  const std::string text = in_.line(item);
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.';
  };
  if (text.size() > 253 || !std::all_of(text.begin(), text.end(), allowed)) {
    in_.refuse(item, "not a host name such as gpu.example.org: " + in_quotes(text));
  }
  return text;
}

// "127.0.0.1:7077", "[::1]:7077". No host names, because what they resolve to can change.
TcpAddress ServeReader::read_address(const Item& item) {
  const std::string text = in_.line(item);
  const std::size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  const auto allowed = [&](char c) {
    const bool hex = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    return (c >= '0' && c <= '9') || c == '.' || (bracketed && (hex || c == ':'));
  };
  const bool good = !host.empty() && host.size() <= 255 && colon != std::string::npos &&
                    std::all_of(host.begin(), host.end(), allowed);
  const Result<std::int64_t> port = parse_int(good ? text.substr(colon + 1) : "");
  if (!port.ok() || port.value() < 0 || port.value() > 65'535) {
    in_.refuse(
        item,
        "must be ADDRESS:PORT with a numeric address, such as 127.0.0.1:7077 or [::1]:7077: " +
            in_quotes(text));
    return {};
  }
  return {host, static_cast<std::uint16_t>(port.value())};
}

void ServeReader::read_output(const Item& root) {
  const double megabytes = in_.number_or(root, "log_cap", kLogCap, 16);
  out_.log_cap_bytes = std::llround(megabytes * (1 << 20));
  set_count(root, "log_files", kLogFiles, out_.log_files);
}

void ServeReader::read_rest(const Item& root) {
  if (const Item* profiling = root.find("profiling")) {
    constexpr std::array<std::string_view, 2> kWhen = {"first", "never"};
    if (std::find(kWhen.begin(), kWhen.end(), profiling->text) == kWhen.end()) {
      in_.refuse(*profiling, "must be 'first' or 'never': " + in_quotes(profiling->text));
    }
    out_.profile = profiling->text == "first";
  }
  if (const Item* cgroup = root.find("cgroup")) out_.cgroup = read_group(*cgroup);
}

void ServeReader::read_quarantine(const Item& section) {
  in_.allow_keys(section, kQuarantineKeys);
  set_duration(section, "period", Duration::seconds(1), kDay, out_.quarantine);
  if (section.find("test") == nullptr) return;
  const Item& words = in_.list(section, "test");
  if (words.items.size() > kMaxTestWords) {
    in_.refuse(words, fmt::format("more than {} words", kMaxTestWords));
  }
  for (const Item& word : words.items) {
    if (!in_.failed()) out_.node_test.push_back(in_.line(word));
  }
}

void ServeReader::read_executor(const Item& root) {
  if (const Item* executor = root.find("executor")) {
    out_.executor = in_.name(*executor);
    if (!executors_.empty() &&
        std::find(executors_.begin(), executors_.end(), out_.executor) == executors_.end()) {
      in_.refuse(*executor,
                 "unknown: " + in_quotes(out_.executor) + suggestion(out_.executor, executors_));
    }
  }
  const bool slurm = out_.executor == "slurm";
  const Item* nodes = root.find("nodes");
  if (slurm && nodes != nullptr)
    in_.refuse(*nodes, "not allowed with 'executor: slurm', which uses the nodes of Slurm");
  const Item* section = root.find("slurm");
  if (section == nullptr) return;
  if (!slurm) in_.refuse(*section, "only allowed with 'executor: slurm'");
  in_.allow_keys(*section, kSlurmKeys);
  set_name(*section, "partition", out_.slurm.partition);
  set_name(*section, "reservation", out_.slurm.reservation);
  set_name(*section, "account", out_.slurm.account);
  set_name(*section, "qos", out_.slurm.qos);
  set_duration(*section, "every", kShortest, kHour, out_.slurm.every);
  set_duration(*section, "timeout", Duration::seconds(1), kHour, out_.slurm.timeout);
  set_duration(*section, "restart_after", Duration::seconds(1), kLongestDuration,
               out_.slurm.restart_after);
  if (const Item* racks = section->find("racks")) {
    if (racks->kind != Item::Kind::kMap) in_.refuse(*racks, "must be a map of node names to racks");
    for (const Item& node : racks->items) out_.slurm.racks[node.key] = in_.name(node);
  }
}

// "/a/b": an absolute path without "." and "..". Returns an empty string for "none".
std::string ServeReader::read_group(const Item& item) {
  const std::string path = in_.line(item);
  if (path == "none") return "";
  bool good = path.size() >= 2 && path.size() <= 1024 && path[0] == '/';
  for (const std::string_view part : split(std::string_view(path).substr(good ? 1 : 0), '/')) {
    good = good && !part.empty() && part != "." && part != "..";
  }
  if (!good)
    in_.refuse(item, "must be an absolute path such as /muster, or 'none': " + in_quotes(path));
  return path;
}

}  // namespace

Result<ServeFile> parse_serve_file(std::string_view text, const std::string& name,
                                   std::span<const std::string_view> executors) {
  const std::string shown = shown_path(name);
  const Result<Item> root = parse_document(text, shown, IfEmpty::kAccept);
  if (!root.ok()) return root.error();
  return ServeReader(shown, std::filesystem::path(name).parent_path(), executors)
      .read(root.value());
}

Result<ServeFile> read_serve_file(const std::string& path, bool must_exist,
                                  std::span<const std::string_view> executors) {
  std::error_code status;
  if (!must_exist && !std::filesystem::exists(path, status) && !status) return ServeFile{};
  const Result<Item> root = read_document(path, IfEmpty::kAccept);
  if (!root.ok()) return root.error();
  // Absolute, because the manager may change its working directory before it uses them.
  const std::filesystem::path base = std::filesystem::absolute(path, status).parent_path();
  Result<ServeFile> file = ServeReader(shown_path(path), base, executors).read(root.value());
  if (!file.ok()) return file;
  const Result<std::string> text = read_text_file(path, Pipes::kRefused);
  if (!text.ok()) return text.error();
  Digest digest;
  digest.add(std::string_view(text.value()));
  file.value().digest = digest.hex();
  return file;
}

}  // namespace muster
