#include "live/config/state_directory.h"

#include <fcntl.h>
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
    return instance;
  }
  unsigned char bytes[16];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return system_error("getrandom", errno);
  instance.id = to_hex(bytes);
  instance.born_unix_us = clock_us(CLOCK_REALTIME);
  const json fresh = {{"id", instance.id}, {"born_unix_us", instance.born_unix_us}};
  if (const MaybeError refusal = write_whole(directory.value(), kFile, fresh.dump()))
    return *refusal;
  return instance;
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
