#pragma once

// The fields of a request by their names, in one table. The readers of JSON, of job files and of
// the command line set them through it and the writer of JSON walks it, so a field is added in one
// place and all of them know it alike.

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

struct RequestField {
  std::string_view name;
  RequestMember member;

  bool takes_list() const;
  bool takes_map() const;
};

// In the order they are written.
std::span<const RequestField> request_fields();

// Null if there is none of that name.
const RequestField* request_field(std::string_view name);

// "unknown key: 'gpu'; did you mean 'gpus'?"
std::string unknown_field(std::string_view name);

// One value as somebody wrote it. In JSON one sees what it is meant to be; in YAML and on the
// command line everything is plain, and becomes what its field wants.
struct Written {
  enum class As : std::uint8_t { kNothing, kFlag, kNumber, kText, kPlain };
  As as = As::kPlain;
  std::string_view text;
};

// Each says what is wrong with the value, without the field's name, or nothing. A command given as
// one value is for the shell; a list of jobs may be one number.
Refusal set_field(JobRequest& request, const RequestField& field, Written value);
// One more entry of a field that takes a list.
Refusal add_to_field(JobRequest& request, const RequestField& field, Written value);
// One more entry of a field that takes a map.
Refusal add_to_map(JobRequest& request, const RequestField& field, std::string_view name,
                   Written value);

}  // namespace muster
