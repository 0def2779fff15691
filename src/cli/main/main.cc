#include <iostream>
#include <string>
#include <vector>

#include "cli/common/command.h"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const int status = muster::run_muster(words, {std::cout, std::cerr});
  std::cout.flush();
  if (std::cout) return status;
  std::cerr << "muster: standard output: cannot be written\n";
  return muster::kExitFailed;
}
