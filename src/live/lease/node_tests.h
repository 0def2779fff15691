#pragma once

// Tests of servers in quarantine, run as processes of this machine: whoever passes may return. The
// hands own one and look at it now and then; nothing here waits.

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "engine/roster/input.h"

namespace muster {

class NodeTests {
 public:
  static constexpr std::chrono::seconds kPatience{60};  // Then a test has failed.

  explicit NodeTests(std::chrono::milliseconds patience = kPatience) : patience_(patience) {}
  NodeTests(const NodeTests&) = delete;
  NodeTests& operator=(const NodeTests&) = delete;
  ~NodeTests();  // Ends those under way; whoever ordered them orders them again.

  // The command sees $MUSTER_NODE; exit status 0 is a pass. One already under way goes on instead.
  void begin(const std::string& node, const std::vector<std::string>& command);
  // Since the last call.
  std::vector<NodeTestInput> finished();
  bool busy() const { return !running_.empty() || !over_.empty(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Running {
    pid_t pid = 0;  // The first of a session of its own.
    Clock::time_point deadline;
    std::string program;
  };
  static void end(const Running& test);

  std::chrono::milliseconds patience_;
  std::map<std::string, Running> running_;  // By server.
  std::vector<NodeTestInput> over_;
};

}  // namespace muster
