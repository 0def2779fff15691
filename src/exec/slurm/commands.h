#pragma once

// Runs other programs without a shell, several at a time, each for a bounded time: Slurm's command
// line may hang for as long as its controller is away. For one thread. The programs' output is
// capped; a program that takes too long is killed, and its result says so.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/os/files.h"
#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

struct CommandResult {
  enum class How { kEnded, kTimedOut, kNotStarted, kKilled };
  How how = How::kEnded;
  int status = 0;    // Of kEnded; of kKilled the signal.
  std::string out;   // Cut at kMostOutput.
  std::string err;   // Cut at kMostError.
  bool cut = false;  // `out` was longer.
  // One line for a person, fit to be printed: the program's last words, or what became of it.
  // Empty if ok().
  std::string words;

  bool ok() const { return how == How::kEnded && status == 0 && !cut; }
};

class Commands {
 public:
  using Ticket = std::uint64_t;
  static constexpr std::size_t kMostOutput = 64U << 20U;
  static constexpr std::size_t kMostError = 64U << 10U;

  // Extra environment for all that it runs, beside our own, as "SLURM_CONF=/etc/slurm.conf". Of our
  // own they do not get what would change what Slurm's commands do unasked: SQUEUE_PARTITION,
  // SBATCH_ACCOUNT, the SLURM_... of a job we may be running in. SLURM_CONF stays.
  explicit Commands(std::vector<std::string> environment = {});
  Commands(Commands&&) = default;
  ~Commands();  // Kills what still runs.

  // Where PATH has the program; a name with a slash is its own place.
  std::optional<std::string> find(const std::string& program) const;

  // The program is found by PATH. `input` is what it reads.
  Ticket start(std::vector<std::string> argv, Duration timeout, std::string input = {});
  std::size_t running() const { return children_.size(); }

  int fd() const { return epoll_.get(); }  // Readable when poll() has something to do.
  std::vector<std::pair<Ticket, CommandResult>> poll();  // Never waits.

  // start() and wait for the end of this one; the results of others are kept for poll().
  CommandResult run(std::vector<std::string> argv, Duration timeout, std::string input = {});

 private:
  struct Child {
    std::string name;
    int pid = 0;
    Fd process, out, err;
    Duration timeout;
    std::int64_t deadline_ns = 0;
    CommandResult result;
  };
  // Killed, and its result told; to be reaped when it is really gone, which a process that hangs
  // in a file system may not be for long.
  struct Dying {
    int pid = 0;
    Fd process;
  };

  Refusal spawn(Child& child, const std::vector<std::string>& argv, const std::string& input);
  void work();                                      // Reads, reaps, and kills what is overdue.
  bool advance(Child& child, std::int64_t now_ns);  // True when it is over.
  void set_timer();
  Refusal watch(const Fd& fd) const;

  std::vector<std::string> environment_;  // Whole, as the programs get it.
  Fd epoll_;
  Fd timer_;  // Due at the next deadline, or at once when results wait.
  Ticket last_ = 0;
  std::map<Ticket, Child> children_;
  std::vector<Dying> dying_;
  std::vector<std::pair<Ticket, CommandResult>> done_;
};

}  // namespace muster
