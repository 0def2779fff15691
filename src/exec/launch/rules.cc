#include "exec/launch/rules.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "exec/launch/packet.h"

namespace muster {
namespace {

using View = std::string_view;

constexpr std::size_t kMaxListItems = 256;
constexpr unsigned kMaxId = std::numeric_limits<uid_t>::max() - 1;  // -1 means "no id".
constexpr unsigned kMaxProcessCount = 1U << 22;                     // The maximum of the kernel.

template <class List, class Item>
bool contains(const List& list, const Item& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

View trimmed(View text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == View::npos ? View()
                             : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool read_number(View text, unsigned least, unsigned most, unsigned& number, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size() && number >= least &&
         number <= most;
}

bool read_user(View text, uid_t& uid) {
  if (text.find_first_not_of("0123456789") == View::npos) return read_number(text, 1, kMaxId, uid);
  const passwd* user = ::getpwnam(std::string(text).c_str());
  if (user != nullptr) uid = user->pw_uid;
  return user != nullptr && uid != 0;
}

bool read_group(View text, gid_t& gid) {
  if (text.find_first_not_of("0123456789") == View::npos) return read_number(text, 1, kMaxId, gid);
  const group* found = ::getgrnam(std::string(text).c_str());
  if (found != nullptr) gid = found->gr_gid;
  return found != nullptr && gid != 0;
}

bool read_path(View text, std::string& path) {
  path = text;
  return text.starts_with('/') && text.find("..") == View::npos;
}

template <class T>
bool read_list(View text, std::vector<T>& items, bool (*read)(View, T&)) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    T item{};
    if (items.size() == kMaxListItems || !read(trimmed(text.substr(at, comma - at)), item))
      return false;
    items.push_back(std::move(item));
    at = comma + 1;
  }
  return true;
}

constexpr struct {
  View name;
  const char* expected;
} kRuleKeys[] = {
    {"manager_uid", "a user other than root"},
    {"grant_uid", "a user other than root"},
    {"min_uid", "a number from 1"},
    {"allow_groups", "groups other than root, separated by commas"},
    {"deny_users", "users other than root, separated by commas"},
    {"gpu_devices", "absolute paths without '..', separated by commas"},
    {"umask", "an octal number up to 777"},
    {"no_new_privs", "true or false"},
    {"max_processes", "a number from 1 to 4194304"},
    {"max_processes_per_gpu", "a number up to 4194304"},
};

bool set_rule(Rules& rules, View key, View value) {
  if (key == "manager_uid") return read_user(value, rules.manager_uid);
  if (key == "grant_uid") return read_user(value, rules.grant_uid);
  if (key == "min_uid") return read_number(value, 1, kMaxId, rules.min_uid);
  if (key == "allow_groups") return read_list(value, rules.allow_groups.emplace(), read_group);
  if (key == "deny_users") return read_list(value, rules.deny_users, read_user);
  if (key == "gpu_devices") return read_list(value, rules.gpu_devices, read_path);
  if (key == "umask") return read_number(value, 0, 0777, rules.umask, 8);
  if (key == "max_processes") return read_number(value, 1, kMaxProcessCount, rules.max_processes);
  if (key == "max_processes_per_gpu")
    return read_number(value, 0, kMaxProcessCount, rules.max_processes_per_gpu);
  rules.no_new_privs = value == "true";
  return value == "true" || value == "false";
}

// Returns the problem of a line, or an empty text. `seen` has one bit per key.
std::string read_line(View line, Rules& rules, unsigned& seen) {
  if (std::any_of(line.begin(), line.end(),
                  [](char c) { return c != '\t' && (c < ' ' || c > '~'); }))
    return "contains a character other than printable ASCII";
  line = trimmed(line);
  if (line.empty() || line.starts_with('#')) return "";
  const std::size_t equals = line.find('=');
  if (equals == View::npos) return "expected 'key = value'";
  const View name = trimmed(line.substr(0, equals));
  const View value = trimmed(line.substr(equals + 1));
  const auto* key = std::find_if(std::begin(kRuleKeys), std::end(kRuleKeys),
                                 [&](const auto& each) { return each.name == name; });
  if (key == std::end(kRuleKeys)) return "unknown key '" + std::string(name) + "'";
  const unsigned bit = 1U << (key - std::begin(kRuleKeys));
  if ((seen & bit) != 0) return std::string(name) + ": set twice";
  seen |= bit;
  if (set_rule(rules, name, value)) return "";
  return std::string(name) + ": expected " + key->expected + ", not '" + std::string(value) + "'";
}

}  // namespace

Result<Rules> parse_rules(View text, const std::string& path) {
  if (text.size() > kMaxRulesBytes) return Error{"longer than 64 KiB", ErrorCode::kTooLarge, path};
  Rules rules;
  unsigned seen = 0;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string problem = read_line(text.substr(0, end), rules, seen);
    if (!problem.empty())
      return Error{std::move(problem), ErrorCode::kInvalid, path + ":" + std::to_string(number)};
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (rules.manager_uid == 0 || rules.grant_uid == 0 || rules.manager_uid == rules.grant_uid)
    return Error{"manager_uid and grant_uid: set both, to two different users", ErrorCode::kInvalid,
                 path};
  return rules;
}

Result<Rules> load_rules(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) return errno_error(path);
  if (!S_ISREG(status.st_mode) || status.st_uid != 0 || (status.st_mode & 07777) != 0600)
    return Error{"must be a regular file of root with mode 0600", ErrorCode::kForbidden, path};
  std::string text(kMaxRulesBytes + 1, '\0');
  const ssize_t size = ::read(file.get(), text.data(), text.size());  // Regular: reads all of it.
  if (size < 0) return errno_error(path);
  return parse_rules(View(text).substr(0, static_cast<std::size_t>(size)), path);
}

MaybeError may_run(const Rules& rules, uid_t uid, gid_t gid, std::span<const gid_t> groups) {
  const auto refused = [](const char* reason) { return Error{reason, ErrorCode::kForbidden}; };
  if (uid == 0 || gid == 0 || uid > kMaxId || gid > kMaxId)
    return refused("jobs do not run as root");
  if (uid == rules.manager_uid || uid == rules.grant_uid)
    return refused("this user runs a service of Muster");
  if (uid < rules.min_uid) return refused("the uid is below min_uid of launch.conf");
  if (contains(rules.deny_users, uid)) return refused("in deny_users of launch.conf");
  if (!rules.allow_groups || contains(*rules.allow_groups, gid)) return std::nullopt;
  for (const gid_t each : groups)
    if (contains(*rules.allow_groups, each)) return std::nullopt;
  return refused("not in a group of allow_groups in launch.conf");
}

}  // namespace muster
