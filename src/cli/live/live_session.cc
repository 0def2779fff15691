#include "cli/live/live_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <ostream>

#include "api/client/manager_address.h"
#include "api/client/reply_error.h"
#include "api/server/auth.h"

namespace muster {

namespace {
using Json = nlohmann::json;
}  // namespace

int with_manager(const LiveOptions& options, Streams streams,
                 const std::function<int(ApiClient&)>& use) {
  Result<ManagerAddress> where = find_manager(options.server, process_environment());
  if (!where.ok()) return complain(streams, where.error());
  Result<ApiClient> client = ApiClient::connect(std::move(where).value());
  if (!client.ok()) return complain(streams, client.error());
  return use(client.value());
}

Result<Json> object_of(const Result<HttpReply>& reply) {
  if (!reply.ok()) return reply.error();
  if (!reply.value().ok()) return refusal_of(reply.value());
  Json object = Json::parse(reply.value().body, nullptr, false);
  if (!object.is_object())
    return Error{"the manager's answer is not a JSON object", ErrorCode::kCorrupt};
  return object;
}

// Exit status 2 is reserved for arguments that this program rejects; here the manager did.
Error refusal_of(const HttpReply& reply) {
  Error error = error_of(reply);
  if (exit_code(error.code) == kExitBadInput) error.code = ErrorCode::kConflict;
  return error;
}

int show(ApiClient& client, const std::string& target, const LiveOptions& options, Streams streams,
         const std::function<std::string(const Json&)>& text) {
  const Result<Json> object = object_of(client.get(target));
  if (!object.ok()) return complain(streams, object.error());
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
  return (self.parent_path() / "muster-shim").string();
}

}  // namespace muster
