#include "base/terminal/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

namespace muster {
namespace {

TEST(ProgressLine, ShowsTheHonestFraction) {
  EXPECT_EQ(progress_line("simulating", 41'123, 82'247, Duration::seconds(12), 100),
            "simulating [###########-------------]  49%  41,123 of 82,247 jobs  0:12, about 0:12 "
            "left");
  EXPECT_EQ(progress_line("simulating", 10, 10, Duration::seconds(3723), 100),
            "simulating [########################] 100%  10 of 10 jobs  1:02:03");
  EXPECT_EQ(progress_line("simulating", 11, 10, Duration::seconds(1), 100),
            "simulating [########################] 100%  10 of 10 jobs  0:01");
  EXPECT_EQ(progress_line("simulating", 0, 12, Duration::seconds(1), 100, "cells"),
            "simulating [------------------------]   0%  0 of 12 cells  0:01");
}

TEST(ProgressLine, ForecastsNothingFromNothing) {
  EXPECT_EQ(progress_line("simulating", 0, 1000, Duration::seconds(2), 100),
            "simulating [------------------------]   0%  0 of 1,000 jobs  0:02");
  EXPECT_EQ(progress_line("reading", 1000, 0, Duration::seconds(2), 100),
            "reading  1,000 jobs  0:02");
}

TEST(ProgressLine, FitsItsWidth) {
  EXPECT_EQ(progress_line("simulating", 5, 10, Duration::seconds(2), 60),
            "simulating  50%  5 of 10 jobs  0:02, about 0:02 left");
  EXPECT_EQ(progress_line("simulating", 5, 10, Duration::seconds(2), 12), "simulating  ");
  EXPECT_EQ(progress_line("simulating", 5, 10, Duration::seconds(2), -1), "");
}

TEST(ProgressBar, WritesNothingWhereThereIsNoTerminal) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    ProgressBar bar("simulating", ends[1], Duration());
    bar.update(5, 10);
  }
  close(ends[1]);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

// Returns the output of a bar on a pseudo-terminal with the given TERM.
std::string drawn_on_terminal(const char* term, Duration quiet) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return "no terminal available";
  const int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
  const char* old = getenv("TERM");
  const std::string old_term = old == nullptr ? "" : old;
  setenv("TERM", term, 1);
  {
    ProgressBar bar("simulating", terminal, quiet);
    bar.update(5, 10);
    bar.update(6, 10);  // Too early to draw.
  }
  old == nullptr ? unsetenv("TERM") : setenv("TERM", old_term.c_str(), 1);
  close(terminal);
  std::string text;
  char bytes[512];  // The kernel passes the output on in parts. At the end, read() fails.
  for (ssize_t size = 0; (size = read(master, bytes, sizeof bytes)) > 0;) {
    text.append(bytes, static_cast<std::size_t>(size));
  }
  close(master);
  return text;
}

TEST(ProgressBar, DrawsOnATerminalAndErasesItself) {
  EXPECT_EQ(drawn_on_terminal("xterm", Duration()),
            "\rsimulating [############------------]  50%  5 of 10 jobs  0:00, about 0:00 left"
            "\x1b[K\r\x1b[K");
}

TEST(ProgressBar, IsSilentForShortWorkAndOnADumbTerminal) {
  EXPECT_EQ(drawn_on_terminal("xterm", Duration::seconds(60)), "");
  EXPECT_EQ(drawn_on_terminal("dumb", Duration()), "");
}

}  // namespace
}  // namespace muster
