#pragma once

// Tracks whether Slurm responds and accepts jobs. SlurmExecutor reports each outcome. reason()
// returns why no job can start at present.

#include <string>
#include <utility>

namespace muster {

class SlurmContact {
 public:
  void failed(std::string why) {
    ++failures_;
    why_silent_ = std::move(why);
  }
  // Slurm is known to fail before the first command.
  void failed_before(std::string why) {
    failures_ = kMaxFailures;
    why_silent_ = std::move(why);
  }
  void answered() {
    failures_ = 0;
    why_silent_.clear();
  }
  bool last_answered() const { return why_silent_.empty(); }
  void refuses(std::string words) { why_refused_ = std::move(words); }
  void accepts() { why_refused_.clear(); }

  // Returns "" if jobs can start. `site`: why the partition cannot be used, or "". A single command
  // without a response is not a reason yet.
  const std::string& reason(const std::string& site) const {
    if (failures_ >= kMaxFailures) return why_silent_;
    return site.empty() ? why_refused_ : site;
  }

 private:
  static constexpr int kMaxFailures = 2;

  std::string why_silent_;
  int failures_ = 0;
  std::string why_refused_;
};

}  // namespace muster
