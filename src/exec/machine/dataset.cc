#include "exec/machine/dataset.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text/text.h"

namespace muster {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kMaxSize = std::int64_t{1}
                                  << 61;  // A larger size is wrong or a sparse file.

Error cannot_use(const std::string& path, std::string why) {
  if (!why.empty()) why[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(why[0])));
  return Error{
      fmt::format(
          "dataset: {}: {}; specify the file or directory from which the job reads its data", why,
          in_quotes(path)),
      ErrorCode::kNotFound};
}

class Walk {
 public:
  Walk(const DatasetLimits& limits, const DatasetVisit& visit)
      : limits_(limits),
        visit_(visit),
        until_(Clock::now() + std::chrono::microseconds(limits.time.us())) {}

  // Returns false to stop.
  bool file(const std::string& path, std::int64_t bytes) {
    ++size_.files;
    if (bytes == 0) return true;
    size_.bytes = std::min(kMaxSize, size_.bytes + std::min(bytes, kMaxSize));
    return visit_(path, bytes, size_);
  }

  // Not recursive, because directories can be nested to any depth. Unreadable directories are
  // skipped and counted.
  void directory(const fs::path& top) {
    std::vector<fs::path> waiting = {top};
    while (!waiting.empty()) {
      const fs::path here = std::move(waiting.back());
      waiting.pop_back();
      std::error_code error;
      fs::directory_iterator it(here, error);
      for (; !error && it != fs::directory_iterator(); it.increment(error)) {
        if (is_over()) {
          size_.complete = false;
          return;
        }
        if (!entry(*it, waiting)) return;
      }
      if (error) ++size_.unreadable;
    }
  }

  DatasetSize size() const { return size_; }

 private:
  bool is_over() {
    constexpr std::int64_t kLooks = 64;  // Entries between two checks of the time.
    if (++entries_ > limits_.entries) return true;
    return entries_ % kLooks == 0 && Clock::now() > until_;
  }

  bool entry(const fs::directory_entry& entry, std::vector<fs::path>& waiting) {
    std::error_code error;
    const fs::file_type type = entry.symlink_status(error).type();
    if (error) {
      ++size_.unreadable;
    } else if (type == fs::file_type::symlink) {
      ++size_.links;
    } else if (type == fs::file_type::directory) {
      waiting.push_back(entry.path());
    } else if (type == fs::file_type::regular) {
      const std::uintmax_t bytes = entry.file_size(error);
      if (!error) return file(entry.path().string(), static_cast<std::int64_t>(bytes));
      ++size_.unreadable;
    }
    return true;
  }

  const DatasetLimits& limits_;
  const DatasetVisit& visit_;
  Clock::time_point until_;
  std::int64_t entries_ = 0;
  DatasetSize size_;
};

}  // namespace

Result<DatasetSize> walk_dataset(const std::string& path, const DatasetLimits& limits,
                                 const DatasetVisit& visit) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0) return cannot_use(path, std::strerror(errno));
  Walk walk(limits, visit);
  if (S_ISREG(facts.st_mode)) {
    walk.file(path, facts.st_size);
    return walk.size();
  }
  if (!S_ISDIR(facts.st_mode)) return cannot_use(path, "neither a directory nor a file");
  std::error_code error;
  const fs::directory_iterator readable(path, error);
  if (error) return cannot_use(path, error.message());
  walk.directory(path);
  return walk.size();
}

Result<DatasetSize> dataset_size(const std::string& path,
                                 const std::function<void(const DatasetSize&)>& progress,
                                 const DatasetLimits& limits) {
  constexpr auto kEvery = std::chrono::milliseconds(100);
  Clock::time_point next = Clock::now() + kEvery;
  return walk_dataset(path, limits,
                      [&](const std::string&, std::int64_t, const DatasetSize& so_far) {
                        if (!progress || so_far.files % 64 != 0) return true;
                        const Clock::time_point now = Clock::now();
                        if (now < next) return true;
                        next = now + kEvery;
                        progress(so_far);
                        return true;
                      });
}

}  // namespace muster
