#pragma once

// Interface that reads the output of a lease on one node, also while the job still writes it. The
// manager implements it, because the HTTP server does not access the files of leases.

#include <cstddef>
#include <cstdint>
#include <string>

namespace muster {

class LogSource {
 public:
  virtual ~LogSource() = default;

  // Returns the number of bytes available when the source was opened.
  virtual std::uint64_t size() const = 0;

  // Moves to `offset`, clamps it to the available bytes, and returns the resulting offset. Offset 0
  // is the oldest byte still kept; a negative offset counts from the end.
  // REQUIRES: called at most once, before the first read().
  virtual std::uint64_t seek(std::int64_t offset) = 0;

  // Returns the next bytes, at most `max`; empty if none are available now. Does not block.
  virtual std::string read(std::size_t max) = 0;
};

}  // namespace muster
