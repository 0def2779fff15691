#include "base/file/fields.h"

#include <algorithm>
#include <utility>

#include "base/text/text.h"

namespace muster {

Result<Fields> Fields::parse(std::string_view text, std::size_t most) {
  if (text.size() > most)
    return Error{"longer than " + std::to_string(most) + " bytes", ErrorCode::kInvalid};
  nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
  if (object.is_discarded()) return Error{"not JSON", ErrorCode::kInvalid};
  if (!object.is_object()) return Error{"not a JSON object", ErrorCode::kInvalid};
  return Fields(std::move(object));
}

void Fields::complain(std::string what) {
  if (complaint_.empty()) complaint_ = std::move(what);
}

const nlohmann::json* Fields::find(const char* key, bool required) {
  known_.emplace_back(key);
  const auto it = object_.find(key);
  if (it != object_.end()) return &*it;
  if (required) complain(std::string(key) + ": missing");
  return nullptr;
}

std::int64_t Fields::whole(const char* key, std::int64_t least, std::int64_t most,
                           std::optional<std::int64_t> fallback) {
  const nlohmann::json* value = find(key, !fallback);
  if (value == nullptr) return fallback.value_or(least);
  const bool fits = value->is_number_integer() &&
                    (!value->is_number_unsigned() || value->get<std::uint64_t>() <= INT64_MAX);
  if (!fits) {
    complain(std::string(key) + ": not a whole number");
    return least;
  }
  const auto number = value->get<std::int64_t>();
  if (number >= least && number <= most) return number;
  complain(std::string(key) + ": " + std::to_string(number) + " is not between " +
           std::to_string(least) + " and " + std::to_string(most));
  return least;
}

double Fields::number(const char* key) {
  const nlohmann::json* value = find(key, true);
  if (value == nullptr) return 0;
  if (!value->is_number()) complain(std::string(key) + ": not a number");
  return value->is_number() ? value->get<double>() : 0;
}

bool Fields::flag(const char* key) {
  const nlohmann::json* value = find(key, true);
  if (value == nullptr) return false;
  if (!value->is_boolean()) complain(std::string(key) + ": not true or false");
  return value->is_boolean() && value->get<bool>();
}

std::string Fields::text(const char* key, std::optional<std::string> fallback) {
  const nlohmann::json* value = find(key, !fallback);
  if (value == nullptr) return fallback.value_or("");
  if (!value->is_string()) {
    complain(std::string(key) + ": not a string");
    return "";
  }
  return value->get<std::string>();
}

std::vector<std::string> Fields::texts(const char* key) {
  std::vector<std::string> list;
  const nlohmann::json* value = find(key, true);
  if (value == nullptr) return list;
  if (!value->is_array()) complain(std::string(key) + ": not a list");
  for (const auto& item : value->is_array() ? *value : nlohmann::json::array()) {
    if (!item.is_string()) complain(std::string(key) + ": not a list of strings");
    list.push_back(item.is_string() ? item.get<std::string>() : "");
  }
  return list;
}

std::vector<std::int64_t> Fields::wholes(const char* key, std::int64_t least, std::int64_t most) {
  std::vector<std::int64_t> list;
  const nlohmann::json* value = find(key, true);
  if (value == nullptr) return list;
  if (!value->is_array()) complain(std::string(key) + ": not a list");
  for (const auto& item : value->is_array() ? *value : nlohmann::json::array()) {
    const bool fits = item.is_number_integer() && item.get<std::int64_t>() >= least &&
                      item.get<std::int64_t>() <= most;
    if (!fits) complain(std::string(key) + ": not a list of whole numbers in range");
    list.push_back(fits ? item.get<std::int64_t>() : least);
  }
  return list;
}

std::map<std::string, std::string> Fields::pairs(const char* key) {
  std::map<std::string, std::string> list;
  const nlohmann::json* value = find(key, true);
  if (value == nullptr) return list;
  if (!value->is_object()) {
    complain(std::string(key) + ": not an object");
    return list;
  }
  for (const auto& [name, item] : value->items()) {
    if (!item.is_string()) complain(std::string(key) + ": " + in_quotes(name) + " is not a string");
    list.emplace(name, item.is_string() ? item.get<std::string>() : "");
  }
  return list;
}

std::vector<Fields> Fields::objects(const char* key) {
  std::vector<Fields> list;
  const nlohmann::json* value = find(key, true);
  if (value == nullptr) return list;
  if (!value->is_array()) complain(std::string(key) + ": not a list");
  for (const auto& item : value->is_array() ? *value : nlohmann::json::array()) {
    if (!item.is_object()) complain(std::string(key) + ": not a list of objects");
    list.emplace_back(item.is_object() ? item : nlohmann::json::object());
  }
  return list;
}

MaybeError Fields::trouble() const {
  if (!complaint_.empty()) return Error{complaint_, ErrorCode::kInvalid};
  for (const auto& [key, value] : object_.items()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const std::vector<std::string_view> names(known_.begin(), known_.end());
    return Error{"unknown key " + in_quotes(key) + suggestion(key, names), ErrorCode::kInvalid};
  }
  return std::nullopt;
}

}  // namespace muster
