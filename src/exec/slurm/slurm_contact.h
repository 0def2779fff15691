#pragma once

// Whether Slurm answers and accepts jobs. A SlurmExecutor reports each outcome; reason() is why no
// job can be started now.

#include <string>
#include <utility>

namespace muster {

class SlurmContact {
 public:
  void failed(std::string why) {
    ++failures_;
    why_silent_ = std::move(why);
  }
  // Known to fail before the first question.
  void failed_before(std::string why) {
    failures_ = kMostFailures;
    why_silent_ = std::move(why);
  }
  void answered() {
    failures_ = 0;
    why_silent_.clear();
  }
  bool last_answered() const { return why_silent_.empty(); }
  void refuses(std::string words) { why_refused_ = std::move(words); }
  void accepts() { why_refused_.clear(); }

  // `site`: why the partition cannot be used. Empty: nothing is wrong. One question without an
  // answer is not a reason yet.
  const std::string& reason(const std::string& site) const {
    if (failures_ >= kMostFailures) return why_silent_;
    return site.empty() ? why_refused_ : site;
  }

 private:
  static constexpr int kMostFailures = 2;

  std::string why_silent_;
  int failures_ = 0;
  std::string why_refused_;
};

}  // namespace muster
