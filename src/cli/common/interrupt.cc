#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "cli/common/command.h"

namespace muster {

namespace {

std::atomic<bool> g_interrupted = false;
std::atomic<bool> g_watching = false;

}  // namespace

// A thread waits for the signal, because a handler would not be reliable: the solver behind `opt`
// installs its own handler while it runs, and would swallow a Ctrl-C.
void catch_interrupts() {
  if (g_watching.exchange(true)) return;
  sigset_t interrupts;
  sigemptyset(&interrupts);
  sigaddset(&interrupts, SIGINT);
  pthread_sigmask(SIG_BLOCK, &interrupts, nullptr);
  std::thread([interrupts] {
    int signal = 0;
    sigwait(&interrupts, &signal);
    g_interrupted = true;
    sigwait(&interrupts, &signal);
    _exit(kExitInterrupted);
  }).detach();
}

bool interrupted() { return g_interrupted; }

}  // namespace muster
