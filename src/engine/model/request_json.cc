#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "engine/model/fields.h"
#include "engine/model/job_request.h"

namespace muster {

namespace {

using As = Written::As;

// ---- reading

// SAX handler that sets request fields directly, without a tree. It rejects unexpected values where
// they begin, so nesting is never deeper than a list in a map.
class RequestSax final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit RequestSax(JobRequest& request) : request_(request) {}

  const std::string& error() const { return error_; }

  bool null() override { return value({As::kNothing, "null"}); }
  bool boolean(bool flag) override { return value({As::kFlag, flag ? "true" : "false"}); }
  bool number_integer(number_integer_t number) override {
    const fmt::format_int digits(number);
    return value({As::kNumber, {digits.data(), digits.size()}});
  }
  bool number_unsigned(number_unsigned_t number) override {
    const fmt::format_int digits(number);
    return value({As::kNumber, {digits.data(), digits.size()}});
  }
  bool number_float(number_float_t, const string_t& digits) override {
    return value({As::kNumber, digits});
  }
  bool string(string_t& text) override { return value({As::kText, text}); }
  bool binary(binary_t&) override { return refuse("not JSON"); }

  bool key(string_t& name) override {
    if (inside_ == Inside::kMap) {
      variable_ = std::move(name);
      return true;
    }
    field_ = request_field(name);
    if (field_ == nullptr) return refuse(unknown_field(name));
    const auto index = static_cast<std::size_t>(field_ - request_fields().data());
    if (seen_[index]) return refuse("key given twice: " + in_quotes(name));
    seen_[index] = true;
    return true;
  }

  bool start_object(std::size_t) override {
    const bool first = inside_ == Inside::kNothing;
    if (!first && (inside_ != Inside::kRequest || !field_->takes_map())) return no_place("a map");
    inside_ = first ? Inside::kRequest : Inside::kMap;
    has_variables_ = has_variables_ || (!first && field_->name == "env");
    return true;
  }
  bool end_object() override {
    inside_ = Inside::kRequest;
    return true;
  }

  bool start_array(std::size_t) override {
    if (inside_ != Inside::kRequest || !field_->takes_list()) return no_place("a list");
    inside_ = Inside::kList;
    return true;
  }
  bool end_array() override {
    inside_ = Inside::kRequest;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& last,
                   const nlohmann::detail::exception&) override {
    constexpr std::size_t kShown = 20;  // Bytes of the last token to show; tokens can be very long.
    // The text may be the value of a variable, which may be a secret.
    if (has_variables_) return refuse(fmt::format("not JSON: byte {}", position));
    const std::string_view end =
        std::string_view(last).substr(last.size() - std::min(last.size(), kShown));
    return refuse(fmt::format("not JSON: byte {}, at {}", position, in_quotes(end)));
  }

 private:
  enum class Inside : std::uint8_t { kNothing, kRequest, kList, kMap };

  bool refuse(std::string why) {
    error_ = std::move(why);
    return false;
  }

  bool no_place(const char* what) {
    if (inside_ == Inside::kNothing) return refuse("not a JSON object");
    return refuse(fmt::format("{}: {} is not allowed here", field_->name, what));
  }

  bool value(Written written) {
    if (inside_ == Inside::kNothing) return refuse("not a JSON object");
    const MaybeError refusal = inside_ == Inside::kMap
                                   ? add_to_map(request_, *field_, variable_, written)
                               : inside_ == Inside::kList ? add_to_field(request_, *field_, written)
                                                          : set_field(request_, *field_, written);
    if (refusal) return refuse(fmt::format("{}: {}", field_->name, refusal->message));
    return true;
  }

  JobRequest& request_;
  Inside inside_ = Inside::kNothing;
  const RequestField* field_ = nullptr;
  std::string variable_;
  std::bitset<64> seen_;
  bool has_variables_ = false;  // `env` has begun.
  std::string error_;
};

// ---- writing

std::string quoted_json(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string value_json(const std::string& text) { return quoted_json(text); }
std::string value_json(std::int32_t number) { return std::to_string(number); }
std::string value_json(std::uint64_t number) { return std::to_string(number); }
std::string value_json(CpuAmount cpus) { return cpus_text(cpus); }
std::string value_json(MemAmount mem) { return quoted_json(mem_text(mem)); }
std::string value_json(bool flag) { return flag ? "true" : "false"; }
std::string value_json(Duration duration) { return seconds_text(duration.us()); }
std::string value_json(const ArrayRange& array) { return quoted_json(array_text(array)); }
std::string value_json(LaunchPer per) { return per == LaunchPer::kGpu ? "\"gpu\"" : "\"node\""; }

std::string value_json(OnLost::Then then) {
  return then == OnLost::Then::kFail ? "\"fail\"" : "\"requeue\"";
}
std::string value_json(const OnLost& on_lost) {
  std::string out;
  const auto add = [&](const char* name, const auto& value) {
    if (value) out += fmt::format("{}\"{}\":{}", out.empty() ? "" : ",", name, value_json(*value));
  };
  add("keep_for", on_lost.keep_for);
  add("then", on_lost.then);
  add("stop_on_agent_after", on_lost.stop_on_agent_after);
  return "{" + out + "}";
}

template <class T>
std::string value_json(const std::optional<T>& value) {
  return value_json(*value);  // Never empty here: empty is the default, which request_json() skips.
}

template <class T>
std::string value_json(const std::vector<T>& list) {
  std::string out = "[";
  for (const T& entry : list) {
    if (out.size() > 1) out += ',';
    out += value_json(entry);
  }
  return out + "]";
}

std::string value_json(const std::map<std::string, std::string>& map) {
  std::string out = "{";
  for (const auto& [name, value] : map) {
    if (out.size() > 1) out += ',';
    out += quoted_json(name) + ":" + quoted_json(value);
  }
  return out + "}";
}

}  // namespace

std::string request_json(const JobRequest& request) {
  static const JobRequest kUsual;
  std::string out = "{";
  for (const RequestField& field : request_fields()) {
    const auto write = [&](auto member) {
      if (request.*member == kUsual.*member) return;
      if (out.size() > 1) out += ',';
      out += fmt::format("\"{}\":", field.name) + value_json(request.*member);
    };
    std::visit(write, field.member);
  }
  return out + "}";
}

Result<JobRequest> read_request(std::string_view json) {
  if (json.size() > kMaxRequestBytes) {
    return Error{fmt::format("more than {} KiB", kMaxRequestBytes >> 10U)};
  }
  JobRequest request;
  RequestSax sax(request);
  if (!nlohmann::json::sax_parse(json, &sax)) return Error{sax.error()};
  complete_request(request);
  if (const MaybeError refusal = check_request(request)) return *refusal;
  return request;
}

}  // namespace muster
