#pragma once

// Reads the file to which a job appends its progress ($MUSTER_PROGRESS), incrementally. The job
// owns the file, so its content and kind are not trusted, and the amount that is read is bounded.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {

class ProgressFile {
 public:
  explicit ProgressFile(std::string path) : path_(std::move(path)) {}

  struct News {
    std::vector<std::string> lines;  // Complete lines without line ends.
    // Modification time of the file, which is the time of the last line.
    std::int64_t unix_us = 0;
    // Lines that are longer than kMaxProgressLine or above kMaxProgressRate, and bytes that were
    // removed from the file before they were read.
    std::int64_t dropped_lines = 0;
    std::int64_t skipped_bytes = 0;
  };
  // Returns the lines added since the last call; nullopt if there are none. The first call reads at
  // most the last 64 KiB and drops no line for its rate, because the age of the lines is unknown.
  // A later call reads at most kMaxProgressBytes. Never blocks, follows no link, and reads only a
  // regular file of the owner of the directory.
  std::optional<News> look();

 private:
  struct Piece {
    std::string text;        // Empty: no complete new line.
    std::int64_t from = 0;   // Start of `text`, counted from the first byte ever written.
    std::int64_t since = 0;  // End of the last call's text, or the start of the file.
  };
  std::optional<Piece> read_new(int file, std::int64_t size) const;
  void keep_allowed(News& news, std::size_t allowed) const;

  std::string path_;
  std::int64_t position_ = 0;
  std::int64_t looked_us_ = 0;  // Boot time of the last call; 0: none.
};

// Parses a line. The result is not an object if the line is too long, too deep or not JSON.
nlohmann::json progress_object(std::string_view line);

// Returns a field if it is a finite number.
std::optional<double> number_in(const nlohmann::json& object, const char* key);

}  // namespace muster
