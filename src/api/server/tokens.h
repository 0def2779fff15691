#pragma once

// The tokens that may call over TCP. A token is a random word that its owner keeps; the file has
// only fingerprints, so that reading it (or a backup of it) lets nobody in. Used by Auth, and by
// whoever makes tokens. A token stands in no error and in no log.

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

// 256 random bits as text.
Result<std::string> make_token();

// The line for the token file; `name` says whose or what for, for people. Refuses what is no name.
Result<std::string> token_line(std::string_view token, const Caller& caller, std::string_view name);

// A file of lines "SHA256 USER ROLE NAME", ROLE being user or operator; empty lines and lines that
// begin with # are passed over. Read again when it has changed; while it cannot be read, nobody is
// let in. Refused unless only its owner, who is us or root, can read it.
class TokenFile {
 public:
  static Result<TokenFile> open(std::string path);

  // Whose token it is, if anybody's. Takes the same time for every wrong one.
  Result<std::optional<Caller>> find(std::string_view token);

 private:
  using Fingerprint = std::array<unsigned char, 32>;
  struct Entry {
    Fingerprint fingerprint;
    Caller caller;
  };
  explicit TokenFile(std::string path) : path_(std::move(path)) {}

  Refusal refresh();
  Refusal read_lines(std::string_view text);
  static Result<Entry> read_line(std::string_view line);

  std::string path_;
  struct stat seen_ {};
  std::vector<Entry> entries_;
};

}  // namespace muster
