#include "api/server/tickets.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace muster {
namespace {

namespace fs = std::filesystem;

const Tickets::Owner kAnn{1000, "ann"};

class TicketsTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::path(testing::TempDir()) /
           testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }
  std::string path() const { return (dir_ / "ticket.key").string(); }

  fs::path dir_;
};

TEST_F(TicketsTest, SayWhoseTheyAreUntilTheyEnd) {
  const Tickets tickets = Tickets::open("", "here").value();
  const std::string ticket = tickets.make({7, "ann b."}, 1000);
  EXPECT_EQ(tickets.owner_of(ticket, 999), (Tickets::Owner{7, "ann b."}));
  EXPECT_EQ(tickets.owner_of(ticket, 1000), std::nullopt);
}

TEST_F(TicketsTest, NothingInOneCanBeChanged) {
  const Tickets tickets = Tickets::open("", "here").value();
  const std::string ticket = tickets.make(kAnn, 1000);
  ASSERT_EQ(tickets.owner_of(ticket, 0), kAnn);
  for (std::size_t i = 0; i < ticket.size(); ++i) {
    for (const char c : {'0', '1', 'f', '.', 'A'}) {
      std::string other = ticket;
      if (other[i] == c) continue;
      other[i] = c;
      EXPECT_EQ(tickets.owner_of(other, 0), std::nullopt) << other;
    }
    EXPECT_EQ(tickets.owner_of(ticket.substr(0, i), 0), std::nullopt);
  }
  for (const char* bad : {"", ".", "...", "ticket2.....", "ticket1...", "muster-0123"}) {
    EXPECT_EQ(tickets.owner_of(bad, 0), std::nullopt) << bad;
  }
  EXPECT_EQ(tickets.owner_of(ticket + "0", 0), std::nullopt);
  EXPECT_EQ(tickets.owner_of(std::string(1U << 20U, 'a'), 0), std::nullopt);
}

TEST_F(TicketsTest, OutliveARestartByTheirKey) {
  const std::string ticket = Tickets::open(path(), "here").value().make(kAnn, 1000);
  EXPECT_EQ(Tickets::open(path(), "here").value().owner_of(ticket, 0), kAnn);
  EXPECT_EQ(Tickets::open("", "here").value().owner_of(ticket, 0), std::nullopt);
  EXPECT_EQ(fs::status(path()).permissions() & fs::perms::all, fs::perms(0600));
  fs::remove(path());  // This revokes all tickets.
  EXPECT_EQ(Tickets::open(path(), "here").value().owner_of(ticket, 0), std::nullopt);
}

TEST_F(TicketsTest, AHigherGenerationEndsAllTicketsOfOneUser) {
  Tickets tickets = Tickets::open(path(), "here").value();
  const std::string anns = tickets.make(kAnn, 1000);
  const std::string bobs = tickets.make({1001, "bob"}, 1000);
  tickets.set_generation(1000, 1);
  EXPECT_EQ(tickets.owner_of(anns, 0), std::nullopt);
  EXPECT_TRUE(tickets.owner_of(bobs, 0));
  const std::string next = tickets.make(kAnn, 1000);
  EXPECT_EQ(tickets.owner_of(next, 0), kAnn);
  Tickets restarted = Tickets::open(path(), "here").value();
  EXPECT_EQ(restarted.owner_of(next, 0), std::nullopt);
  restarted.set_generation(1000, 1);
  EXPECT_EQ(restarted.owner_of(next, 0), kAnn);
}

// A ticket of the first format had no uid. The browser asks the user to sign in again.
TEST_F(TicketsTest, OfTheFirstFormatAreInvalid) {
  std::ofstream(path()) << std::string(32, 'k');
  fs::permissions(path(), fs::perms(0600));
  const Tickets tickets = Tickets::open(path(), "here").value();
  // `ticket1.HEX.UNTIL.HMAC`, signed with this key.
  EXPECT_EQ(tickets.owner_of("ticket1.616e6e.1000."
                             "a3503be27a965cbbc021182ea70f87d62eb5f457de3f1ad963aa04a7cd8f1dc4",
                             0),
            std::nullopt);
}

// In a container the next one has the same process id.
TEST_F(TicketsTest, ACrashWhileTheKeyIsMadeIsNoTrouble) {
  for (const std::string& left : {path() + ".new", path() + "." + std::to_string(::getpid())}) {
    std::ofstream(left) << "half";
    fs::permissions(left, fs::perms(0600));
  }
  const std::string ticket = Tickets::open(path(), "here").value().make(kAnn, 1000);
  EXPECT_EQ(Tickets::open(path(), "here").value().owner_of(ticket, 0), kAnn);
}

TEST_F(TicketsTest, AreOfOneAddressOnly) {
  const std::string ticket = Tickets::open(path(), "http://a:1/").value().make(kAnn, 1000);
  EXPECT_EQ(Tickets::open(path(), "http://a:1/").value().owner_of(ticket, 0), kAnn);
  EXPECT_EQ(Tickets::open(path(), "http://a:2/").value().owner_of(ticket, 0), std::nullopt);
}

TEST_F(TicketsTest, AKeyThatOthersCanReadOrThatIsNoneIsRefused) {
  ASSERT_TRUE(Tickets::open(path(), "here").ok());
  fs::permissions(path(), fs::perms(0640));
  EXPECT_EQ(Tickets::open(path(), "here").error().message,
            path() + ": other users can read it; run 'chmod 600' on it");
  fs::permissions(path(), fs::perms(0600));
  std::ofstream(path()) << "short";
  EXPECT_EQ(Tickets::open(path(), "here").error().message,
            path() + ": not a valid key; remove the file to create a new key");
  fs::remove(path());
  fs::create_symlink("/etc/passwd", path());
  EXPECT_FALSE(Tickets::open(path(), "here").ok());
}

}  // namespace
}  // namespace muster
