#pragma once

// Capabilities of the terminal behind a file descriptor.

namespace muster {

enum class ColorMode { kPlain, kColor };

// Whether `fd` is a terminal that can move its cursor (TERM is not "dumb").
bool is_terminal(int fd);

// Returns kColor if is_terminal(fd) and NO_COLOR is unset or empty.
ColorMode color_mode_for(int fd);

// Returns the number of columns of the terminal; 80 if unknown.
int terminal_width(int fd);

}  // namespace muster
