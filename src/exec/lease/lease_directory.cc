#include "exec/lease/lease_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "base/os/processes.h"
#include "base/text/text.h"
#include "exec/cgroup/cgroup.h"

namespace muster {
namespace {

constexpr int kStartingTries = 200;
constexpr useconds_t kTryUs = 5000;

bool is_numbered(std::string_view text, char letter) {
  if (text.size() < 2 || text.size() > 20 || text[0] != letter) return false;
  for (const char c : text.substr(1)) {
    if (!std::isdigit(static_cast<unsigned char>(c))) return false;
  }
  return true;
}

// Returns the lock, or a closed descriptor if a shim holds it.
Fd try_lock(const Fd& directory) {
  Fd lock(::openat(directory.get(), "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (lock.open() && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) lock.reset();
  return lock;
}

Found lost(std::string why) {
  Found found;
  found.what = Found::What::kLost;
  found.why = std::move(why);
  return found;
}

// Reads exit.json, if it exists.
std::optional<Found> find_end(const Fd& directory, const LaunchSpec& spec) {
  if (!file_exists(directory, "exit.json")) return std::nullopt;
  const auto text = read_file(directory.get(), "exit.json", kMaxReportBytes);
  if (!text.ok()) return lost(text.error().message);
  auto report = read_exit(text.value());
  if (!report.ok()) return lost("exit.json: " + report.error().message);
  if (report.value().token != spec.token) return lost("exit.json: belongs to another lease");
  Found found;
  found.what = Found::What::kEnded;
  found.ended = std::move(report).value();
  return found;
}

Found find_shim(const Fd& directory, const LaunchSpec& spec) {
  const auto text = read_file(directory.get(), "started.json", kMaxReportBytes);
  if (!text.ok()) return lost(text.error().message);
  auto facts = read_started(text.value());
  if (!facts.ok()) return lost("started.json: " + facts.error().message);
  if (facts.value().token != spec.token) return lost("started.json: belongs to another lease");
  Found found;
  found.started = std::move(facts).value();
  if (found.started->boot_id != boot_id()) {
    found.what = Found::What::kLost;
    found.why = "the machine was rebooted";
    found.rebooted = true;
    return found;
  }
  auto process = open_process(found.started->pid, found.started->process_start);
  if (process.ok()) {
    found.what = Found::What::kRunning;
    found.process = std::move(process).value();
    return found;
  }
  // The shim writes its report last, so it may have done so since the first check.
  if (auto end = find_end(directory, spec)) return std::move(*end);
  found.what = Found::What::kLost;
  found.why = "the shim ended without a report";
  return found;
}

}  // namespace

bool is_lease_name(std::string_view name) {
  const auto parts = split(name, '.');
  if (parts.size() != 2 && parts.size() != 3) return false;
  return is_numbered(parts[0], 'j') && is_numbered(parts[1], 'e') &&
         (parts.size() == 2 || is_numbered(parts[2], 'n'));
}

Result<Fd> make_record(const std::string& leases, const LaunchSpec& spec) {
  if (auto refusal = check_spec(spec)) return *refusal;
  const std::string text = spec_json(spec);
  const auto again = read_spec(text);
  if (!again.ok() || !(again.value() == spec))
    return Error{"spec: contains text that is not UTF-8", ErrorCode::kInvalid};
  const std::string path = record_path(leases, lease_name(spec));
  const bool fresh = ::mkdir(path.c_str(), 0700) == 0;
  if (!fresh && errno != EEXIST) return system_error(path, errno);
  auto directory = open_directory(path);
  if (!directory.ok()) return directory;
  if (!fresh && file_exists(directory.value(), "spec.json")) {
    const auto old = read_record(directory.value());
    if (!old.ok()) return Error{path + ": " + old.error().message, old.error().code};
    if (!(old.value() == spec))
      return Error{path + ": contains another lease", ErrorCode::kConflict};
    return directory;
  }
  if (auto refusal = write_whole(directory.value(), "spec.json", text)) return *refusal;
  const auto parent = open_directory(leases);
  if (!parent.ok()) return parent.error();
  if (::fsync(parent.value().get()) != 0) return system_error(leases, errno);
  return directory;
}

Result<LaunchSpec> read_record(const Fd& directory) {
  const auto text = read_file(directory.get(), "spec.json", kMaxSpecBytes);
  if (!text.ok()) return text.error();
  auto spec = read_spec(text.value());
  if (!spec.ok()) return Error{"spec.json: " + spec.error().message, ErrorCode::kCorrupt};
  return spec;
}

Result<Found> look_at(const Fd& directory, const LaunchSpec& spec) {
  struct stat facts {};
  if (::fstat(directory.get(), &facts) == 0 && facts.st_nlink == 0) {
    return lost("its record was deleted");
  }
  for (int i = 0; i < kStartingTries; ++i) {
    if (auto end = find_end(directory, spec)) {
      // The report is corrupted. The start of the shim still limits which processes can be left.
      if (end->what == Found::What::kLost) end->started = find_shim(directory, spec).started;
      return std::move(*end);
    }
    if (file_exists(directory, "started.json")) return find_shim(directory, spec);
    const Fd lock = try_lock(directory);
    // While we hold the lock, no shim can start. One may have started just before.
    if (lock.open() && !file_exists(directory, "started.json")) return Found{};
    if (!lock.open()) ::usleep(kTryUs);
  }
  return Error{lease_name(spec) + ": the shim is still starting after 1 s; try again",
               ErrorCode::kUnavailable};
}

MaybeError close_unstarted(const Fd& directory, const ExitReport& report) {
  const Fd lock = try_lock(directory);
  if (!lock.open() || file_exists(directory, "started.json")) {
    return Error{"a shim is running this lease", ErrorCode::kConflict};
  }
  return write_for_owner(directory, "exit.json", exit_json(report));
}

Result<std::vector<std::string>> record_names(const std::string& leases) {
  std::vector<std::string> names;
  DIR* directory = ::opendir(leases.c_str());
  if (directory == nullptr) return system_error(leases, errno);
  while (const dirent* entry = ::readdir(directory)) {
    if (is_lease_name(entry->d_name)) names.emplace_back(entry->d_name);
  }
  ::closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<std::string>> unfinished_records(const std::string& leases) {
  Result<std::vector<std::string>> names = record_names(leases);
  if (!names.ok()) return names;
  std::erase_if(names.value(), [&](const std::string& name) {
    const std::string report = record_path(leases, name) + "/exit.json";
    return ::access(report.c_str(), F_OK) == 0;
  });
  return names;
}

bool forget_record(const std::string& leases, const std::string& name, bool lost) {
  if (!is_lease_name(name)) return false;
  const std::string path = record_path(leases, name);
  const auto directory = open_directory(path);
  if (!directory.ok()) return false;
  if (!lost && !file_exists(directory.value(), "exit.json")) return false;
  // Also deletes the files that the job created there, but no directories.
  DIR* const listing = ::opendir(path.c_str());
  if (listing == nullptr) return false;
  std::vector<std::string> files;
  while (const dirent* entry = ::readdir(listing)) files.emplace_back(entry->d_name);
  ::closedir(listing);
  for (const std::string& file : files) ::unlinkat(directory.value().get(), file.c_str(), 0);
  return ::rmdir(path.c_str()) == 0;
}

bool sweep(const LaunchSpec& spec, std::int64_t since, bool patient,
           const std::vector<pid_t>& spared) {
  const ControlGroup group = ControlGroup::find(spec.cgroup_parent, mark_of(spec));
  const bool empty = group.empty();
  if (!empty) group.kill_all();
  const MarkKill found = kill_by_mark(mark_of(spec), since, spared);
  if (!empty || found.killed > 0 || (patient && found.unsure > 0)) return false;
  return group.remove();
}

}  // namespace muster
