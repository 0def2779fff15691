#pragma once

// What the logs of a failed lease say about why. The hands call it where the logs are, once a lease
// is over on all its servers; the rest of the manager sees only the answer.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "failure/classifier.h"
#include "live/input.h"
#include "shim/report.h"

namespace muster {

class Doctor {
 public:
  // `leases`: where the records are. `rules`: a file of the operator's own signatures, if it is
  // there.
  Doctor(std::string leases, std::string rules);

  // Why the rules cannot be used; nothing if they can, or there are none.
  Refusal check() const;

  // One server's part of the lease: the name of its record and how it ended.
  struct Part {
    std::string lease;
    ExitReport report;
  };
  // Fills in the reason, the words and the evidence of a lease that failed.
  void examine(std::span<const Part> parts, LeaseOverInput& over);

 private:
  const Signatures& signatures();

  std::string leases_;
  std::string rules_;
  std::optional<Signatures> signatures_;  // Made when first needed: it takes a while.
};

}  // namespace muster
