#pragma once

// Runs other programs without a shell, several at the same time and each with a timeout: Slurm's
// commands can hang while the controller is down. Output is limited. A program that exceeds its
// timeout is killed. For one thread.

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
  int status = 0;    // Exit status for kEnded, signal for kKilled.
  std::string out;   // Cut at kMaxOutput.
  std::string err;   // Cut at kMaxError.
  bool cut = false;  // `out` was cut.
  // One printable line: the last line of the program's output, or how it ended. Empty if ok().
  std::string words;

  bool ok() const { return how == How::kEnded && status == 0 && !cut; }
};

// Starts programs and collects their results.
class Commands {
 public:
  using Ticket = std::uint64_t;
  static constexpr std::size_t kMaxOutput = 64U << 20U;
  static constexpr std::size_t kMaxError = 64U << 10U;

  // `environment`: additional variables, such as "SLURM_CONF=/etc/slurm.conf". The programs inherit
  // our environment except variables that change the behavior of Slurm's commands, such as
  // SQUEUE_PARTITION, SBATCH_ACCOUNT and the SLURM_... of a job. SLURM_CONF is kept.
  explicit Commands(std::vector<std::string> environment = {});
  Commands(Commands&&) = default;
  ~Commands();  // Kills programs that are still running.

  // Returns the path of a program in PATH. A name with a slash is already a path.
  std::optional<std::string> find(const std::string& program) const;

  // Starts a program, found by find(). `input` is its standard input. Never blocks. poll() returns
  // the result, including a failed start.
  Ticket start(std::vector<std::string> argv, Duration timeout, std::string input = {});
  std::size_t running() const { return children_.size(); }

  int fd() const { return epoll_.get(); }  // Readable when poll() has something to do.
  std::vector<std::pair<Ticket, CommandResult>> poll();  // Never blocks.

  // Starts a program and blocks until it ends. Results of others are kept for poll().
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
  // A killed program whose result is already reported. It must be reaped when it ends, which can
  // take long if it hangs in a file system.
  struct Dying {
    int pid = 0;
    Fd process;
  };

  MaybeError spawn(Child& child, const std::vector<std::string>& argv, const std::string& input);
  void work();  // Reads output, reaps, and kills overdue programs.
  bool advance(Child& child, std::int64_t now_ns);  // True when it has ended.
  void set_timer();
  MaybeError watch(const Fd& fd) const;

  std::vector<std::string> environment_;  // Complete environment of the programs.
  Fd epoll_;
  Fd timer_;  // Fires at the next deadline, or immediately if results are pending.
  Ticket last_ = 0;
  std::map<Ticket, Child> children_;
  std::vector<Dying> dying_;
  std::vector<std::pair<Ticket, CommandResult>> done_;
};

}  // namespace muster
