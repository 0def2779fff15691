#pragma once

// muster classify: determines from the logs of a job's processes why it failed. Exit status: 0 a
// signature matches, 1 none matches, 2 bad input.

#include <string>
#include <vector>

#include "base/types/result.h"
#include "cli/common/command.h"
#include "cli/common/parser.h"
#include "exec/diagnose/classifier.h"

namespace muster {

class ClassifyCommand {
 public:
  void add_to(Command app);
  int run(Streams streams);
  bool chosen() const { return command_.parsed(); }

 private:
  Result<std::vector<Signature>> load_rules() const;
  std::string text_of(const Diagnosis& diagnosis) const;
  std::string json_of(const Diagnosis& diagnosis, const std::vector<Explanation>& matches,
                      const Signatures& signatures) const;
  std::string explained(const std::vector<Explanation>& matches,
                        const Signatures& signatures) const;
  std::string place_of(std::size_t log, std::int64_t line) const;  // "train.log:7"

  Command command_;
  std::vector<std::string> logs_;
  std::string rules_;
  int exit_code_ = 0, signal_ = 0;
  bool json_ = false, explain_ = false;
};

}  // namespace muster
