#pragma once

// Parser for the target of an HTTP request. It rejects ambiguous input: invalid percent escapes,
// bytes that are not printable ASCII, and unknown or repeated parameters.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types/result.h"

namespace muster {

struct RequestTarget {
  std::vector<std::string> path;                             // Segments between slashes, decoded.
  std::vector<std::pair<std::string, std::string>> queries;  // Name and value, in order, decoded.

  // Returns the value of the first parameter `name`, or null.
  const std::string* find(std::string_view name) const;
};

// Errors are kInvalid. Targets longer than 2,048 bytes are rejected.
Result<RequestTarget> read_target(std::string_view text);

// Returns an error if a parameter is repeated or not in `known`; it suggests the closest name.
MaybeError check_names(const RequestTarget& target, std::span<const std::string_view> known);

// Returns whether `word` has 1 to 64 characters, each a letter, a digit or one of . _ - + : /
bool is_name(std::string_view word);
// Returns whether `word` can name a job ("12", "12_3" or a prefix) or an array ("12_*").
bool is_job_word(std::string_view word);

// Each function returns the value of the parameter `name`, or an error that begins with its name.
// whole() parses an integer in [least, most] and returns `otherwise` if the parameter is absent.
Result<std::int64_t> whole(const RequestTarget& target, std::string_view name, std::int64_t least,
                           std::int64_t most, std::int64_t otherwise);
// Parses 0 or 1; an absent parameter is false.
Result<bool> yes_or_no(const RequestTarget& target, std::string_view name);
// The next two treat an empty value like an absent one.
Result<std::optional<double>> seconds_or_none(const RequestTarget& target, std::string_view name);
Result<std::string> name_or_none(const RequestTarget& target, std::string_view name);

}  // namespace muster
