#pragma once

// Converts bytes to lowercase hexadecimal digits and back, for ids, tokens, tickets and addresses.

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace muster {

// Returns the value of a hexadecimal digit of either case; -1 for any other character.
int hex_digit(char c);

std::string to_hex(std::span<const unsigned char> bytes);

// Returns the bytes, or nullopt unless the text is one or more pairs of lowercase digits.
std::optional<std::string> from_hex(std::string_view text);

}  // namespace muster
