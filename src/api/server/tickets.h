#pragma once

// Tickets let a browser in over TCP for whom the Unix socket has let in already: there the kernel
// says who is calling, and gives him a word that says so for some hours. It holds the user's name,
// until when it is good, and a keyed hash of both and of the address it is for; the key is known to
// the server alone. So nothing is kept of tickets, and they outlive a restart where the key does,
// but are no good at another address: who takes ours while we are away, and so is shown tickets by
// browsers, cannot use them where we went. Used by Auth.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/types/result.h"

namespace muster {

class Tickets {
 public:
  // The key is in this file, which is made if it is not there; without a path it is a new one, and
  // the tickets end with the server. Refused unless only its owner, who is us, can read the file.
  // `place` is the address, as browsers write it.
  static Result<Tickets> open(const std::string& path, std::string place);

  static bool has_key(const std::string& path);  // Or anything else in its place.

  // Good until this second since 1970.
  std::string make(std::string_view user, std::int64_t until) const;

  // Whose it is; nothing if it is none of ours, or no longer good at `now`.
  std::optional<std::string> user_of(std::string_view ticket, std::int64_t now) const;

 private:
  using Key = std::array<unsigned char, 32>;
  Tickets(const Key& key, std::string place) : key_(key), place_(std::move(place)) {}
  std::string sign(std::string_view words) const;

  Key key_;
  std::string place_;
};

inline constexpr std::int64_t kTicketSeconds = 12 * 3600;

}  // namespace muster
