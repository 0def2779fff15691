#pragma once

// Runs the tests of quarantined nodes as processes of this machine. A node that passes may return.
// The lease runner owns one and polls it on its thread. No call blocks.

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "engine/roster/input.h"

namespace muster {

class NodeTests {
 public:
  static constexpr std::chrono::seconds kPatience{60};  // Timeout of a test; then it has failed.

  explicit NodeTests(std::chrono::milliseconds patience = kPatience) : patience_(patience) {}
  NodeTests(const NodeTests&) = delete;
  NodeTests& operator=(const NodeTests&) = delete;
  ~NodeTests();  // Kills running tests; the manager orders them again.

  // Starts a test unless one of this node is running. The command gets $MUSTER_NODE. It passes with
  // exit status 0.
  void begin(const std::string& node, const std::vector<std::string>& command);
  // Returns the results since the last call.
  std::vector<NodeTestInput> finished();
  bool busy() const { return !running_.empty() || !over_.empty(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Running {
    pid_t pid = 0;  // Leader of its own session.
    Clock::time_point deadline;
    std::string program;
  };
  static void end(const Running& test);

  std::chrono::milliseconds patience_;
  std::map<std::string, Running> running_;  // By node name.
  std::vector<NodeTestInput> over_;
};

}  // namespace muster
