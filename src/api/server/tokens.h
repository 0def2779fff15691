#pragma once

// Tokens for callers over TCP. A token is a random string that its owner keeps. The token file
// holds only SHA-256 hashes, so a copy of the file gives no access. Tokens never appear in errors
// or logs. Used by Auth and by `muster token`.

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/port/service.h"
#include "base/types/result.h"

namespace muster {

// Returns a new token: "muster-" and 256 random bits in hexadecimal.
Result<std::string> make_token();

// Returns a line for the token file. `name` is a human-readable label. Both names must be
// is_name().
Result<std::string> token_line(std::string_view token, const Caller& caller, std::string_view name);

// A file of lines "SHA256 USER ROLE NAME", where ROLE is user or operator. Empty lines and lines
// that begin with # are ignored. It is read again when it changes; while it is unreadable, all
// tokens are rejected. Only its owner, the daemon's user or root, may be able to read it.
class TokenFile {
 public:
  static Result<TokenFile> open(std::string path);

  // Returns the owner of the token, or nullopt if it is unknown. Takes the same time for
  // every unknown token. Returns an error if the file cannot be read.
  Result<std::optional<Caller>> find(std::string_view token);

 private:
  using Fingerprint = std::array<unsigned char, 32>;
  struct Entry {
    Fingerprint fingerprint;
    Caller caller;
  };
  explicit TokenFile(std::string path) : path_(std::move(path)) {}

  MaybeError refresh();
  MaybeError read_lines(std::string_view text);
  static Result<Entry> read_line(std::string_view line);

  std::string path_;
  struct stat seen_ {};  // State of the file when it was last read.
  std::vector<Entry> entries_;
};

}  // namespace muster
