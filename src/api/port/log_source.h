#pragma once

// Port for the output of a lease: bytes from any offset, read while the job writes them. The
// manager implements it; the server has no access to files and directories of leases.

#include <cstddef>
#include <cstdint>
#include <string>

namespace muster {

class LogSource {
 public:
  virtual ~LogSource() = default;

  // Number of bytes that were there when the source was opened.
  virtual std::uint64_t size() const = 0;

  // Counts from the oldest byte still kept; a negative offset counts from the end. Stays within
  // what is there, and returns that place. At most once, before the first read().
  virtual std::uint64_t seek(std::int64_t offset) = 0;

  // Returns the next bytes, at most `max`; empty if there are none now. Does not block.
  virtual std::string read(std::size_t max) = 0;
};

}  // namespace muster
