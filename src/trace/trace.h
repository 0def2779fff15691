#pragma once

// A workload: jobs in order of arrival, with what only the simulator may know (how long each really
// runs). Readers and generators make one; the simulator and `muster trace info` use it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/time.h"

namespace muster {

// Hands out a dense id for each distinct text, in order of first sight. Id 0 is always "", so a
// field nobody filled in reads as the empty text. Iteration is by id, never by hash order.
class NameTable {
 public:
  NameTable();

  std::uint32_t intern(std::string_view text);
  std::optional<std::uint32_t> find(std::string_view text) const;
  // Has the memory for an intern() that comes soon fetched meanwhile. Pays in large tables, whose
  // places are far from each other.
  void expect(std::string_view text) const;
  const std::string& operator[](std::uint32_t id) const { return names_[id]; }
  std::size_t size() const { return names_.size(); }  // With the "" of id 0.

  friend bool operator==(const NameTable& a, const NameTable& b) { return a.names_ == b.names_; }

 private:
  // Of a table with open addressing. The hash stands beside the name's number so that names, which
  // lie all over memory, are looked at only where they are most likely the right ones.
  struct Bucket {
    std::uint32_t name = 0;  // 0: empty; otherwise id + 1.
    std::uint32_t hash = 0;
  };
  // Where it is, or where it would go.
  std::size_t slot_of(std::string_view text, std::uint32_t hash) const;
  void grow();

  std::vector<std::string> names_;
  std::vector<Bucket> buckets_;
};

struct TraceJob {
  std::string id;  // As the file names it.
  Instant submit;
  Duration duration;            // True run time at the reference share. Zero is allowed.
  Duration user_estimate;       // What the user said it would take; zero: nothing said.
  std::int64_t iterations = 0;  // Total steps, where the file gives them; otherwise 0.
  std::int32_t gpus = 1;
  std::int32_t fewest = 0;  // Of an elastic job, as in JobSpec; zero: not elastic.
  std::int32_t most = 0;
  std::uint32_t model = 0;     // In Trace::models; "" when unknown.
  std::uint32_t user = 0;      // In Trace::users.
  std::uint32_t tenant = 0;    // In Trace::tenants.
  std::uint32_t name = 0;      // In Trace::names: the experiment it belongs to.
  std::uint32_t gpu_type = 0;  // In Trace::gpu_types; "" for any.

  friend bool operator==(const TraceJob&, const TraceJob&) = default;
};

struct Trace {
  std::string source;          // File name or "generated".
  std::string format;          // As listed by trace_formats().
  std::vector<TraceJob> jobs;  // Ascending by submit; ties as in the file.
  NameTable models, users, tenants, names, gpu_types;
  // Everything a reader left out or changed, one sentence with a count each ("3 jobs with zero
  // GPUs left out"). Shown to the user, never silent.
  std::vector<std::string> notes;
};

// Numbers the names anew in the order in which the jobs use them, as if the file had been written
// in that order. Names that no job uses are dropped.
void renumber_names(Trace& trace);

}  // namespace muster
