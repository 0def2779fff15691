#pragma once

// What the other end of a file descriptor can show.

namespace muster {

enum class Ink { kPlain, kColor };

// Whether a person's terminal is there that can also move its cursor (TERM is not "dumb").
bool is_terminal(int fd);

// Color only on such a terminal, and not when NO_COLOR is set (to anything but empty).
Ink ink_for(int fd);

// Columns of the terminal; 80 when it does not say.
int terminal_width(int fd);

}  // namespace muster
