#pragma once

// The file to which a job appends what it says of itself ($MUSTER_PROGRESS), read a little at a
// time. It is the job's own, so nothing in it is trusted and no more than a bounded part is read.

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
    std::vector<std::string> lines;  // Whole ones, without their ends.
    // Of the file's last write: when the last of them was said, however seldom one looks.
    std::int64_t unix_us = 0;
  };
  // What was added since the last look, the last 64 KiB of it.
  std::optional<News> look();

 private:
  std::string path_;
  std::int64_t offset_ = 0;
};

// One line as an object, or one that is none: too long, too deep, no JSON.
nlohmann::json progress_object(std::string_view line);

// A field of it, if that is a finite number.
std::optional<double> number_in(const nlohmann::json& object, const char* key);

}  // namespace muster
