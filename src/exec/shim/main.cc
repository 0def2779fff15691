// muster-shim DIR: runs the lease with the record directory DIR. muster-shim --by-node NODE=DIR...:
// uses the DIR of the node in $SLURMD_NODENAME. Exit status: 0 if exit.json is written; 1 if it
// cannot be written; 2 if the order is rejected. For 2, nothing ran and standard error has one line
// with the reason.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "exec/shim/own_processes.h"
#include "exec/shim/shim.h"

namespace {

void let_go_of_terminal() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd <= 2 && null >= 0; ++fd) ::dup2(null, fd);
}

int refuse(const std::string& directory, const std::string& why, int status) {
  std::fprintf(stderr, "muster-shim: %s: %s\n", directory.c_str(), why.c_str());
  return status;
}

// Returns the DIR of this node from the "NODE=DIR" arguments; empty if there is none.
std::string directory_here(int argc, char** argv) {
  const char* node = std::getenv("SLURMD_NODENAME");
  if (node == nullptr) return "";
  const std::string prefix = std::string(node) + "=";
  for (int i = 2; i < argc; ++i) {
    const std::string_view each = argv[i];
    if (each.starts_with(prefix)) return std::string(each.substr(prefix.size()));
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  const bool by_node = argc > 2 && std::string_view(argv[1]) == "--by-node";
  if (argc != 2 && !by_node) {
    std::fprintf(stderr,
                 "usage: muster-shim DIR    (the record directory of one lease)\n"
                 "       muster-shim --by-node NODE=DIR...\n");
    return 2;
  }
  const std::string directory = by_node ? directory_here(argc, argv) : argv[1];
  if (directory.empty()) {
    std::fprintf(stderr, "muster-shim: no record directory for this node; check SLURMD_NODENAME\n");
    return 2;
  }
  ::syscall(SYS_close_range, 3U, ~0U, 0U);  // Descriptors that the caller left open.
  ::umask(077);
  ::setsid();  // Fails harmlessly if we already lead a session.
  auto shim = muster::Shim::claim(directory);
  if (!shim.ok()) return refuse(directory, shim.error().message, 2);
  if (auto refusal = shim.value().prepare(muster::OwnProcesses::make))
    return refuse(directory, refusal->message, 2);
  let_go_of_terminal();
  if (auto refusal = shim.value().run()) return 1;
  return 0;
}
