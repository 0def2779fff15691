#include "cli/common/exit_code.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/common/command.h"

namespace muster {
namespace {

TEST(ExitCode, SeparatesBadInputFailuresAndInterrupts) {
  EXPECT_EQ(exit_code(ErrorCode::kInvalid), 2);
  EXPECT_EQ(exit_code(ErrorCode::kTooLarge), 2);
  EXPECT_EQ(exit_code(ErrorCode::kInterrupted), 130);
  for (const ErrorCode code : {ErrorCode::kUnauthenticated, ErrorCode::kForbidden,
                               ErrorCode::kNotFound, ErrorCode::kConflict, ErrorCode::kBusy,
                               ErrorCode::kUnavailable, ErrorCode::kCorrupt, ErrorCode::kSystem}) {
    EXPECT_EQ(exit_code(code), 1) << static_cast<int>(code);
  }
}

TEST(ExitCode, ComplaintsShowThePlaceAndEndWithTheCodesStatus) {
  std::ostringstream out, err;
  EXPECT_EQ(complain({out, err}, Error{"damaged", ErrorCode::kCorrupt, "/x/journal.db"}), 1);
  EXPECT_EQ(complain({out, err}, Error{"two\nlines"}), 2);
  EXPECT_EQ(complain({out, err}, "--out: empty"), 2);
  EXPECT_EQ(complain({out, err}, bad_input({"gone", ErrorCode::kNotFound})), 2);
  EXPECT_EQ(err.str(),
            "muster: /x/journal.db: damaged\nmuster: two\\x0alines\nmuster: --out: empty\n"
            "muster: gone\n");
}

}  // namespace
}  // namespace muster
