#include "base/file/item_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/text.h"

namespace muster {

namespace {

const Item& nothing() {
  static const Item item;
  return item;
}

// Describes the item at the end of a message.
std::string shown(const Item& item) {
  switch (item.kind) {
    case Item::Kind::kText:
      return in_quotes(item.text);
    case Item::Kind::kList:
      return "a list";
    case Item::Kind::kMap:
      return "a map";
    case Item::Kind::kEmpty:
      break;
  }
  return "nothing";
}

}  // namespace

std::string ItemReader::at(const Item& item) const {
  if (item.key.empty()) return fmt::format("{}:{}", file_, item.line);
  const bool plain =
      std::all_of(item.key.begin(), item.key.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  return fmt::format("{}:{}: {}", file_, item.line, plain ? item.key : in_quotes(item.key));
}

void ItemReader::refuse(const Item& item, std::string_view why) {
  if (!failed()) refusal_ = Error{fmt::format("{}: {}", at(item), why)};
}

void ItemReader::allow_keys(const Item& map, std::span<const std::string_view> known) {
  if (map.kind != Item::Kind::kMap) {
    refuse(map, fmt::format("not a map of {}: {}", fmt::join(known, ", "), shown(map)));
    return;
  }
  for (const Item& item : map.items) {
    if (std::find(known.begin(), known.end(), item.key) != known.end()) continue;
    Item place;
    place.key = map.key;
    place.line = item.line;
    refuse(place, "unknown key: " + in_quotes(item.key) + suggestion(item.key, known));
  }
}

const Item& ItemReader::member(const Item& map, std::string_view key) {
  const Item* item = map.find(key);
  if (item != nullptr) return *item;
  refuse(map, fmt::format("missing key: '{}'", key));
  return nothing();
}

const Item& ItemReader::list(const Item& map, std::string_view key) {
  const Item& item = member(map, key);
  expect_list(item);
  return item;
}

void ItemReader::expect_list(const Item& item) {
  if (item.kind != Item::Kind::kList) refuse(item, "not a list: " + shown(item));
  if (item.items.empty()) refuse(item, "empty list");
}

double ItemReader::number(const Item& item, Bounds bounds) {
  if (item.kind != Item::Kind::kText) {
    refuse(item, "not a number: " + shown(item));
    return bounds.low;
  }
  const Result<double> value = parse_number(item.text);
  if (!value.ok()) {
    refuse(item, value.error().message);
    return bounds.low;
  }
  if (value.value() < bounds.low || value.value() > bounds.high) {
    refuse(item, fmt::format("not between {} and {}: {}", bounds.low, bounds.high, shown(item)));
    return bounds.low;
  }
  return value.value();
}

std::int64_t ItemReader::whole(const Item& item, Bounds bounds) {
  if (item.kind == Item::Kind::kText) {
    const Result<std::int64_t> value = parse_int(item.text);
    if (!value.ok()) refuse(item, value.error().message);
  }
  return static_cast<std::int64_t>(number(item, bounds));
}

std::string ItemReader::name(const Item& item) {
  if (item.kind != Item::Kind::kText) {
    refuse(item, "not a name: " + shown(item));
    return "";
  }
  check_name(item, item.text);
  return item.text;
}

void ItemReader::check_name(const Item& item, std::string_view word) {
  constexpr std::size_t kMaxLetters = 64;
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-+:/").find(c) != std::string_view::npos;
  };
  if (word.empty()) refuse(item, "empty name");
  if (word.size() > kMaxLetters) {
    refuse(item, fmt::format("name longer than {} characters: {}", kMaxLetters, in_quotes(word)));
  }
  if (!std::all_of(word.begin(), word.end(), allowed)) {
    refuse(item, "a name has only letters, digits and . _ - + : /: " + in_quotes(word));
  }
}

std::string ItemReader::line(const Item& item) {
  if (item.kind != Item::Kind::kText) {
    refuse(item, "not text: " + shown(item));
    return "";
  }
  if (item.text.empty()) refuse(item, "empty");
  if (item.text.find_first_of("\r\n\t") != std::string::npos) {
    refuse(item, "not one line: " + shown(item));
  }
  return item.text;
}

bool ItemReader::flag(const Item& item) {
  const bool known =
      item.kind == Item::Kind::kText && (item.text == "true" || item.text == "false");
  if (!known) refuse(item, "not true or false: " + shown(item));
  return known && item.text == "true";
}

Duration ItemReader::duration(const Item& item, Duration least, Duration most) {
  if (item.kind != Item::Kind::kText) {
    refuse(item, "not a duration: " + shown(item));
    return least;
  }
  const Result<Duration> value = parse_duration(item.text);
  if (!value.ok()) {
    refuse(item, value.error().message);
    return least;
  }
  if (value.value() < least || value.value() > most) {
    refuse(item, fmt::format("not between {} and {} seconds: {}", seconds_text(least.us()),
                             seconds_text(most.us()), shown(item)));
    return least;
  }
  return value.value();
}

double ItemReader::number_or(const Item& map, std::string_view key, Bounds bounds,
                             double fallback) {
  const Item* item = map.find(key);
  return item == nullptr ? fallback : number(*item, bounds);
}

std::int64_t ItemReader::whole_or(const Item& map, std::string_view key, Bounds bounds,
                                  std::int64_t fallback) {
  const Item* item = map.find(key);
  return item == nullptr ? fallback : whole(*item, bounds);
}

std::string ItemReader::name_or(const Item& map, std::string_view key, std::string_view fallback) {
  const Item* item = map.find(key);
  return item == nullptr ? std::string(fallback) : name(*item);
}

}  // namespace muster
