#include "exec/lease/control.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Request, ComesBackAsItWasWritten) {
  Request resize;
  resize.what = Request::Do::kResize;
  resize.limits = {.cpu_milli = 250, .mem_mib = 64};
  const auto again = read_control(control_json(resize));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again.value().what, Request::Do::kResize);
  EXPECT_EQ(again.value().limits.cpu_milli, 250);
  EXPECT_EQ(again.value().limits.mem_mib, 64);

  Request stop;
  stop.what = Request::Do::kStop;
  EXPECT_FALSE(read_control(control_json(stop)).value().grace_ms);
  stop.grace_ms = 0;
  EXPECT_EQ(read_control(control_json(stop)).value().grace_ms, 0);
  for (const auto what : {Request::Do::kKill, Request::Do::kStatus}) {
    Request request;
    request.what = what;
    EXPECT_EQ(read_control(control_json(request)).value().what, what);
  }
}

TEST(Request, IsRefusedInOneLine) {
  const auto why = [](const char* line) {
    const auto read = read_control(line);
    return read.ok() ? "" : read.error().message;
  };
  EXPECT_EQ(why(""), "not JSON");
  EXPECT_EQ(why("{}"), "do: missing");
  EXPECT_EQ(why(R"({"do":7})"), "do: not a string");
  EXPECT_EQ(why(R"({"do":"resize","cpu_milli":100})"), "mem_mib: missing");
  EXPECT_EQ(why(R"({"do":"resize","cpu_milli":1.5,"mem_mib":1})"), "cpu_milli: not a whole number");
  EXPECT_EQ(why(R"({"do":"kill","now":true})"), "unknown key 'now'; one of: do");
}

}  // namespace
}  // namespace muster
