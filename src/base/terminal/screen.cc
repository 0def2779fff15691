#include "base/terminal/screen.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "base/types/check.h"

namespace muster {
namespace {

void put(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // The terminal is closed; SIGHUP follows.
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH}) {
    sigaddset(&set, signal);
  }
  return set;
}

winsize terminal_size() {
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) size = {};
  return size;
}

ScreenEvent event_of(std::string_view key) {
  if (key == "q" || key == "Q") return ScreenEvent::kQuit;
  if (key == "\x1b[A" || key == "\x1bOA" || key == "k") return ScreenEvent::kUp;
  if (key == "\x1b[B" || key == "\x1bOB" || key == "j") return ScreenEvent::kDown;
  if (key == "\x1b[5~") return ScreenEvent::kPageUp;
  if (key == "\x1b[6~" || key == " ") return ScreenEvent::kPageDown;
  if (key == "\x1b[H" || key == "\x1bOH" || key == "\x1b[1~") return ScreenEvent::kHome;
  if (key == "\x1b[F" || key == "\x1bOF" || key == "\x1b[4~") return ScreenEvent::kEnd;
  return ScreenEvent::kNothing;
}

}  // namespace

Screen::Screen() : keys_(::isatty(STDIN_FILENO) == 1) {
  const sigset_t set = handled_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  woken_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  MUSTER_CHECK(signals_ >= 0 && woken_ >= 0);
  if (keys_) keys_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
  enter();
}

Screen::~Screen() {
  leave();
  ::close(signals_);
  ::close(woken_);
}

void Screen::enter() {
  if (keys_) {
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  put("\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J");  // Alternate screen, no cursor, no line wrap.
}

void Screen::leave() {
  put("\x1b[?7h\x1b[?25h\x1b[?1049l");
  if (keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void Screen::draw(const std::vector<std::string>& lines) {
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) text += "\r\n";
    text += "\x1b[2K" + lines[i];  // Erasing after a full line would erase its last column.
  }
  put(text + "\x1b[J");
}

ScreenEvent Screen::wait(int milliseconds) {
  if (!typed_.empty()) return take_key();
  pollfd ready[] = {{signals_, POLLIN, 0}, {woken_, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
  if (::poll(ready, keys_ ? 3 : 2, milliseconds) <= 0) return ScreenEvent::kNothing;
  if (ready[0].revents != 0) return take_signal();
  if (keys_ && ready[2].revents != 0) {
    char bytes[256];
    const ssize_t n = ::read(STDIN_FILENO, bytes, sizeof bytes);
    keys_ = n > 0;  // After the end of the input, there are no keys and no mode to restore.
    if (keys_) typed_.assign(bytes, static_cast<std::size_t>(n));
    return typed_.empty() ? ScreenEvent::kNothing : take_key();
  }
  std::uint64_t times = 0;
  [[maybe_unused]] const ssize_t n = ::read(woken_, &times, sizeof times);
  return ScreenEvent::kWoken;
}

ScreenEvent Screen::take_signal() {
  signalfd_siginfo info = {};
  if (::read(signals_, &info, sizeof info) != sizeof info) return ScreenEvent::kNothing;
  signal_ = static_cast<int>(info.ssi_signo);
  if (signal_ == SIGWINCH) return ScreenEvent::kResized;
  if (signal_ == SIGINT) return ScreenEvent::kInterrupted;
  if (signal_ != SIGTSTP) return ScreenEvent::kTerminated;
  leave();
  ::raise(SIGSTOP);
  enter();  // The shell has resumed the process.
  return ScreenEvent::kResized;
}

ScreenEvent Screen::take_key() {
  std::size_t size = 1;
  if (typed_.front() == '\x1b') {  // An escape sequence ends with a letter or '~'.
    size = std::min(typed_.find_first_not_of("[O0123456789;", 1), typed_.size() - 1) + 1;
  }
  const ScreenEvent event = event_of(std::string_view(typed_).substr(0, size));
  typed_.erase(0, size);
  return event;
}

void Screen::wake() {
  const std::uint64_t once = 1;
  [[maybe_unused]] const ssize_t n = ::write(woken_, &once, sizeof once);
}

int Screen::columns() const {
  const int columns = terminal_size().ws_col;
  return columns > 0 ? columns : 80;
}

int Screen::rows() const {
  const int rows = terminal_size().ws_row;
  return rows > 0 ? rows : 24;
}

void Screen::die_of(int signal) {
  ::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  ::raise(signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace muster
