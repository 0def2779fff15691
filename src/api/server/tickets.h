#pragma once

// Tickets sign a user in over TCP with a browser. The Unix socket, where the kernel identifies the
// user, issues them. A ticket contains the uid and the user name, a generation number, the expiry
// time, and an HMAC of these and of the server's URL. Only the server has the key. A ticket is
// valid only while its generation is the current one of its uid, so a higher one ends all tickets.
// So the server stores no tickets, and they survive a restart if the key does. They are invalid at
// any other URL: a process that takes over the address receives tickets from browsers, but cannot
// use them at the server's new address. Used by Auth.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/os/key_file.h"
#include "base/types/result.h"

namespace muster {

class Tickets {
 public:
  // Reads the key from the file `path`, or creates the file. With an empty path the key is new, and
  // tickets become invalid when the server ends. Returns an error if other users can read the file
  // or own it. `place` is the URL for which the tickets are valid.
  static Result<Tickets> open(const std::string& path, std::string place);

  static bool has_key(const std::string& path);  // True if any file exists at `path`.

  // Sets the current generation of a uid (default: 0).
  void set_generation(std::uint32_t uid, std::uint64_t generation) {
    generations_[uid] = generation;
  }

  struct Owner {
    std::uint32_t uid = 0;
    std::string user;
    friend bool operator==(const Owner&, const Owner&) = default;
  };
  // Returns a ticket of the current generation that is valid until `until` (seconds since 1970).
  std::string make(const Owner& owner, std::int64_t until) const;

  // Returns the owner of a valid ticket; nullopt if it is invalid or expired at `now`.
  std::optional<Owner> owner_of(std::string_view ticket, std::int64_t now) const;

 private:
  Tickets(const SecretKey& key, std::string place) : key_(key), place_(std::move(place)) {}
  std::string sign(std::string_view words) const;
  std::uint64_t generation_of(std::uint32_t uid) const;

  SecretKey key_;
  std::string place_;
  std::map<std::uint32_t, std::uint64_t> generations_;
};

inline constexpr std::int64_t kTicketSeconds = 12 * 3600;  // Validity of issued tickets.

}  // namespace muster
