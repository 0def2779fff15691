#pragma once

// Reads the file to which a job appends its progress ($MUSTER_PROGRESS), incrementally. The job
// owns the file, so its content is not trusted, and the amount that is read is bounded.

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
  };
  // Returns the lines added since the last call, from the last 64 KiB; nullopt if there are none.
  std::optional<News> look();

 private:
  std::string path_;
  std::int64_t offset_ = 0;
};

// Parses a line. The result is not an object if the line is too long, too deep or not JSON.
nlohmann::json progress_object(std::string_view line);

// Returns a field if it is a finite number.
std::optional<double> number_in(const nlohmann::json& object, const char* key);

}  // namespace muster
