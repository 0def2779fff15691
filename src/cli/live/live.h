#pragma once

// What the verbs of the live manager share: finding it, and reading its answers, of which any field
// may be missing.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "api/client/api_client.h"
#include "cli/live/live_options.h"

namespace muster {

// Connects and runs `use`, or says that nobody is there.
int with_manager(const LiveOptions& options, Streams streams,
                 const std::function<int(ApiClient&)>& use);

// The object of an answer; an error if it was refused, with the manager's own words.
Result<nlohmann::json> object_of(const Result<HttpReply>& reply);

// Why an answer is not what was asked for. The exit status of its code is never 2.
Error refusal_of(const HttpReply& reply);

// GETs and prints: with --json the object as it came, else what `text` makes of it.
int show(ApiClient& client, const std::string& target, const LiveOptions& options, Streams streams,
         const std::function<std::string(const nlohmann::json&)>& text);

// Fields of an object, or the fallback where there is none of that type.
std::string text_at(const nlohmann::json& object, const char* key);
double number_at(const nlohmann::json& object, const char* key, double fallback = 0);
std::uint64_t count_at(const nlohmann::json& object, const char* key);
bool flag_at(const nlohmann::json& object, const char* key, bool fallback = false);
// The list under `key`, or an empty one.
const nlohmann::json& list_at(const nlohmann::json& object, const char* key);

// As one line, without an exception for bad UTF-8.
std::string json_line(const nlohmann::json& value);

// Returns the path of muster-shim in the directory of this program.
std::string find_shim();

// Whoever runs this program, as the system calls them.
std::string my_name();

}  // namespace muster
