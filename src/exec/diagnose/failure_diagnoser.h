#pragma once

// Determines why a lease failed, from its exit reports and logs. ExecutorLeaseRunner calls it on
// the machine that has the logs, when the lease has ended on all its nodes. Not thread-safe.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "engine/failure/failure_evidence.h"
#include "exec/diagnose/classifier.h"
#include "exec/lease/lease_files.h"
#include "exec/lease/report.h"

namespace muster {

class FailureDiagnoser {
 public:
  // `files`: the records of the leases. `rules`: path of the operator's signatures; the file is
  // optional.
  FailureDiagnoser(LeaseFiles files, std::string rules);

  // Returns the error in the rules file; nullopt if it is valid or does not exist.
  MaybeError check() const;

  // One part of the lease: the name of its record and its exit report.
  struct Part {
    std::string lease;
    ExitReport report;
  };
  struct Finding {
    std::string reason;  // A key of engine/failure/reasons.h.
    std::string words;   // One human-readable line.
    FailureEvidence proof;
  };
  // Returns why a lease failed, or nullopt if the logs do not show it. Reads up to 1 MiB per log.
  std::optional<Finding> examine(std::span<const Part> parts);

 private:
  const Signatures& signatures();

  LeaseFiles files_;
  std::string rules_;
  std::optional<Signatures> signatures_;  // Created on first use, because it is slow.
};

}  // namespace muster
