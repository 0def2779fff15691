#include "api/client/target.h"

#include <fmt/format.h>

namespace muster {

std::string escaped(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
  std::string out;
  for (const char c : text) {
    if (kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string target(std::string_view path,
                   const std::vector<std::pair<std::string, std::string>>& query) {
  std::string out(path);
  char separator = '?';
  for (const auto& [name, value] : query) {
    if (value.empty()) continue;
    out += separator + name + "=" + escaped(value);
    separator = '&';
  }
  return out;
}

}  // namespace muster
