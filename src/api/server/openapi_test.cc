#include "api/port/openapi.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "api/port/routes.h"
#include "api/port/status.h"
#include "api/server/testing.h"
#include "engine/model/fields.h"

namespace muster {
namespace {

using Json = nlohmann::json;
using Words = std::set<std::string>;

Json description() { return Json::parse(openapi_json()); }

std::string small(std::string_view method) { return method == "GET" ? "get" : "post"; }

// The parameters of an operation that are in `place`, with those of its path.
Words parameters(const Json& path, const Json& operation, const std::string& place) {
  Words found;
  for (const Json* owner : {&path, &operation}) {
    for (const Json& parameter : owner->value("parameters", Json::array())) {
      if (parameter["in"] == place) found.insert(parameter["name"].get<std::string>());
    }
  }
  return found;
}

TEST(OpenApi, HasEveryRouteWithItsParametersAndStatuses) {
  const Json paths = description()["paths"];
  for (const Route& route : routes()) {
    const std::string name(route.path);
    ASSERT_TRUE(paths.contains(name)) << name;
    ASSERT_TRUE(paths[name].contains(small(route.method))) << route.method << " " << name;
    const Json& operation = paths[name][small(route.method)];
    EXPECT_EQ(parameters(paths[name], operation, "query"),
              Words(route.parameters.begin(), route.parameters.end()))
        << name;
    Words wanted, there;
    for (const int status : route.statuses) wanted.insert(std::to_string(status));
    for (const auto& [status, response] : operation["responses"].items()) there.insert(status);
    EXPECT_EQ(there, wanted) << route.method << " " << name;
    Words in_path;
    if (name.find("{id}") != std::string::npos) in_path.insert("id");
    if (name.find("{name}") != std::string::npos) in_path.insert("name");
    if (name.find("{key}") != std::string::npos) in_path.insert("key");
    EXPECT_EQ(parameters(paths[name], operation, "path"), in_path) << name;
  }
}

TEST(OpenApi, HasNothingElse) {
  const Json paths = description()["paths"];
  Words names;
  for (const auto& [name, path] : paths.items()) {
    for (const auto& [method, operation] : path.items()) {
      if (method == "parameters") continue;
      bool known = false;
      for (const Route& route : routes()) {
        known = known || (route.path == name && small(route.method) == method);
      }
      EXPECT_TRUE(known) << method << " " << name;
      const std::string id = operation["operationId"].get<std::string>();
      EXPECT_TRUE(names.insert(id).second) << "twice: " << id;
      EXPECT_EQ(operation.contains("security"), is_open_to_all(name)) << name;
    }
  }
}

// A call has the name of its operation; events of one job are asked for by the call of all events.
TEST(OpenApi, NamesOperationsAsCalls) {
  const Json paths = description()["paths"];
  for (const Route& route : routes()) {
    if (route.call.empty() || route.path == "/v1/jobs/{id}/events") continue;
    const Json& operation = paths[std::string(route.path)][small(route.method)];
    EXPECT_EQ(operation["operationId"], route.call) << route.path;
  }
}

TEST(OpenApi, HasASchemaForEveryAnswer) {
  const Json all = description();
  EXPECT_EQ(all["openapi"], "3.1.0");
  for (const auto& [name, path] : all["paths"].items()) {
    for (const auto& [method, operation] : path.items()) {
      if (method == "parameters") continue;
      for (const auto& [status, given] : operation["responses"].items()) {
        const Json& response =
            given.contains("$ref")
                ? all.at(Json::json_pointer(given["$ref"].get<std::string>().substr(1)))
                : given;
        ASSERT_FALSE(response["content"].empty()) << method << " " << name << " " << status;
        for (const auto& [type, content] : response["content"].items()) {
          EXPECT_TRUE(content.contains("schema")) << method << " " << name << " " << status;
        }
      }
    }
  }
}

// Types are generated from the schemas: an object inside another would have no name there.
TEST(OpenApi, NamesEveryObject) {
  const Json all = description();
  const Json paths = all["paths"].flatten();
  for (const auto& [place, value] : paths.items()) {
    EXPECT_EQ(place.find("/properties/"), std::string::npos) << place;
  }
  for (const auto& [name, schema] : all["components"]["schemas"].items()) {
    const Json flat = schema.flatten();
    for (const auto& [place, value] : flat.items()) {
      const std::size_t first = place.find("/properties/");
      if (first == std::string::npos) continue;
      EXPECT_EQ(place.find("/properties/", first + 1), std::string::npos) << name << place;
    }
  }
}

TEST(OpenApi, HasTheCodesOfErrors) {
  const Json all = description();
  Words codes;
  for (int i = 0; i <= static_cast<int>(ErrorCode::kInterrupted); ++i) {
    codes.insert(std::string(code_name(static_cast<ErrorCode>(i))));
  }
  EXPECT_EQ(all["components"]["schemas"]["Error"]["properties"]["code"]["enum"].get<Words>(),
            codes);
}

TEST(OpenApi, RefersOnlyToWhatItHas) {
  const Json all = description();
  const Json flat = all.flatten();
  for (const auto& [place, value] : flat.items()) {
    if (!place.ends_with("/$ref")) continue;
    const std::string target = value.get<std::string>();
    ASSERT_TRUE(target.starts_with("#/")) << target;
    EXPECT_TRUE(all.contains(Json::json_pointer(target.substr(1)))) << target;
  }
}

// The states and limits in the description are those that the routes enforce.
TEST(OpenApi, AllowsWhatTheRoutesAllow) {
  const Json all = description();
  for (const Json& parameter : all["paths"]["/v1/jobs"]["get"]["parameters"]) {
    const Json& schema = parameter["schema"];
    const Json& one = schema.contains("items") ? schema["items"] : schema;
    for (const Json& word : one.value("enum", Json::array())) {
      HttpRequest request;
      request.method = "GET";
      const std::string name = parameter["name"].get<std::string>();
      request.target = "/v1/jobs?" + name + "=" +
                       (word.is_string() ? word.get<std::string>() : word.dump()) +
                       (name == "order" ? "&sort=id" : "");
      EXPECT_TRUE(std::holds_alternative<Routed>(find_route(request))) << word;
    }
  }
}

TEST(OpenApi, RequestsHaveTheKeysOfARequest) {
  const Json request = description()["components"]["schemas"]["Request"];
  Words keys, fields;
  for (const auto& [key, schema] : request["properties"].items()) keys.insert(key);
  for (const RequestField& field : request_fields()) fields.insert(std::string(field.name));
  EXPECT_EQ(keys, fields);
}

TEST(OpenApi, IsServed) {
  ServerTest test;
  EXPECT_EQ(body_of(test.connect().ask(get("/openapi.json"))), openapi_json());
  EXPECT_TRUE(test.service.calls().empty());
}

}  // namespace
}  // namespace muster
