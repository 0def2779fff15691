#pragma once

// Arithmetic over the results of runs, as experiments state it: "fifo.jct_mean_s /
// tune.jct_mean_s".
//
// A value is a number, or a path RUN.MEMBER.MEMBER into the JSON result of a run. In a list, a
// member selects the element with this "key" (a section or a table), the row whose first cell is
// this text (lower case, dashes for other characters), or else the element with this number.
// Operators: + - * / with the usual precedence, parentheses, and the functions min(), max() and
// mean() of one or more values.

#include <map>
#include <set>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/types/result.h"

namespace muster {

using RunResults = std::map<std::string, nlohmann::json>;  // By name of the run.
using RunNames = std::set<std::string, std::less<>>;

// Returns the value. An error names the place: a syntax error, an unknown run or member, a member
// that is not a number, or a division by zero. Linear in the text; its depth is bounded.
Result<double> evaluate(std::string_view text, const RunResults& results);

// Returns an error if the syntax is wrong, or if a run is not in `runs`. Members are not checked.
MaybeError check_expression(std::string_view text, const RunNames& runs);

}  // namespace muster
