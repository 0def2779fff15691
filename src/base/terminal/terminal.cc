#include "base/terminal/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace muster {

namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

bool is_terminal(int fd) { return isatty(fd) == 1 && environment("TERM") != "dumb"; }

ColorMode color_mode_for(int fd) {
  return is_terminal(fd) && environment("NO_COLOR").empty() ? ColorMode::kColor : ColorMode::kPlain;
}

int terminal_width(int fd) {
  struct winsize size = {};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace muster
