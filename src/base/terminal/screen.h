#pragma once

// The whole terminal for one program, given back however it ends short of SIGKILL: signals are
// taken as events, so nothing is cut off in the middle of a drawing. Used by `muster top`.

#include <termios.h>

#include <string>
#include <vector>

namespace muster {

enum class ScreenEvent {
  kNothing,  // The time was up, or something of no interest.
  kWoken,    // By wake().
  kResized,
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kQuit,
  kInterrupted,  // Ctrl-C.
  kTerminated,   // SIGTERM, SIGHUP or SIGQUIT: die_of_signal() after giving the screen back.
};

class Screen {
 public:
  // Blocks the signals for this thread and those it starts from now on.
  Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen();

  void draw(const std::vector<std::string>& lines);
  // Ctrl-Z is taken care of in here: it looks like kResized afterwards.
  ScreenEvent wait(int milliseconds);
  void wake();  // From any thread.

  int columns() const;
  int rows() const;

  // After this object is gone: ends the process as the signal that came would have.
  int signal() const { return signal_; }
  static void die_of(int signal);

 private:
  void enter();
  void leave();
  ScreenEvent take_signal();
  ScreenEvent take_key();  // The first of typed_.

  int signals_ = -1;
  int woken_ = -1;
  int signal_ = 0;
  bool keys_ = false;  // Standard input is a terminal too.
  std::string typed_;  // And not looked at yet.
  termios before_ = {};
};

}  // namespace muster
