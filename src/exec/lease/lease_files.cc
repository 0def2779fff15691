#include "exec/lease/lease_files.h"

#include <filesystem>
#include <system_error>

#include "exec/lease/lease_directory.h"

namespace muster {

bool LeaseFiles::empty() const {
  std::error_code none;
  return !std::filesystem::exists(directory_, none) || std::filesystem::is_empty(directory_, none);
}

bool LeaseFiles::has(const std::string& part) const {
  std::error_code none;
  return std::filesystem::exists(record_path(directory_, part), none);
}

LogReader LeaseFiles::open_log(const std::string& part) const {
  return LogReader(record_path(directory_, part));
}

std::string LeaseFiles::output_path(const std::string& part) const {
  return record_path(directory_, part) + "/out.log";
}

std::string LeaseFiles::progress_path(const std::string& part) const {
  return record_path(directory_, part) + "/progress.jsonl";
}

}  // namespace muster
