#include "api/port/error_answer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/port/openapi.h"
#include "api/port/routes.h"
#include "api/port/status.h"

namespace muster {
namespace {

TEST(ErrorAnswer, ShowsTheMessageAndTheCodeButNotThePlace) {
  const Answer answer =
      error_answer({"no such job: 7", ErrorCode::kNotFound, "/home/ann/state/journal.db"});
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.body, "{\"error\":\"no such job: 7\",\"code\":\"not_found\"}\n");
  EXPECT_EQ(error_json({"\xff", ErrorCode::kSystem}),
            "{\"error\":\"\xef\xbf\xbd\",\"code\":\"system\"}\n");
}

TEST(Status, EveryCodeIsFoundByItsName) {
  for (const ErrorCode code : kErrorCodes) EXPECT_EQ(find_error_code(code_name(code)), code);
  EXPECT_EQ(find_error_code("fine"), std::nullopt);
}

// If several codes share a status, error_code_of() returns one of them.
TEST(Status, EveryStatusOfACodeLeadsBackToACodeOfThatStatus) {
  for (const ErrorCode code : kErrorCodes) {
    EXPECT_EQ(http_status(error_code_of(http_status(code))), http_status(code));
  }
  EXPECT_EQ(error_code_of(405), ErrorCode::kInvalid);
  EXPECT_EQ(error_code_of(500), ErrorCode::kSystem);
  EXPECT_EQ(error_code_of(599), ErrorCode::kSystem);
}

bool documents(const Route& route, int status) {
  return std::find(route.statuses.begin(), route.statuses.end(), status) != route.statuses.end();
}

// The server refuses any call so, whichever it is: a wrong parameter, an unknown caller, too many
// connections, no answer in time.
TEST(Status, EveryRouteDocumentsTheServersOwnRefusals) {
  for (const Route& route : routes()) {
    SCOPED_TRACE(route.path);
    EXPECT_TRUE(documents(route, http_status(ErrorCode::kInvalid)));
    EXPECT_TRUE(documents(route, http_status(ErrorCode::kBusy)));
    EXPECT_TRUE(documents(route, http_status(ErrorCode::kUnavailable)));
    const bool open = is_open_to_all(route.path);
    EXPECT_EQ(documents(route, http_status(ErrorCode::kUnauthenticated)), !open);
    EXPECT_EQ(documents(route, http_status(ErrorCode::kForbidden)), !open);
  }
}

// A documented status is that of a code, or one that HTTP itself has for requests with a body.
TEST(Status, RoutesDocumentNoStatusWithoutACode) {
  for (const Route& route : routes()) {
    for (const int status : route.statuses) {
      const bool of_http = status == 408 || status == 415;
      const bool of_a_code =
          std::any_of(kErrorCodes.begin(), kErrorCodes.end(),
                      [&](ErrorCode code) { return http_status(code) == status; });
      EXPECT_TRUE(status < 300 || of_http || of_a_code) << route.path << ": " << status;
    }
  }
}

TEST(Status, OpenApiListsEveryCode) {
  const auto document = nlohmann::json::parse(openapi_json());
  const auto& code = document["components"]["schemas"]["Error"]["properties"]["code"];
  std::vector<std::string> names;
  for (const ErrorCode each : kErrorCodes) names.emplace_back(code_name(each));
  EXPECT_EQ(code["enum"].get<std::vector<std::string>>(), names);
}

}  // namespace
}  // namespace muster
