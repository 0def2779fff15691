#include "base/file/csv.h"

#include <algorithm>

#include "base/text/text.h"

namespace muster {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

LineReader::LineReader(std::string_view text) : rest_(text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
}

bool LineReader::next() {
  if (rest_.empty()) return false;
  const std::size_t end = rest_.find('\n');
  line_ = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  ++number_;
  return true;
}

MaybeError FieldSplitter::split(std::string_view line, Separator separator) {
  fields_.clear();
  unquoted_.clear();
  if (separator == Separator::kComma) return split_at_commas(line);
  if (separator == Separator::kTab) {
    split_at_tabs(line);
  } else {
    split_at_blanks(line);
  }
  return std::nullopt;
}

void FieldSplitter::split_at_tabs(std::string_view line) {
  for (const std::string_view field : muster::split(line, '\t')) {
    fields_.push_back(without_blanks(field));
  }
}

void FieldSplitter::split_at_blanks(std::string_view line) {
  for (line = without_blanks(line); !line.empty(); line = without_blanks(line)) {
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    fields_.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

MaybeError FieldSplitter::split_at_commas(std::string_view line) {
  std::size_t at = 0;
  while (true) {
    std::size_t first = at;
    while (first < line.size() && is_blank(line[first])) ++first;
    if (first < line.size() && line[first] == '"') {
      at = first;
      if (MaybeError refusal = take_quoted(line, &at)) return refusal;
    } else {
      std::size_t end = first;  // Fields are short, so a plain loop is faster than memchr.
      while (end < line.size() && line[end] != ',') ++end;
      fields_.push_back(without_blanks(line.substr(first, end - first)));
      at = end;
    }
    if (at >= line.size()) return std::nullopt;
    ++at;  // The comma.
  }
}

MaybeError FieldSplitter::take_quoted(std::string_view line, std::size_t* at) {
  unquoted_.reserve(line.size());
  const std::size_t start = unquoted_.size();
  const std::size_t opening = *at;
  std::size_t i = opening + 1;
  while (true) {
    const std::size_t quote = line.find('"', i);
    if (quote == std::string_view::npos) {
      return Error{"quote not closed: " + in_quotes(line.substr(opening))};
    }
    unquoted_.append(line.substr(i, quote - i));
    i = quote + 1;
    if (i >= line.size() || line[i] != '"') break;
    unquoted_ += '"';
    ++i;
  }
  while (i < line.size() && is_blank(line[i])) ++i;
  if (i < line.size() && line[i] != ',') {
    return Error{"text after a closing quote: " + in_quotes(line.substr(opening))};
  }
  fields_.push_back(std::string_view(unquoted_).substr(start));
  *at = i;
  return std::nullopt;
}

}  // namespace muster
