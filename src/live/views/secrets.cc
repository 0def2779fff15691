#include "live/views/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

namespace muster {

namespace {

using json = nlohmann::json;

constexpr std::array<std::string_view, 19> kSecretWords = {
    "TOKEN",       "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASS",
    "PASSPHRASE",  "KEY",    "KEYS",   "APIKEY",  "AUTH",     "COOKIE", "CREDENTIAL",
    "CREDENTIALS", "PWD",    "PAT",    "DSN",     "JWT"};
constexpr std::string_view kHidden = "***";

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

bool is_option(std::string_view word) { return word.starts_with("--"); }

// Replaces the password in each "://user:password@". O(length of the text).
std::string without_url_passwords(std::string_view text) {
  constexpr std::string_view kScheme = "://";
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = text.find(kScheme); at != std::string_view::npos;
       at = text.find(kScheme, at + 1)) {
    const std::size_t begin = at + kScheme.size();
    const std::size_t end = std::min(text.find_first_of("/ \t\n'\"", begin), text.size());
    const std::string_view host = text.substr(begin, end - begin);
    const std::size_t sign = host.rfind('@');
    const std::size_t colon = host.find(':');
    if (sign == std::string_view::npos || colon > sign) continue;
    out += text.substr(copied, begin + colon + 1 - copied);
    out += kHidden;
    copied = begin + sign;
  }
  out += text.substr(copied);
  return out;
}

}  // namespace

bool is_secret_name(std::string_view name) {
  if (name == "PWD" || name == "OLDPWD") return false;  // The shell's directories.
  std::string word;
  const auto is_secret = [&] {
    return std::find(kSecretWords.begin(), kSecretWords.end(), word) != kSecretWords.end();
  };
  for (const char c : name) {
    if (c == '_' || c == '-') {
      if (is_secret()) return true;
      word.clear();
    } else {
      word += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
  }
  return is_secret();
}

std::string without_secrets(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_name_char(text[end])) ++end;
    out += text.substr(at, end - at);
    const std::string_view name = text.substr(at, end - at);
    const bool hides = end < text.size() && is_secret_name(name) &&
                       (text[end] == '=' || (text[end] == ' ' && is_option(name)));
    if (end < text.size()) out += text[end];
    at = end + 1;
    if (!hides) continue;
    out += kHidden;
    at = std::min(text.find_first_of(" \t\r\n;&|", at), text.size());
  }
  return without_url_passwords(out);
}

void hide_secrets(json& request, EnvValues env) {
  if (!request.is_object()) return;
  if (const auto found = request.find("env"); found != request.end() && env == EnvValues::kHidden) {
    if (!found->is_object()) *found = kHidden;
    for (auto& [name, value] : found->items()) value = kHidden;
  }
  if (const auto command = request.find("command");
      command != request.end() && command->is_array()) {
    bool is_value = false;  // The last word was an option such as --api-key.
    for (json& word : *command) {
      if (!word.is_string()) continue;
      const std::string text = word.get<std::string>();
      word = is_value && !is_option(text) ? std::string(kHidden) : without_secrets(text);
      is_value = is_option(text) && is_secret_name(text);
    }
  }
}

}  // namespace muster
