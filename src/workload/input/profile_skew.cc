#include "workload/input/profile_skew.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "base/file/document.h"
#include "base/file/item_reader.h"
#include "base/text/text.h"
#include "workload/input/profiles_file.h"

namespace muster {

namespace {

constexpr std::size_t kMaxTries = 64;

bool same(const Item& a, const Item& b) {
  return a.kind == b.kind && a.key == b.key && a.text == b.text &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), same);
}

bool is_called(const Item& entry, std::string_view profile) {
  const Item* name = entry.find("name");
  return name != nullptr && name->text == profile;
}

const Item* entry_of(const Item& root, std::string_view profile) {
  for (const Item& entry : root.find("profiles")->items) {
    if (is_called(entry, profile)) return &entry;
  }
  return nullptr;
}

// The position of a key, including an opening quote, and of its value.
struct KeyPlace {
  std::size_t begin = 0;
  std::size_t value = 0;
  bool quoted = false;
};

// Tries several edits of the text and keeps the first one that reads as intended. So it is correct
// without a complete knowledge of YAML syntax.
class SkewEdit {
 public:
  SkewEdit(std::string_view text, const std::string& file, const std::string& profile, double skew)
      : text_(text), file_(file), profile_(profile), skew_(fmt::format("{}", skew)) {}

  Result<std::string> make();

 private:
  std::pair<std::size_t, std::size_t> line_bounds(int line) const;
  std::vector<KeyPlace> places_of(std::string_view key, int line) const;
  std::string replaced(std::size_t at, std::size_t length, std::string_view by) const;
  bool reads_as_meant(const std::string& candidate) const;
  void attempt(std::string candidate);

  void replace_value(int line);
  void insert_beside_name(int line);
  void append_entry(int first_entry_line);

  std::string_view text_;
  std::string file_;
  std::string profile_;
  std::string skew_;
  Item before_;
  bool is_new_ = false;
  std::size_t tries_ = 0;
  std::optional<std::string> done_;
};

// Returns the begin and the end of the line.
std::pair<std::size_t, std::size_t> SkewEdit::line_bounds(int line) const {
  std::size_t begin = 0;
  for (int i = 1; i < line; ++i) begin = text_.find('\n', begin) + 1;
  return {begin, std::min(text_.find('\n', begin), text_.size())};
}

std::vector<KeyPlace> SkewEdit::places_of(std::string_view key, int line) const {
  const auto [begin, end] = line_bounds(line);
  const auto is_quote = [&](std::size_t at) { return text_[at] == '"' || text_[at] == '\''; };
  std::vector<KeyPlace> places;
  std::size_t found = text_.find(key, begin);
  for (; found < end && places.size() < kMaxTries; found = text_.find(key, found + 1)) {
    KeyPlace place = {found, found + key.size()};
    place.quoted = found > begin && is_quote(found - 1);
    if (place.quoted) --place.begin;
    if (place.quoted) ++place.value;
    while (place.value < end && text_[place.value] == ' ') ++place.value;
    if (place.value >= end || text_[place.value] != ':') continue;
    ++place.value;
    while (place.value < end && text_[place.value] == ' ') ++place.value;
    places.push_back(place);
  }
  return places;
}

std::string SkewEdit::replaced(std::size_t at, std::size_t length, std::string_view by) const {
  std::string out(text_);
  out.replace(at, length, by);
  return out;
}

bool SkewEdit::reads_as_meant(const std::string& candidate) const {
  if (!parse_profiles(candidate, file_).ok()) return false;
  Item after = parse_document(candidate, file_).value();
  const Item* entry = entry_of(after, profile_);
  if (entry == nullptr) return false;
  const Item* skew = entry->find("skew");
  if (skew == nullptr || skew->text != skew_) return false;
  // Without the skew, or without the new profile, both must be the same.
  const auto strip = [&](Item root) {
    for (Item& top : root.items) {
      if (is_new_) std::erase_if(top.items, [&](const Item& e) { return is_called(e, profile_); });
      for (Item& e : top.items) {
        if (!is_called(e, profile_)) continue;
        std::erase_if(e.items, [](const Item& member) { return member.key == "skew"; });
      }
    }
    return root;
  };
  return same(strip(before_), strip(std::move(after)));
}

void SkewEdit::attempt(std::string candidate) {
  if (done_ || ++tries_ > kMaxTries || !reads_as_meant(candidate)) return;
  done_ = std::move(candidate);
}

void SkewEdit::replace_value(int line) {
  const std::size_t end = line_bounds(line).second;
  for (const KeyPlace& place : places_of("skew", line)) {
    const std::size_t stop = std::min(text_.find_first_of(" ,}#\r\n", place.value), end);
    attempt(replaced(place.value, stop - place.value, skew_));
  }
}

void SkewEdit::insert_beside_name(int line) {
  const auto [begin, end] = line_bounds(line);
  for (const KeyPlace& place : places_of("name", line)) {
    const std::string_view before = text_.substr(begin, place.begin - begin);
    if (before.find_first_not_of(" -") == std::string_view::npos) {  // The key begins its line.
      attempt(replaced(end, 0, fmt::format("\n{:{}}skew: {}", "", before.size(), skew_)));
    }
    const char* quote = place.quoted ? "\"" : "";
    attempt(replaced(place.begin, 0, fmt::format("{}skew{}: {}, ", quote, quote, skew_)));
  }
}

void SkewEdit::append_entry(int first_entry_line) {
  const auto [begin, end] = line_bounds(first_entry_line);
  const std::size_t dash = text_.find_first_not_of(' ', begin);
  if (dash < end && text_[dash] == '-') {
    for (const char* quote : {"", "\""}) {  // Some names need quotes.
      attempt(fmt::format("{}{}{:{}}- name: {}{}{}\n{:{}}  skew: {}\n", text_,
                          text_.ends_with('\n') ? "" : "\n", "", dash - begin, quote, profile_,
                          quote, "", dash - begin, skew_));
    }
  }
  for (std::size_t at = text_.find('{', begin); at < end && !done_; at = text_.find('{', at + 1)) {
    if (tries_ > kMaxTries) return;
    attempt(replaced(at, 0, fmt::format(R"({{"name": "{}", "skew": {}}}, )", profile_, skew_)));
  }
}

Result<std::string> SkewEdit::make() {
  const Result<ProfileFile> known = parse_profiles(text_, file_);
  if (!known.ok()) return known.error();
  before_ = parse_document(text_, file_).value();
  const Item* entry = entry_of(before_, profile_);
  is_new_ = entry == nullptr;
  const Item& first = before_.find("profiles")->items.front();
  int line = first.line;
  if (is_new_) {
    append_entry(line);
  } else if (const Item* skew = entry->find("skew")) {
    line = skew->line;
    replace_value(line);
  } else {
    line = entry->find("name")->line;
    insert_beside_name(line);
  }
  if (done_) return *std::move(done_);
  return Error{
      fmt::format("{}:{}: profiles: cannot insert the skew; add 'skew: {}' manually to the "
                  "profile {}",
                  file_, line, skew_, in_quotes(profile_))};
}

}  // namespace

Result<std::string> with_skew(std::string_view text, const std::string& file,
                              const std::string& profile, double skew) {
  ItemReader reader(file);
  Item place;
  place.key = "name";
  reader.check_name(place, profile);
  if (reader.failed()) return reader.error();
  if (!trim(text).empty()) return SkewEdit(text, file, profile, skew).make();
  const std::string fresh =
      fmt::format("profiles:\n  - name: \"{}\"\n    skew: {}\n", profile, skew);
  const Result<ProfileFile> read = parse_profiles(fresh, file);
  if (!read.ok()) return read.error();
  return fresh;
}

}  // namespace muster
