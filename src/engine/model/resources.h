#pragma once

// Integer amounts of node capacity and of a job's allocation.

#include <cstdint>

namespace muster {

// Milli-CPUs, MiB and KB/s. 1 GB in user input is 1,024 MiB. The units are so fine that rounding a
// fair share to a whole number hardly changes it.
struct Resources {
  std::int32_t gpus = 0;
  std::int64_t cpu_milli = 0;
  std::int64_t mem_mib = 0;
  std::int64_t storage_kbps = 0;

  bool fits_in(const Resources& room) const {
    return gpus <= room.gpus && cpu_milli <= room.cpu_milli && mem_mib <= room.mem_mib &&
           storage_kbps <= room.storage_kbps;
  }
  Resources& operator+=(const Resources& other) {
    gpus += other.gpus;
    cpu_milli += other.cpu_milli;
    mem_mib += other.mem_mib;
    storage_kbps += other.storage_kbps;
    return *this;
  }
  Resources& operator-=(const Resources& other) {
    gpus -= other.gpus;
    cpu_milli -= other.cpu_milli;
    mem_mib -= other.mem_mib;
    storage_kbps -= other.storage_kbps;
    return *this;
  }
  friend Resources operator+(Resources a, const Resources& b) { return a += b; }
  friend Resources operator-(Resources a, const Resources& b) { return a -= b; }
  friend Resources operator*(const Resources& a, std::int32_t k) {
    return {a.gpus * k, a.cpu_milli * k, a.mem_mib * k, a.storage_kbps * k};
  }
  friend bool operator==(const Resources&, const Resources&) = default;
};

// Returns `amount` with CPU and memory raised to at least those of `least`.
inline Resources at_least(Resources amount, const Resources& least) {
  if (amount.cpu_milli < least.cpu_milli) amount.cpu_milli = least.cpu_milli;
  if (amount.mem_mib < least.mem_mib) amount.mem_mib = least.mem_mib;
  return amount;
}

}  // namespace muster
