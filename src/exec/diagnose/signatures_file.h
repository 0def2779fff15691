#pragma once

// Reads failure signatures from files of users and from the program itself. The format is in
// docs/reference/failures.md.

#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "exec/diagnose/signatures.h"

namespace muster {

// Fails at the first error in the file: "rules.yaml:7: reason: ...". The result is valid input for
// the constructor of Signatures.
Result<std::vector<Signature>> read_signatures(const std::string& path);

// Like read_signatures(), for text in memory. Error messages show `name` as the file.
Result<std::vector<Signature>> parse_signatures(std::string_view text, const std::string& name);

// Returns the signatures of signatures/*.yaml at build time, one file after the other.
std::vector<Signature> builtin_signatures();

}  // namespace muster
