#pragma once

// Hides the values of environment variables, and what is probably a secret in a command line,
// before a job's request is shown. It cannot recognize every secret in a command line: users should
// pass secrets in files.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace muster {

// Whether the name of a variable or option suggests a secret: HF_TOKEN, --api-key, DB_PASSWORD.
bool is_secret_name(std::string_view name);

// Returns the text with "***" for the values of NAME=VALUE with such a name, and for passwords in
// URLs such as "https://user:password@host".
std::string without_secrets(std::string_view text);

enum class EnvValues : std::uint8_t { kHidden, kShown };

// Hides all values of `env`, unless they are shown to the job's owner, and secrets in `command`, of
// a request as JSON.
void hide_secrets(nlohmann::json& request, EnvValues env = EnvValues::kHidden);

}  // namespace muster
