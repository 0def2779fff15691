#pragma once

// The files in the record directories of leases, for readers other than the executor: the manager
// and the diagnosis of failures. Only this class and record.h know where a record is. The job can
// write to its record, so nothing in it is trusted. A value; safe for concurrent use.

#include <string>
#include <utility>

#include "exec/lease/log_reader.h"

namespace muster {

class LeaseFiles {
 public:
  // `directory` contains one record directory per part of a lease, named by lease_name().
  explicit LeaseFiles(std::string directory) : directory_(std::move(directory)) {}

  const std::string& directory() const { return directory_; }
  bool empty() const;                       // There are no records at all.
  bool has(const std::string& part) const;  // There is a record of that name.

  // The whole output of a part, from the oldest byte still kept.
  LogReader open_log(const std::string& part) const;
  // Paths of the newest output and of what the job reports. The files need not exist.
  std::string output_path(const std::string& part) const;
  std::string progress_path(const std::string& part) const;

 private:
  std::string directory_;
};

}  // namespace muster
