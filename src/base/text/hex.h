#pragma once

// Bytes as small hexadecimal digits and back, for ids, tokens, tickets and addresses.

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace muster {

int hex_digit(char c);  // Large ones too; -1: it is none.

std::string to_hex(std::span<const unsigned char> bytes);

// Nothing unless it is digits in pairs, at least one, and those from a to f small.
std::optional<std::string> from_hex(std::string_view text);

}  // namespace muster
