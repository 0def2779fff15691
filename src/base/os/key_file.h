#pragma once

// A random 256-bit secret in a file of the state directory. The manager signs browser tickets with
// one, and computes lease tokens with another.

#include <array>
#include <string>

#include "base/types/result.h"

namespace muster {

using SecretKey = std::array<unsigned char, 32>;

// Returns a new key from the operating system's random numbers.
Result<SecretKey> new_secret_key();

// Reads the key from the file `path`. If there is no file, creates it with a new key and mode 0600;
// the file is durable when the call returns. Fails if another user owns the file or can read it, or
// if it does not contain a key.
Result<SecretKey> open_key_file(const std::string& path);

}  // namespace muster
