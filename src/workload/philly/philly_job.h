#pragma once

// One job of Philly's log as it is written, before anything is made of it: the fields of one JSON
// object, in whatever order they come. philly_log.h makes a History of them.

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

// GPUs of one server, as one entry of `detail` has them.
struct LoggedShare {
  std::string_view server;  // "": not told.
  std::uint64_t gpus = 0;   // Bit i: gpu<i>.
  std::int32_t odd = 0;  // GPUs that are not named gpu0 to gpu63; they have the lowest free bits.
};

struct LoggedAttempt {
  WallTime start = kNoTime;
  WallTime end = kNoTime;
  std::size_t shares = 0;  // In LoggedJob::shares: so many from there on.
  std::size_t share_count = 0;
};

// Texts are "" and times kNoTime where the log has nothing, null or, for a time, "" or "None". The
// texts stay good until the next job is read.
struct LoggedJob {
  std::string_view id, status, tenant, user;
  WallTime submit = kNoTime;
  std::vector<LoggedAttempt> attempts;
  std::vector<LoggedShare> shares;
  std::vector<std::string_view> unused;  // Names of fields we do not know, at any depth.
};

// Where and why something is not a job.
struct JobFault {
  const char* at = nullptr;  // In the text.
  std::string what;          // "attempts[0].start_time: not a time: 'noon'", or how it is no JSON.
};

class PhillyJobParser {
 public:
  PhillyJobParser();
  PhillyJobParser(const PhillyJobParser&) = delete;
  PhillyJobParser& operator=(const PhillyJobParser&) = delete;
  ~PhillyJobParser();

  // Hands on each job of the batch. All of it is checked, fields we do not know too; a field given
  // twice is refused. False if something is wrong with a job, and fault() then says what.
  bool parse(const JsonBatches& batch, const std::function<void(const LoggedJob&)>& use);
  const JobFault& fault() const;

 private:
  class Walk;  // Keeps the JSON library out of this header.
  std::unique_ptr<Walk> walk_;
};

}  // namespace muster
