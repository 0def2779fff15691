#include "workload/philly/philly_job.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/file/byte_scan.h"
#include "base/file/csv.h"
#include "base/text/text.h"
#include "base/text/utf8.h"
#include "workload/philly/field_names.h"

namespace muster {

namespace {

namespace ondemand = simdjson::ondemand;
static_assert(JsonBatches::kPadding >= simdjson::SIMDJSON_PADDING);

constexpr std::size_t kMaxGpus = 64;
constexpr int kMaxDepth = 64;  // Nesting in unknown fields.

enum JobField : std::size_t { kStatus, kTenant, kId, kAttempts, kSubmit, kUser };
constexpr std::array<FieldName, 6> kJobFields = {"status",         "vc",  "jobid", "attempts",
                                                 "submitted_time", "user"};
enum AttemptField : std::size_t { kStart, kEnd, kDetail };
constexpr std::array<FieldName, 3> kAttemptFields = {"start_time", "end_time", "detail"};
enum ShareField : std::size_t { kNode, kGpus };
constexpr std::array<FieldName, 2> kShareFields = {"ip", "gpus"};

// Returns 7 for "gpu7", or kMaxGpus for other names.
std::size_t gpu_index(std::string_view name) {
  if (!name.starts_with("gpu")) return kMaxGpus;
  std::size_t index = kMaxGpus;
  const char* const end = name.data() + name.size();
  const auto [stop, status] = std::from_chars(name.data() + 3, end, index);
  return status == std::errc() && stop == end ? std::min(index, kMaxGpus) : kMaxGpus;
}

std::string_view message_of(simdjson::error_code error) {
  switch (error) {
    case simdjson::UTF8_ERROR:
      return "not UTF-8 text";
    case simdjson::UNESCAPED_CHARS:
      return "control character in a string";
    default:
      return "not JSON";
  }
}

}  // namespace

// Parses one batch. Functions that return false have set fault_.
class PhillyJobParser::Walk {
 public:
  bool run(const JsonBatches& batch, const std::function<void(const LoggedJob&)>& use);
  const JobFault& fault() const { return fault_; }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Place {
    std::size_t attempt = kNone;
    std::size_t share = kNone;
    std::string_view field;
  };
  std::string place_text() const;
  bool fail(const char* at, std::string_view what);
  bool fail(simdjson::error_code error);  // Error at the current position of the parser.
  bool fail_before_reading(const JsonBatches& batch, simdjson::error_code error);

  // Calls use(i, value) for each field of the object that has the i-th name; skips the others.
  template <class Use>
  bool fields(ondemand::object object, Names names, Use use);
  template <class Use>
  bool fields(ondemand::value& value, Names names, Use use);
  // Calls use(value) for each item of the array. Null is an empty array.
  template <class Use>
  bool items(ondemand::value& value, Use use);

  void begin_job();
  bool read_field(std::size_t field, ondemand::value& value);
  bool read_text(ondemand::value& value, std::string_view& out);
  bool read_time(ondemand::value& value, WallTime& out);
  bool read_attempts(ondemand::value& value);
  bool read_shares(ondemand::value& value, LoggedAttempt& attempt);
  bool read_gpus(ondemand::value& value, LoggedShare& share);
  bool skip(ondemand::value& value, int depth);

  ondemand::parser parser_;
  ondemand::document document_;
  std::string_view text_;
  LoggedJob job_;
  Place place_;
  JobFault fault_;
};

std::string PhillyJobParser::Walk::place_text() const {
  std::vector<std::string> parts;
  if (place_.attempt != kNone) parts.push_back(fmt::format("attempts[{}]", place_.attempt));
  if (place_.share != kNone) parts.push_back(fmt::format("detail[{}]", place_.share));
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  const bool plain = std::all_of(place_.field.begin(), place_.field.end(), is_plain);
  if (!place_.field.empty()) {
    parts.push_back(plain ? std::string(place_.field) : in_quotes(place_.field));
  }
  return fmt::format("{}", fmt::join(parts, "."));
}

bool PhillyJobParser::Walk::fail(const char* at, std::string_view what) {
  const std::string place = place_text();
  fault_.at = at;
  fault_.what = place.empty() ? std::string(what) : fmt::format("{}: {}", place, what);
  return false;
}

bool PhillyJobParser::Walk::fail(simdjson::error_code error) {
  const char* at = nullptr;
  const char* const end = text_.data() + text_.size();
  if (document_.current_location().get(at) != simdjson::SUCCESS) at = end;
  return fail(std::clamp(at, text_.data(), end), message_of(error));
}

// The parser reports some errors, such as invalid UTF-8, before it reads values and without a
// position. Checking the objects one by one finds at least the job.
bool PhillyJobParser::Walk::fail_before_reading(const JsonBatches& batch,
                                                simdjson::error_code error) {
  for (const std::string_view object : batch.objects()) {
    const std::size_t readable = object.size() + JsonBatches::kPadding;
    const auto its_error = parser_.iterate(object.data(), object.size(), readable).error();
    if (its_error != simdjson::SUCCESS) return fail(object.data(), message_of(its_error));
  }
  return fail(text_.data(), message_of(error));
}

template <class Use>
bool PhillyJobParser::Walk::fields(ondemand::object object, Names names, Use use) {
  std::uint32_t seen = 0;
  std::size_t likely = 0;
  for (auto result : object) {
    ondemand::field field;
    if (const auto error = std::move(result).get(field)) return fail(error);
    const char* const raw = field.key().raw();
    std::size_t which = find_raw(raw, names, likely);
    if (which == names.size()) [[unlikely]] {  // Unknown, or written with escapes.
      std::string_view key;
      if (const auto error = field.unescaped_key().get(key)) return fail(error);
      place_.field = key;
      which = find_name(key, names);
      if (which == names.size()) {
        job_.unused.push_back(key);
        if (!skip(field.value(), 0)) return false;
        continue;
      }
    }
    place_.field = names[which].name;
    if ((seen >> which & 1) != 0) return fail(raw - 1, "given twice");
    seen |= std::uint32_t{1} << which;
    likely = which + 1;
    if (!use(which, field.value())) return false;
  }
  return true;
}

template <class Use>
bool PhillyJobParser::Walk::fields(ondemand::value& value, Names names, Use use) {
  ondemand::object object;
  const char* const at = value.raw_json_token().data();
  if (*at != '{') return fail(at, "not an object");
  if (const auto error = value.get_object().get(object)) return fail(error);
  return fields(object, names, use);
}

template <class Use>
bool PhillyJobParser::Walk::items(ondemand::value& value, Use use) {
  const char* const at = value.raw_json_token().data();
  if (*at == 'n') {
    bool null = false;
    if (const auto error = value.is_null().get(null)) return fail(error);
    return true;
  }
  if (*at != '[') return fail(at, "not a list");
  ondemand::array array;
  if (const auto error = value.get_array().get(array)) return fail(error);
  for (auto result : array) {
    ondemand::value item;
    if (const auto error = std::move(result).get(item)) return fail(error);
    if (!use(item)) return false;
  }
  return true;
}

bool PhillyJobParser::Walk::read_text(ondemand::value& value, std::string_view& out) {
  const char* const at = value.raw_json_token().data();
  if (*at == '"') {
    // Usually there are no escapes, and the text can refer to the bytes of the file.
    const std::size_t length = find_either(at + 1, '"', '\\');
    if (at[1 + length] == '"') {
      out = {at + 1, length};
      const auto error = value.get_raw_json_string().error();
      return error == simdjson::SUCCESS || fail(error);
    }
    if (const auto error = value.get_string().get(out)) return fail(error);
    const char* const fault = text_fault(out);
    return fault == nullptr || fail(at, fmt::format("{}: {}", fault, in_quotes(out)));
  }
  if (*at != 'n') return fail(at, "not a string");
  bool null = false;
  if (const auto error = value.is_null().get(null)) return fail(error);
  out = "";
  return true;
}

bool PhillyJobParser::Walk::read_time(ondemand::value& value, WallTime& out) {
  const char* const at = value.raw_json_token().data();
  std::string_view text;
  if (!read_text(value, text)) return false;
  if (text.empty() || text == "None") return true;
  const std::optional<WallTime> time = parse_wall_time(text);
  if (!time) return fail(at, "not a time such as 2017-10-09 07:02:33: " + in_quotes(text));
  out = *time;
  return true;
}

bool PhillyJobParser::Walk::read_gpus(ondemand::value& value, LoggedShare& share) {
  return items(value, [&](ondemand::value& item) {
    const char* const at = item.raw_json_token().data();
    std::string_view name;
    if (!read_text(item, name)) return false;
    std::size_t index = gpu_index(name);
    if (index == kMaxGpus) {
      ++share.odd;
      index = static_cast<std::size_t>(std::countr_one(share.gpus));
      if (index == kMaxGpus) return fail(at, "more than 64 GPUs on one node");
    }
    share.gpus |= std::uint64_t{1} << index;
    return true;
  });
}

bool PhillyJobParser::Walk::read_shares(ondemand::value& value, LoggedAttempt& attempt) {
  place_.share = kNone;
  const bool ok = items(value, [&](ondemand::value& item) {
    place_.share = attempt.share_count++;
    place_.field = "";
    LoggedShare& share = job_.shares.emplace_back();
    return fields(item, kShareFields, [&](std::size_t field, ondemand::value& inner) {
      return field == kNode ? read_text(inner, share.node) : read_gpus(inner, share);
    });
  });
  if (ok) place_.share = kNone;
  return ok;
}

bool PhillyJobParser::Walk::read_attempts(ondemand::value& value) {
  const bool ok = items(value, [&](ondemand::value& item) {
    place_ = Place{job_.attempts.size(), kNone, ""};
    LoggedAttempt& attempt = job_.attempts.emplace_back();
    attempt.shares = job_.shares.size();
    return fields(item, kAttemptFields, [&](std::size_t field, ondemand::value& inner) {
      if (field == kDetail) return read_shares(inner, attempt);
      return read_time(inner, field == kStart ? attempt.start : attempt.end);
    });
  });
  if (ok) place_ = Place{};
  return ok;
}

bool PhillyJobParser::Walk::read_field(std::size_t field, ondemand::value& value) {
  switch (field) {
    case kStatus:
      return read_text(value, job_.status);
    case kTenant:
      return read_text(value, job_.tenant);
    case kId:
      return read_text(value, job_.id);
    case kAttempts:
      return read_attempts(value);
    case kSubmit:
      return read_time(value, job_.submit);
    default:
      return read_text(value, job_.user);
  }
}

// Reads the whole value, because simdjson does not validate values that it skips.
bool PhillyJobParser::Walk::skip(ondemand::value& value, int depth) {
  const char* const at = value.raw_json_token().data();
  if (depth == kMaxDepth) return fail(at, "nested too deeply");
  simdjson::error_code error = simdjson::SUCCESS;
  switch (*at) {
    case '{': {
      ondemand::object object;
      error = value.get_object().get(object);
      if (error != simdjson::SUCCESS) return fail(error);
      for (auto result : object) {
        ondemand::field field;
        if ((error = std::move(result).get(field)) != simdjson::SUCCESS) return fail(error);
        std::string_view key;
        if ((error = field.unescaped_key().get(key)) != simdjson::SUCCESS) return fail(error);
        if (!skip(field.value(), depth + 1)) return false;
      }
      return true;
    }
    case '[':
      return items(value, [&](ondemand::value& item) { return skip(item, depth + 1); });
    case '"':
      error = value.get_string().error();
      break;
    case 't':
    case 'f':
      error = value.get_bool().error();
      break;
    case 'n':
      error = value.is_null().error();
      break;
    default:
      error = value.get_double().error();
  }
  return error == simdjson::SUCCESS || fail(error);
}

void PhillyJobParser::Walk::begin_job() {
  place_ = Place{};
  job_.id = job_.status = job_.tenant = job_.user = "";
  job_.submit = kNoTime;
  job_.attempts.clear();
  job_.shares.clear();
  job_.unused.clear();
}

bool PhillyJobParser::Walk::run(const JsonBatches& batch,
                                const std::function<void(const LoggedJob&)>& use) {
  text_ = batch.text();
  place_ = Place{};
  const std::size_t readable = text_.size() + JsonBatches::kPadding;
  if (const auto error = parser_.iterate(text_.data(), text_.size(), readable).get(document_)) {
    return fail_before_reading(batch, error);
  }
  ondemand::array array;
  if (const auto error = document_.get_array().get(array)) return fail(error);
  for (auto result : array) {
    begin_job();
    ondemand::object object;
    if (const auto error = result.get_object().get(object)) return fail(error);
    const bool ok = fields(object, kJobFields, [&](std::size_t field, ondemand::value& value) {
      return read_field(field, value);
    });
    if (!ok) return false;
    use(job_);
  }
  return true;
}

PhillyJobParser::PhillyJobParser() : walk_(std::make_unique<Walk>()) {}
PhillyJobParser::~PhillyJobParser() = default;

bool PhillyJobParser::parse(const JsonBatches& batch,
                            const std::function<void(const LoggedJob&)>& use) {
  return walk_->run(batch, use);
}

const JobFault& PhillyJobParser::fault() const { return walk_->fault(); }

}  // namespace muster
