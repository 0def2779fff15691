#pragma once

// Reads signatures of failure: files of a user, and those built into the program
// (docs/failures.md has the format).

#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "exec/diagnose/signatures.h"

namespace muster {

// Refuses the whole file at the first thing wrong in it: "rules.yaml:7: reason: ...". What it
// returns Signatures takes.
Result<std::vector<Signature>> read_signatures(const std::string& path);

// The same from memory; `name` stands for the file in messages.
Result<std::vector<Signature>> parse_signatures(std::string_view text, const std::string& name);

// Those of signatures/failures.yaml as the program was built with.
std::vector<Signature> builtin_signatures();

}  // namespace muster
