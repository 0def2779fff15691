#include "cli/common/command.h"

#include <fmt/format.h>

#include <ostream>
#include <string_view>
#include <utility>

#include "base/text/error_text.h"
#include "base/text/text.h"
#include "workload/input/profiles_file.h"

namespace muster {

std::string command_line(std::span<const std::string> words) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  std::string line = "muster";
  for (const std::string& word : words) {
    line += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      line += word;
      continue;
    }
    line += shell_word(word);
  }
  return line;
}

int complain(Streams streams, std::string_view message) {
  return complain(streams, Error{std::string(message)});
}

int complain(Streams streams, const Error& error) {
  std::string line;  // Names may contain line breaks, so control characters are escaped.
  for (const char c : full_text(error)) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      line += c;
    }
  }
  streams.err << "muster: " << line << '\n';
  return exit_code(error.code);
}

std::string refuse_seed(const std::string& text) {
  const Result<std::int64_t> number = parse_int(text);
  if (!number.ok()) return number.error().message;
  return number.value() < 0 ? "negative: " + in_quotes(text) : "";
}

Result<ProfileTable> load_profiles(const std::string& path, std::ostream& notes) {
  if (path.empty()) return builtin_profiles();
  Result<ProfileFile> file = read_profiles(path);
  if (!file.ok()) return file.error();
  for (const std::string& note : file.value().notes) notes << "note: " << note << '\n';
  return std::move(file.value().table);
}

}  // namespace muster
