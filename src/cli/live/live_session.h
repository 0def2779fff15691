#pragma once

// Helpers of the commands for the live manager: connect to it and read its answers. Any field of an
// answer may be missing.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "api/client/api_client.h"
#include "cli/live/live_options.h"

namespace muster {

// Connects to the manager and runs `use`. Prints an error if there is no manager.
int with_manager(const LiveOptions& options, Streams streams,
                 const std::function<int(ApiClient&)>& use);

// Returns the JSON object of an answer. If the manager refused the request, returns its message as
// an error.
Result<nlohmann::json> object_of(const Result<HttpReply>& reply);

// Returns the error in a refused request's answer. The exit status of its code is never 2.
Error refusal_of(const HttpReply& reply);

// GETs `target` and prints the answer: unchanged with --json, otherwise formatted by `text`.
int show(ApiClient& client, const std::string& target, const LiveOptions& options, Streams streams,
         const std::function<std::string(const nlohmann::json&)>& text);

// Return a field of an object, or the fallback if there is none of that type.
std::string text_at(const nlohmann::json& object, const char* key);
double number_at(const nlohmann::json& object, const char* key, double fallback = 0);
std::uint64_t count_at(const nlohmann::json& object, const char* key);
bool flag_at(const nlohmann::json& object, const char* key, bool fallback = false);
// Returns the list under `key`, or an empty list.
const nlohmann::json& list_at(const nlohmann::json& object, const char* key);

// Returns `value` as one line of JSON. Replaces invalid UTF-8 instead of throwing an exception.
std::string json_line(const nlohmann::json& value);

// Returns the path of muster-shim in the directory of this program.
std::string find_shim();

// Returns the name of the user who runs this program.
std::string my_name();

}  // namespace muster
