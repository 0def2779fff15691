#pragma once

// Full-screen terminal mode for `muster top`. It delivers signals as events, so that no drawing is
// interrupted and the terminal is restored at the end in all cases except SIGKILL.

#include <termios.h>

#include <string>
#include <vector>

namespace muster {

enum class ScreenEvent {
  kNothing,  // Timeout, or an input without meaning.
  kWoken,    // wake() was called.
  kResized,
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kQuit,
  kInterrupted,  // Ctrl-C.
  kTerminated,   // SIGTERM, SIGHUP or SIGQUIT. Destroy the Screen, then call die_of().
};

class Screen {
 public:
  // Enters full-screen mode. Blocks the handled signals for this thread and for threads it starts
  // later.
  Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen();

  // Replaces the content of the screen.
  void draw(const std::vector<std::string>& lines);
  // Waits for the next event. Handles Ctrl-Z itself and returns kResized when the process resumes.
  ScreenEvent wait(int milliseconds);
  void wake();  // Ends a wait(). Thread-safe.

  int columns() const;
  int rows() const;

  // The last signal received; 0 if none.
  int signal() const { return signal_; }
  // Ends the process by the default action of the signal. Call it after the Screen is destroyed.
  static void die_of(int signal);

 private:
  void enter();
  void leave();
  ScreenEvent take_signal();
  ScreenEvent take_key();  // Removes the first key from typed_.

  int signals_ = -1;
  int woken_ = -1;
  int signal_ = 0;
  bool keys_ = false;  // Standard input is a terminal too.
  std::string typed_;  // Input that is not processed yet.
  termios before_ = {};
};

}  // namespace muster
