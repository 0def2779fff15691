// muster-shim DIR: runs the lease whose record directory DIR is. Exit status 0 when exit.json is
// written, 1 when the record could not be kept, 2 when the order was refused; then one line on
// standard error, and nothing ran.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "shim/shim.h"

namespace {

void let_go_of_terminal() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd <= 2 && null >= 0; ++fd) ::dup2(null, fd);
}

int refuse(const char* directory, const std::string& why, int status) {
  std::fprintf(stderr, "muster-shim: %s: %s\n", directory, why.c_str());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: muster-shim DIR    (the record directory of one lease)\n");
    return 2;
  }
  ::syscall(SYS_close_range, 3U, ~0U, 0U);  // Whatever the one who called us left open.
  ::umask(077);
  ::setsid();  // Refused, and not needed, when we lead a session already.
  auto shim = muster::Shim::claim(argv[1]);
  if (!shim.ok()) return refuse(argv[1], shim.error().message, 2);
  if (auto refusal = shim.value().prepare()) return refuse(argv[1], refusal->message, 2);
  let_go_of_terminal();
  if (auto refusal = shim.value().run()) return 1;
  return 0;
}
