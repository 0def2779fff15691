#include "cli/live.h"

#include <fmt/format.h>
#include <unistd.h>

#include <ostream>

#include "api/auth.h"
#include "client/where.h"

namespace muster {

namespace {
using Json = nlohmann::json;
}  // namespace

int fail(Streams streams, const std::string& message) {
  complain(streams, message);
  return kExitFailed;
}

int with_manager(const LiveOptions& options, Streams streams,
                 const std::function<int(ApiClient&)>& use) {
  Result<Where> where = find_manager(options.server, process_environment());
  if (!where.ok()) return fail(streams, where.error().message);
  Result<ApiClient> client = ApiClient::connect(std::move(where).value());
  if (!client.ok()) return fail(streams, client.error().message);
  return use(client.value());
}

Result<Json> object_of(const Result<HttpReply>& reply) {
  if (!reply.ok()) return reply.error();
  if (!reply.value().ok()) return refusal_of(reply.value());
  Json object = Json::parse(reply.value().body, nullptr, false);
  if (!object.is_object()) return Error{"the manager's answer is not a JSON object"};
  return object;
}

Error refusal_of(const HttpReply& reply) {
  const Json object = Json::parse(reply.body, nullptr, false);
  const std::string said = object.is_object() ? text_at(object, "error") : "";
  if (!said.empty()) return {said};
  return {fmt::format("the manager answers with status {} and no reason", reply.status)};
}

int show(ApiClient& client, const std::string& target, const LiveOptions& options, Streams streams,
         const std::function<std::string(const Json&)>& text) {
  const Result<Json> object = object_of(client.get(target));
  if (!object.ok()) return fail(streams, object.error().message);
  streams.out << (options.json ? json_line(object.value()) + "\n" : text(object.value()));
  return kExitDone;
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

double number_at(const Json& object, const char* key, double fallback) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : fallback;
}

std::uint64_t count_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

bool flag_at(const Json& object, const char* key, bool fallback) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() ? found->get<bool>() : fallback;
}

const Json& list_at(const Json& object, const char* key) {
  static const Json kNothing = Json::array();
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : kNothing;
}

std::string json_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string my_name() { return user_name(::geteuid()); }

std::string find_shim() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  for (const char* place : {"muster-shim", "../shim/muster-shim"}) {
    const std::filesystem::path shim = self.parent_path() / place;
    if (::access(shim.c_str(), X_OK) == 0) return shim.lexically_normal().string();
  }
  return (self.parent_path() / "muster-shim").string();
}

}  // namespace muster
