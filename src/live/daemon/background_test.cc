// How `muster serve --background` detects a running manager.

#include "live/daemon/background.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/os/files.h"

namespace muster {
namespace {

class Home {
 public:
  Home() {
    std::string name = testing::TempDir() + "home-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path = name;
  }
  ~Home() { std::filesystem::remove_all(path); }

  std::string socket() const { return path + "/s"; }
  Fd listen() const {
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, socket().data(), socket().size());
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(fd.get(), 8), 0);
    return fd;
  }
  Fd lock() const {
    Fd fd(::open((path + "/journal.db.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(::flock(fd.get(), LOCK_EX), 0);
    return fd;
  }

  std::string path;
};

// Answers one caller.
void answer_once(const Fd& listener, std::string_view with) {
  const Fd client(::accept(listener.get(), nullptr, nullptr));
  char question[256];
  EXPECT_GT(::recv(client.get(), question, sizeof question, 0), 0);
  EXPECT_EQ(::send(client.get(), with.data(), with.size(), 0), static_cast<ssize_t>(with.size()));
}

TEST(Background, OnlyAnAnswerIsAManager) {
  const Home home;
  EXPECT_FALSE(answers(home.socket()));
  const Fd listener = home.listen();
  EXPECT_FALSE(answers(home.socket())) << "a listener whose process is dying";
  ::close(::accept(listener.get(), nullptr, nullptr));
  for (const auto& [said, is_one] :
       {std::pair("HTTP/1.1 200 OK\r\n\r\n", true),
        std::pair("HTTP/1.1 503 Service Unavailable\r\n\r\n", true), std::pair("hello", false)}) {
    std::thread manager([&, text = said] { answer_once(listener, text); });
    EXPECT_EQ(answers(home.socket()), is_one) << said;
    manager.join();
  }
}

TEST(Background, WaitsForOneThatIsDying) {
  const Home home;
  EXPECT_EQ(daemon_state(home.path, home.socket()), DaemonState::kFree);
  const Fd listener = home.listen();
  EXPECT_EQ(daemon_state(home.path, home.socket()), DaemonState::kFree) << "no lock, no manager";
  Fd lock = home.lock();
  EXPECT_EQ(daemon_state(home.path, home.socket(), Duration()), DaemonState::kSilent);
  std::thread dying([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    lock.reset();
  });
  EXPECT_EQ(daemon_state(home.path, home.socket()), DaemonState::kFree);
  dying.join();
}

TEST(Background, FindsOneThatServes) {
  const Home home;
  const Fd listener = home.listen();
  const Fd lock = home.lock();
  std::thread manager([&] { answer_once(listener, "HTTP/1.1 200 OK\r\n\r\n"); });
  EXPECT_EQ(daemon_state(home.path, home.socket()), DaemonState::kServes);
  manager.join();
}

}  // namespace
}  // namespace muster
