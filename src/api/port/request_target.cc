#include "api/port/request_target.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/hex.h"
#include "base/text/text.h"

namespace muster {
namespace {

constexpr std::size_t kMaxTargetBytes = 2'048;

Result<std::string> decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 1 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0)
        return Error{"'%' must be followed by two hexadecimal digits: " + in_quotes(text),
                     ErrorCode::kInvalid};
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c < ' ' || c > '~')
      return Error{"contains a non-printable byte: " + in_quotes(text), ErrorCode::kInvalid};
    out += c;
  }
  return out;
}

}  // namespace

const std::string* RequestTarget::find(std::string_view name) const {
  const auto found = std::find_if(queries.begin(), queries.end(),
                                  [&](const auto& query) { return query.first == name; });
  return found == queries.end() ? nullptr : &found->second;
}

Result<RequestTarget> read_target(std::string_view text) {
  if (text.size() > kMaxTargetBytes) return Error{"the URL is too long", ErrorCode::kInvalid};
  if (!text.starts_with('/')) return Error{"the URL does not begin with '/'", ErrorCode::kInvalid};
  const std::size_t mark = text.find('?');
  RequestTarget target;
  for (const std::string_view part : split(text.substr(1, mark - 1), '/')) {
    Result<std::string> decoded = decode(part);
    if (!decoded.ok()) return decoded.error();
    target.path.push_back(std::move(decoded.value()));
  }
  if (mark == std::string_view::npos || mark + 1 == text.size()) return target;
  for (const std::string_view part : split(text.substr(mark + 1), '&')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      return Error{"parameter without '=': " + in_quotes(part), ErrorCode::kInvalid};
    }
    Result<std::string> name = decode(part.substr(0, equals));
    Result<std::string> value = decode(part.substr(equals + 1));
    if (!name.ok()) return name.error();
    if (!value.ok()) return value.error();
    target.queries.emplace_back(std::move(name.value()), std::move(value.value()));
  }
  return target;
}

MaybeError check_names(const RequestTarget& target, std::span<const std::string_view> known) {
  for (std::size_t i = 0; i < target.queries.size(); ++i) {
    const std::string& name = target.queries[i].first;
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string hint =
          known.empty() ? "; this request has no parameters" : suggestion(name, known);
      return Error{fmt::format("unknown parameter: {}{}", in_quotes(name), hint),
                   ErrorCode::kInvalid};
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (target.queries[j].first == name)
        return Error{"parameter given twice: " + in_quotes(name), ErrorCode::kInvalid};
    }
  }
  return std::nullopt;
}

bool is_name(std::string_view word) {
  constexpr std::size_t kMaxLetters = 64;
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-+:/").find(c) != std::string_view::npos;
  };
  return !word.empty() && word.size() <= kMaxLetters &&
         std::all_of(word.begin(), word.end(), allowed);
}

bool is_job_word(std::string_view word) {
  constexpr std::size_t kMaxDigits = 32;
  constexpr std::string_view kWholeArray = "_*";
  if (word.size() > kMaxDigits) return false;
  if (word.ends_with(kWholeArray)) word.remove_suffix(kWholeArray.size());
  return !word.empty() && word.find_first_not_of("0123456789_") == std::string_view::npos;
}

Result<std::int64_t> whole(const RequestTarget& target, std::string_view name, std::int64_t least,
                           std::int64_t most, std::int64_t otherwise) {
  const std::string* text = target.find(name);
  if (text == nullptr) return otherwise;
  const Result<std::int64_t> value = parse_int(*text);
  if (!value.ok())
    return Error{fmt::format("{}: {}", name, value.error().message), ErrorCode::kInvalid};
  if (value.value() < least || value.value() > most) {
    return Error{fmt::format("{}: not between {} and {}: {}", name, least, most, value.value()),
                 ErrorCode::kInvalid};
  }
  return value;
}

Result<bool> yes_or_no(const RequestTarget& target, std::string_view name) {
  const Result<std::int64_t> value = whole(target, name, 0, 1, 0);
  if (!value.ok()) return value.error();
  return value.value() == 1;
}

Result<std::optional<double>> seconds_or_none(const RequestTarget& target, std::string_view name) {
  constexpr double kMax = 1e11;  // About 3,000 years.
  const std::string* text = target.find(name);
  if (text == nullptr || text->empty()) return std::optional<double>();
  const Result<double> value = parse_number(*text);
  if (!value.ok())
    return Error{fmt::format("{}: {}", name, value.error().message), ErrorCode::kInvalid};
  if (!(value.value() >= 0 && value.value() <= kMax)) {
    return Error{fmt::format("{}: not between 0 and {:g}: {}", name, kMax, in_quotes(*text)),
                 ErrorCode::kInvalid};
  }
  return std::optional<double>(value.value());
}

Result<std::string> name_or_none(const RequestTarget& target, std::string_view name) {
  const std::string* text = target.find(name);
  if (text == nullptr || text->empty()) return std::string();
  if (!is_name(*text))
    return Error{fmt::format("{}: not a name: {}", name, in_quotes(*text)), ErrorCode::kInvalid};
  return *text;
}

}  // namespace muster
