#pragma once

// Tokens for callers over TCP. A token is a random string that its owner keeps. The token file
// holds only SHA-256 hashes, so a copy of the file gives no access. Tokens never appear in errors
// or logs. Used by Auth and by `muster token`.

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/port/service.h"
#include "base/types/result.h"

namespace muster {

// Returns a new token: "muster-" and 256 random bits in hexadecimal.
Result<std::string> make_token();

// A line of the token file, without the hash.
struct TokenFacts {
  std::string user;
  std::string name;  // A human-readable label.
  bool is_operator = false;
  std::string created = {};      // "2026-11-19T21:40:00Z"; empty: not known.
  std::string fingerprint = {};  // The first 8 hexadecimal digits of the hash.

  friend bool operator==(const TokenFacts&, const TokenFacts&) = default;
};

// A token that was added to the file or removed from it while the server ran.
struct TokenChange {
  TokenFacts token;
  bool created = false;  // Otherwise removed.
  uid_t by = 0;          // Owner of the file.
};

// Returns a line for the token file. The user and the name must be is_name(), and `created` too
// unless it is empty. Ignores `fingerprint`.
Result<std::string> token_line(std::string_view token, const TokenFacts& facts);

// A file of lines "SHA256 USER ROLE NAME [CREATED]", where ROLE is user or operator. Empty lines
// and lines that begin with # are ignored. It is read again when it changes; while it is
// unreadable, all tokens are rejected. Only its owner, the daemon's user or root, may be able to
// read it.
class TokenFile {
 public:
  static Result<TokenFile> open(std::string path);

  // Returns the owner of the token, or nullopt if it is unknown. Takes the same time for
  // every unknown token. Returns an error if the file cannot be read.
  Result<std::optional<Caller>> find(std::string_view token);

  // Returns all tokens, in the order of the file as last read.
  std::vector<TokenFacts> tokens() const;
  // Reads the file if it has changed. Returns the differences from the last call or from open();
  // none while the file cannot be read.
  std::vector<TokenChange> changes();

  // Parses a line. Errors: kCorrupt, without the name of the file.
  static Result<TokenFacts> parse(std::string_view line);

 private:
  using Fingerprint = std::array<unsigned char, 32>;
  struct Entry {
    Fingerprint fingerprint;
    TokenFacts facts;
  };
  explicit TokenFile(std::string path) : path_(std::move(path)) {}

  MaybeError refresh();
  MaybeError read_lines(std::string_view text);
  static Result<Entry> read_line(std::string_view line);

  std::string path_;
  struct stat seen_ {};  // State of the file when it was last read.
  std::vector<Entry> entries_;
  std::map<Fingerprint, TokenFacts> reported_;  // Tokens that changes() has reported.
};

}  // namespace muster
