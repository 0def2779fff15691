#pragma once

// The target of a request taken apart, with everything refused that could be read in two ways: a
// percent sign that is none, bytes that are no printable ASCII, parameters nobody knows or that
// come twice.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types/result.h"

namespace muster {

struct Target {
  std::vector<std::string> path;                             // Between the slashes, decoded.
  std::vector<std::pair<std::string, std::string>> queries;  // In order, decoded.

  const std::string* find(std::string_view name) const;
};

Result<Target> read_target(std::string_view text);

// Each name once, and only these; the error has the nearest.
Refusal check_names(const Target& target, std::span<const std::string_view> known);

// Only letters, digits and . _ - + : / as in every file of Muster's.
bool is_name(std::string_view word);
// Of a job: "12", "12_3", or a beginning of one; or of an array, "12_*".
bool is_job_word(std::string_view word);

// The parameter, or `otherwise` if it is not there.
Result<std::int64_t> whole(const Target& target, std::string_view name, std::int64_t least,
                           std::int64_t most, std::int64_t otherwise);
Result<bool> yes_or_no(const Target& target, std::string_view name);
Result<std::optional<double>> seconds_or_none(const Target& target, std::string_view name);
Result<std::string> name_or_none(const Target& target, std::string_view name);

}  // namespace muster
