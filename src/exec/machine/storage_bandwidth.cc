// Implements storage_bandwidth() of exec/machine/bandwidth.h. Reads files from the device, with the
// access pattern of a data loader.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/os/files.h"
#include "base/text/text.h"
#include "base/types/random.h"
#include "exec/machine/bandwidth.h"
#include "exec/machine/bandwidth_notes.h"
#include "exec/machine/dataset.h"

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kOneMiB = 1 << 20;
constexpr std::int64_t kPiece = kOneMiB;
constexpr std::int64_t kMaxStorageRead = 256 * kOneMiB;
constexpr std::int64_t kMaxOfOneFile = 64 * kOneMiB;
constexpr std::int64_t kMin = 8 * kOneMiB;  // Reading less takes too little time to measure.
constexpr std::int64_t kScratch = 64 * kOneMiB;
constexpr auto kMaxTime = std::chrono::milliseconds(1500);
constexpr int kReaders = 4;  // A common number in data loaders. A single reader mostly waits.
constexpr std::size_t kAlign = 4096;  // Alignment for O_DIRECT.
constexpr std::int64_t kSmallFile = kOneMiB;

struct File {
  std::string path;
  std::int64_t bytes = 0;
};
struct Sample {
  std::vector<File> files;
  std::int64_t bytes = 0;  // Bytes to read from the files.
};

struct Piece {
  std::size_t file = 0;
  std::int64_t offset = 0;
};

// Chooses files in random order. Files that are adjacent in a directory are often adjacent on the
// disk, and a job that shuffles does not read them in that order.
Result<Sample> choose_files(const std::string& dataset) {
  const DatasetLimits limits = {20'000, Duration::micros(500'000)};
  std::vector<File> files;
  const auto walked = walk_dataset(
      dataset, limits, [&](const std::string& path, std::int64_t bytes, const DatasetSize&) {
        files.push_back({path, bytes});
        return true;
      });
  if (!walked.ok()) return walked.error();
  Random random(1);
  Sample sample;
  for (std::size_t i = 0; i < files.size() && sample.bytes < kMaxStorageRead; ++i) {
    std::swap(files[i], files[i + random.below(files.size() - i)]);
    sample.files.push_back(files[i]);
    sample.bytes += std::min(files[i].bytes, kMaxOfOneFile);
  }
  return sample;
}

// A file that is read without the page cache: with O_DIRECT or, if the file system does not support
// it, by dropping each piece from the cache before the read.
class ColdFile {
 public:
  explicit ColdFile(const std::string& path) {
    constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
    fd_ = Fd(::open(path.c_str(), kFlags | O_DIRECT));
    if (!fd_.open() && errno == EINVAL) {
      fd_ = Fd(::open(path.c_str(), kFlags));
      direct_ = false;
    }
    if (!fd_.open()) error_ = errno;
  }

  // Returns the number of bytes read; negative on failure.
  std::int64_t read(char* to, std::int64_t offset) {
    if (!fd_.open()) return -1;
    if (!direct_) ::posix_fadvise(fd_.get(), offset, kPiece, POSIX_FADV_DONTNEED);
    ssize_t n = ::pread(fd_.get(), to, kPiece, offset);
    if (n < 0 && errno == EINVAL && direct_) {
      // Some file systems accept O_DIRECT in open() but not in read().
      ::fcntl(fd_.get(), F_SETFL, 0);
      direct_ = false;
      return read(to, offset);
    }
    if (n < 0) error_ = errno;
    return n;
  }

  int error() const { return error_; }

 private:
  Fd fd_;
  bool direct_ = true;
  int error_ = 0;
};

struct Reading {
  std::atomic<std::size_t> next = 0;
  std::atomic<std::int64_t> bytes = 0;
  std::atomic<int> error = 0;
};

void read_pieces(const std::vector<File>& files, const std::vector<Piece>& pieces,
                 Clock::time_point until, Reading& reading) {
  struct Free {
    void operator()(char* memory) const { ::operator delete[](memory, std::align_val_t(kAlign)); }
  };
  const std::unique_ptr<char[], Free> buffer(new (std::align_val_t(kAlign)) char[kPiece]);
  std::unique_ptr<ColdFile> open;
  std::size_t open_file = files.size();
  while (Clock::now() < until) {
    const std::size_t i = reading.next++;
    if (i >= pieces.size()) return;
    if (pieces[i].file != open_file) {
      open_file = pieces[i].file;
      open = std::make_unique<ColdFile>(files[open_file].path);
    }
    const std::int64_t n = open->read(buffer.get(), pieces[i].offset);
    if (n < 0) {
      reading.error = open->error();
    } else {
      reading.bytes += n;
    }
  }
}

// Returns the bandwidth in MiB/s.
Result<double> read_files(const std::string& dataset, const std::vector<File>& files) {
  std::vector<Piece> pieces;
  std::int64_t left = kMaxStorageRead;
  for (std::size_t file = 0; file < files.size(); ++file) {
    const std::int64_t end = std::min({files[file].bytes, kMaxOfOneFile, left});
    for (std::int64_t at = 0; at < end; at += kPiece) pieces.push_back({file, at});
    left -= end;
  }
  Reading reading;
  const Clock::time_point begin = Clock::now();
  {
    std::array<std::jthread, kReaders> readers;
    for (std::jthread& reader : readers) {
      reader = std::jthread([&] { read_pieces(files, pieces, begin + kMaxTime, reading); });
    }
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (reading.bytes == 0) {
    return Error{fmt::format("dataset: cannot be read: {}: {}; check the permissions",
                             std::strerror(reading.error), in_quotes(dataset)),
                 ErrorCode::kNotFound};
  }
  return static_cast<double>(reading.bytes) / static_cast<double>(kOneMiB) /
         std::max(seconds, 1e-6);
}

// Creates an unnamed file that disappears with its descriptor. It has random bytes, because some
// storage compresses.
Result<Fd> make_scratch(const std::string& directory) {
  Fd fd(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd.open()) {
    std::string name = directory + "/muster-bandwidth-XXXXXX";
    fd = Fd(::mkostemp(name.data(), O_CLOEXEC));
    if (!fd.open()) return system_error("scratch: " + in_quotes(directory), errno);
    ::unlink(name.c_str());
  }
  Random random(2);
  std::vector<std::uint64_t> noise(kPiece / 8);
  for (std::int64_t at = 0; at < kScratch; at += kPiece) {
    for (std::uint64_t& word : noise) word = random.next();
    if (::pwrite(fd.get(), noise.data(), kPiece, at) != kPiece) {
      return system_error("scratch: " + in_quotes(directory), errno);
    }
  }
  if (::fsync(fd.get()) != 0) return system_error("scratch: " + in_quotes(directory), errno);
  return fd;
}

Result<double> read_scratch(const std::string& directory, std::uint64_t device) {
  struct stat facts = {};
  if (::stat(directory.c_str(), &facts) != 0) {
    return system_error("scratch: " + in_quotes(directory), errno);
  }
  if (facts.st_dev != device) {
    return Error{
        fmt::format("scratch: {} is not on the file system of the data set", in_quotes(directory)),
        ErrorCode::kConflict};
  }
  const auto scratch = make_scratch(directory);
  if (!scratch.ok()) return scratch.error();
  const std::string path = "/proc/self/fd/" + std::to_string(scratch.value().get());
  return read_files(directory, {{path, kScratch}});
}

Error too_small(const std::string& dataset, const Sample& sample) {
  return Error{fmt::format("dataset: {:.1f} MiB is too small to measure the storage: {}; use at "
                           "least {} MiB, specify the bandwidth, or specify a directory for a "
                           "temporary file of {} MiB",
                           static_cast<double>(sample.bytes) / kOneMiB, in_quotes(dataset),
                           kMin / kOneMiB, kScratch / kOneMiB),
               ErrorCode::kConflict};
}

}  // namespace

Result<Bandwidth> storage_bandwidth(const std::string& dataset, const std::string& scratch,
                                    const std::string& notes) {
  const auto sample = choose_files(dataset);
  if (!sample.ok()) return sample.error();
  struct stat facts = {};
  if (::stat(dataset.c_str(), &facts) != 0) return system_error("dataset", errno);
  const bool enough = sample.value().bytes >= kMin;
  if (!enough && scratch.empty()) return too_small(dataset, sample.value());
  const auto count = static_cast<std::int64_t>(sample.value().files.size());
  const bool small = enough && sample.value().bytes / count < kSmallFile;
  const BandwidthKey key = {facts.st_dev, small ? "storage, small files" : "storage, large files"};
  if (const auto known = recall_bandwidth(notes, key)) return Bandwidth{*known, true};
  const auto measured =
      enough ? read_files(dataset, sample.value().files) : read_scratch(scratch, facts.st_dev);
  if (!measured.ok()) return measured.error();
  note_bandwidth(notes, key, measured.value());
  return Bandwidth{measured.value(), false};
}

}  // namespace muster
