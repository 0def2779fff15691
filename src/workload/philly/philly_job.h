#pragma once

// Parses the jobs of Philly's log without interpreting them: the fields of one JSON object, in any
// order. philly_log.h converts them to a History.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workload/philly/json_batches.h"
#include "workload/philly/pacific_time.h"

namespace muster {

inline constexpr WallTime kNoTime = std::numeric_limits<WallTime>::min();

// GPUs of one node: one entry of `detail`.
struct LoggedShare {
  std::string_view node;   // Node name; "": missing.
  std::uint64_t gpus = 0;  // Bit i: gpu<i>.
  std::int32_t odd = 0;    // GPUs not named gpu0 to gpu63; they get the lowest free bits.
};

struct LoggedAttempt {
  WallTime start = kNoTime;
  WallTime end = kNoTime;
  std::size_t shares = 0;  // First index in LoggedJob::shares; there are share_count entries.
  std::size_t share_count = 0;
};

// Missing texts are "" and missing times kNoTime. Missing means: no such field, null or, for a
// time,
// "" or "None". The texts are valid until the parser reads the next job.
struct LoggedJob {
  std::string_view id, status, tenant, user;
  WallTime submit = kNoTime;
  std::vector<LoggedAttempt> attempts;
  std::vector<LoggedShare> shares;
  std::vector<std::string_view> unused;  // Names of unknown fields, at any level.
};

// Position and description of a parse error.
struct JobFault {
  const char* at = nullptr;  // Points into JsonBatches::text().
  std::string what;          // Such as "attempts[0].start_time: not a time: 'noon'" or "not JSON".
};

class PhillyJobParser {
 public:
  PhillyJobParser();
  PhillyJobParser(const PhillyJobParser&) = delete;
  PhillyJobParser& operator=(const PhillyJobParser&) = delete;
  ~PhillyJobParser();

  // Calls `use` for each job of the batch. Validates everything, including unknown fields. Returns
  // false at the first error, such as a duplicate field; fault() then describes it.
  bool parse(const JsonBatches& batch, const std::function<void(const LoggedJob&)>& use);
  const JobFault& fault() const;

 private:
  class Walk;  // Hides the JSON library from users of this header.
  std::unique_ptr<Walk> walk_;
};

}  // namespace muster
