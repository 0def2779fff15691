#pragma once

// Access to the files in the record directories of leases, for the manager and the failure
// diagnosis. Only this class and lease_directory.h contain the layout of records. The job can write
// to its record, so no content is trusted. Copyable; safe for concurrent use.

#include <string>
#include <utility>

#include "exec/lease/log_reader.h"

namespace muster {

class LeaseFiles {
 public:
  // `directory` contains one record directory per part of a lease, named by lease_name().
  explicit LeaseFiles(std::string directory) : directory_(std::move(directory)) {}

  const std::string& directory() const { return directory_; }
  bool empty() const;                       // There are no records.
  bool has(const std::string& part) const;  // There is a record with this name.

  // Returns a reader of the output of a part, from the oldest byte that is still kept.
  LogReader open_log(const std::string& part) const;
  // Paths of the newest output file and of the progress file. The files may not exist.
  std::string output_path(const std::string& part) const;
  std::string progress_path(const std::string& part) const;

 private:
  std::string directory_;
};

}  // namespace muster
