#pragma once

// What jobs say of themselves: the last line of each progress file, read a little at a time. The
// file is the job's own, so nothing in it is trusted and no more than a bounded part is read.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"
#include "live/input.h"

namespace muster {

struct Progress {
  std::optional<double> step;
  std::optional<double> epoch;
  std::optional<double> loss;
  std::optional<double> rate;  // Steps a second, as the job says.
  std::int64_t at_unix_ms = 0;
};

class ProgressReader {
 public:
  explicit ProgressReader(std::string leases) : leases_(std::move(leases)) {}

  // Looks whether the lease has said more. True if it said that it saved its work.
  bool look(LiveId id, std::uint32_t lease);
  const Progress* find(LiveId id) const;
  void forget(LiveId id) { jobs_.erase(id); }

 private:
  struct Reading {
    std::uint32_t lease = 0;
    std::int64_t offset = 0;
    Progress last;
    bool any = false;
  };
  std::string leases_;
  std::map<LiveId, Reading> jobs_;
};

}  // namespace muster
