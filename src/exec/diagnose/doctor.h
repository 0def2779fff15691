#pragma once

// What the logs of a failed lease say about why. The hands call it where the logs are, once a lease
// is over on all its servers; the rest of the manager sees only the answer.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "engine/failure/proof.h"
#include "exec/diagnose/classifier.h"
#include "exec/lease/lease_files.h"
#include "exec/lease/report.h"

namespace muster {

class Doctor {
 public:
  // `files`: those of the leases. `rules`: a file of the operator's own signatures, if it is there.
  Doctor(LeaseFiles files, std::string rules);

  // Why the rules cannot be used; nothing if they can, or there are none.
  Refusal check() const;

  // One server's part of the lease: the name of its record and how it ended.
  struct Part {
    std::string lease;
    ExitReport report;
  };
  struct Finding {
    std::string reason;  // A key of engine/failure/reasons.h.
    std::string words;   // One line for a person.
    Proof proof;
  };
  // Returns why a lease failed, or nothing if the logs do not show it.
  std::optional<Finding> examine(std::span<const Part> parts);

 private:
  const Signatures& signatures();

  LeaseFiles files_;
  std::string rules_;
  std::optional<Signatures> signatures_;  // Made when first needed: it takes a while.
};

}  // namespace muster
