#pragma once

// Hides what is probably a secret in a job's request before it is shown. Used by JobQueries. It
// cannot recognize every secret: users should pass secrets in files.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace muster {

// Whether the name of a variable or option suggests a secret: HF_TOKEN, --api-key, DB_PASSWORD.
bool is_secret_name(std::string_view name);

// Returns the text with "***" for the values of NAME=VALUE with such a name, and for passwords in
// URLs such as "https://user:password@host".
std::string without_secrets(std::string_view text);

// Hides secrets in the fields `env` and `command` of a request as JSON.
void hide_secrets(nlohmann::json& request);

}  // namespace muster
