#include "live/config/state_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/os/files.h"
#include "base/text/hex.h"
#include "base/text/text.h"
#include "live/access/manager_mode.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr const char* kFile = "instance.json";
constexpr std::size_t kMaxBytes = 4096;

std::int64_t clock_us(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

// Also creates the parent directories.
MaybeError make_directory(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    ::mkdir(path.substr(0, slash).c_str(), 0700);
  }
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return system_error(path, errno);
  return std::nullopt;
}

bool is_known_mode(const std::string& mode) {
  return mode.empty() || find_manager_mode(mode).has_value();
}

MaybeError write_instance(const Fd& directory, const Instance& instance) {
  json out = {{"id", instance.id}, {"born_unix_us", instance.born_unix_us}};
  if (!instance.mode.empty()) out["mode"] = instance.mode;
  return write_whole(directory, kFile, out.dump());
}

}  // namespace

Result<Instance> open_instance(const std::string& home) {
  if (const MaybeError refusal = make_directory(home)) return *refusal;
  const Result<Fd> directory = open_directory(home);
  if (!directory.ok()) return directory.error();
  Instance instance;
  if (file_exists(directory.value(), kFile)) {
    const Result<std::string> text = read_file(directory.value().get(), kFile, kMaxBytes);
    if (!text.ok()) return text.error();
    const json read = json::parse(text.value(), nullptr, false);
    const bool fine = read.is_object() && read.contains("id") && read["id"].is_string() &&
                      read.contains("born_unix_us") && read["born_unix_us"].is_number_integer();
    if (!fine)
      return Error{home + "/" + kFile + ": not a Muster instance file", ErrorCode::kCorrupt};
    instance.id = read["id"].get<std::string>();
    instance.born_unix_us = read["born_unix_us"].get<std::int64_t>();
    if (const auto mode = read.find("mode"); mode != read.end() && mode->is_string()) {
      instance.mode = mode->get<std::string>();
    }
    if (!is_known_mode(instance.mode)) {
      return Error{fmt::format("{}: belongs to a manager in mode {}, which this version cannot "
                               "run; use another directory (MUSTER_HOME)",
                               home, in_quotes(instance.mode)),
                   ErrorCode::kConflict};
    }
    return instance;
  }
  unsigned char bytes[16];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return system_error("getrandom", errno);
  instance.id = to_hex(bytes);
  instance.born_unix_us = clock_us(CLOCK_REALTIME);
  if (const MaybeError refusal = write_instance(directory.value(), instance)) return *refusal;
  return instance;
}

MaybeError store_mode(const std::string& home, const std::string& mode) {
  Result<Instance> instance = open_instance(home);
  if (!instance.ok()) return instance.error();
  if (instance.value().mode == mode) return std::nullopt;
  instance.value().mode = mode;
  const Result<Fd> directory = open_directory(home);
  if (!directory.ok()) return directory.error();
  return write_instance(directory.value(), instance.value());
}

Result<std::string> default_home() {
  if (const char* home = std::getenv("MUSTER_HOME"); home != nullptr && *home != '\0') {
    if (*home != '/') return Error{"MUSTER_HOME: must be an absolute path", ErrorCode::kInvalid};
    return std::string(home);
  }
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') {
    return std::string(state) + "/muster";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return std::string(home) + "/.local/state/muster";
  }
  const passwd* user = ::getpwuid(::geteuid());
  if (user == nullptr || user->pw_dir == nullptr)
    return Error{"MUSTER_HOME: set it to a directory; HOME is not set either", ErrorCode::kInvalid};
  return std::string(user->pw_dir) + "/.local/state/muster";
}

LiveClock::LiveClock(const Instance& instance, Instant last)
    : born_unix_us_(instance.born_unix_us), start_boot_us_(clock_us(CLOCK_BOOTTIME)) {
  const std::int64_t since_birth = clock_us(CLOCK_REALTIME) - born_unix_us_;
  // Ignores a wall clock that is centuries off.
  start_ =
      since_birth < kLongestDuration.us() ? std::max(last, Instant::micros(since_birth)) : last;
}

Instant LiveClock::now() const {
  return start_ + Duration::micros(clock_us(CLOCK_BOOTTIME) - start_boot_us_);
}

}  // namespace muster
