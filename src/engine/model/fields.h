#pragma once

// Table of all JobRequest fields by name. The readers of JSON, job files and command-line options
// set fields through it, and the JSON writer iterates over it. A new field needs only one entry
// here.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/model/job_request.h"

namespace muster {

using RequestMember =
    std::variant<std::string JobRequest::*, std::int32_t JobRequest::*, bool JobRequest::*,
                 Duration JobRequest::*, LaunchPer JobRequest::*,
                 std::optional<Duration> JobRequest::*, std::optional<std::int32_t> JobRequest::*,
                 std::optional<CpuAmount> JobRequest::*, std::optional<MemAmount> JobRequest::*,
                 std::optional<ArrayRange> JobRequest::*, std::vector<std::string> JobRequest::*,
                 std::vector<std::uint64_t> JobRequest::*,
                 std::map<std::string, std::string> JobRequest::*, OnLost JobRequest::*>;

// One row of the table: the key and the JobRequest member it sets.
struct RequestField {
  std::string_view name;
  RequestMember member;

  bool takes_list() const;
  bool takes_map() const;
};

// Returns all fields, in the order in which request_json() writes them.
std::span<const RequestField> request_fields();

// Returns the field with this name, or nullptr if there is none.
const RequestField* request_field(std::string_view name);

// Returns an error text such as "unknown key: 'gpu'; did you mean 'gpus'?"
std::string unknown_field(std::string_view name);

// One scalar value before conversion. JSON values have a type (null, bool, number or string).
// Values from YAML and the command line are kPlain: the field determines how they are parsed.
struct Written {
  enum class As : std::uint8_t { kNothing, kFlag, kNumber, kText, kPlain };
  As as = As::kPlain;
  std::string_view text;
};

// Sets the field to `value`. Returns an error without the field name if the value is invalid. A
// single text for `command` becomes a shell command. A list of job ids accepts a single id.
MaybeError set_field(JobRequest& request, const RequestField& field, Written value);
// Appends `value` to a list field. Same errors as set_field().
MaybeError add_to_field(JobRequest& request, const RequestField& field, Written value);
// Adds `name` and `value` to a map field. The error starts with the quoted name.
MaybeError add_to_map(JobRequest& request, const RequestField& field, std::string_view name,
                      Written value);

}  // namespace muster
