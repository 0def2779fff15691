#include "api/client/reply_error.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

Error error_from(int status, const std::string& body) { return error_of({status, body, {}}); }

TEST(ReplyError, TakesTheManagersWordsAndCode) {
  const Error error = error_from(503, R"({"error":"it ends","code":"interrupted"})");
  EXPECT_EQ(error.message, "it ends");
  EXPECT_EQ(error.code, ErrorCode::kInterrupted);
}

TEST(ReplyError, FallsBackToTheStatus) {
  EXPECT_EQ(error_from(404, R"({"error":"no such job: 7"})").code, ErrorCode::kNotFound);
  EXPECT_EQ(error_from(409, R"({"error":"x","code":"of later versions"})").code,
            ErrorCode::kConflict);
  EXPECT_EQ(error_from(400, R"({"error":"x","code":5})").code, ErrorCode::kInvalid);
  const Error proxy = error_from(502, "<html>Bad Gateway</html>");
  EXPECT_EQ(proxy.code, ErrorCode::kUnavailable);
  EXPECT_EQ(proxy.message, "the manager answered with status 502 and no message");
  EXPECT_EQ(error_from(500, "[]").message, "the manager answered with status 500 and no message");
}

}  // namespace
}  // namespace muster
