#include "exec/client/grant_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <functional>
#include <thread>

#include "base/os/testing.h"

namespace muster {
namespace {

constexpr GrantKey kTestKey = {7};
constexpr std::uint32_t kTestUid = 1005;

// A service that calls answer(connection, question) for each question of each connection, and
// closes the connection if that returns false.
class FakeGrantService {
 public:
  using Answer = std::function<bool(int, const GrantQuestion&)>;
  explicit FakeGrantService(Answer answer) : answer_(std::move(answer)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, path().size());
    listener_ = Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
    thread_ = std::thread([this] { run(); });
  }
  ~FakeGrantService() {
    ::shutdown(listener_.get(), SHUT_RDWR);  // Ends accept().
    thread_.join();
  }
  std::string path() const { return folder_ / "grant.sock"; }
  int connections() const { return connections_; }

 private:
  void run() {
    for (;;) {
      const Descriptor connection(::accept(listener_.get(), nullptr, nullptr));
      if (!connection.is_open()) return;
      ++connections_;
      for (bool more = true; more;) {
        const auto packet = receive_packet(connection.get());
        if (!packet.ok()) break;
        more = answer_(connection.get(), read_question(packet.value().bytes).value());
      }
    }
  }

  Folder folder_;
  Answer answer_;
  Descriptor listener_;
  std::atomic<int> connections_ = 0;
  std::thread thread_;
};

Grant grant_for(const GrantQuestion& question) {
  Grant grant;
  grant.uid = ::geteuid() == 0 ? kTestUid : ::geteuid();
  grant.gid = grant.uid;
  grant.issued = ::time(nullptr);
  grant.until = grant.issued + 60;
  grant.instance = question.instance;
  grant.digest = question.digest;
  return grant;
}

bool send_grant(int connection, const Grant& grant) {
  return !send_packet(connection, sign_grant(grant, kTestKey)).has_value();
}

constexpr InstanceBytes kInstance = {1, 2, 3};

class GrantClientTest : public testing::Test {
 protected:
  // read_grant() refuses uid 0, and the client compares the uid with its own.
  void SetUp() override {
    if (::geteuid() == 0) {
      ASSERT_EQ(::seteuid(kTestUid), 0);
    }
  }
  void TearDown() override {
    if (::getuid() == 0) {
      ASSERT_EQ(::seteuid(0), 0);
    }
  }
};

TEST_F(GrantClientTest, GetsGrantsOverOneConnection) {
  FakeGrantService service(
      [](int connection, const GrantQuestion& q) { return send_grant(connection, grant_for(q)); });
  GrantClient client(service.path());
  for (const std::string text : {"a", "b", ""}) {
    const auto grant = client.request(kInstance, text, 5);
    ASSERT_TRUE(grant.ok()) << grant.error().message;
    const Sha256 digest = sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    EXPECT_TRUE(verify_grant(grant.value(), kTestKey, kInstance, digest, ::time(nullptr)).ok());
  }
  EXPECT_EQ(service.connections(), 1);
}

TEST_F(GrantClientTest, ConnectsAgainAfterAClosedConnection) {
  FakeGrantService service([](int connection, const GrantQuestion& q) {
    send_grant(connection, grant_for(q));
    return false;
  });
  GrantClient client(service.path());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(client.request(kInstance, "a").ok());
  EXPECT_EQ(service.connections(), 5);
}

TEST_F(GrantClientTest, ReportsARefusal) {
  FakeGrantService service([](int connection, const GrantQuestion&) {
    GrantRefusal refusal{.code = ErrorCode::kForbidden};
    std::string("not today").copy(refusal.reason.data(), refusal.reason.size());
    send_packet(connection, pack(refusal));
    return false;
  });
  const auto grant = GrantClient(service.path()).request(kInstance, "a");
  ASSERT_FALSE(grant.ok());
  EXPECT_EQ(grant.error().message, "muster-grant: not today");
  EXPECT_EQ(grant.error().code, ErrorCode::kForbidden);
}

TEST_F(GrantClientTest, RefusesOtherAnswers) {
  int round = 0;
  FakeGrantService service([&round](int connection, const GrantQuestion& q) {
    Grant grant = grant_for(q);
    GrantRefusal refusal;
    refusal.reason[0] = '\x1b';
    switch (round++) {
      case 0:
        grant.uid += 1;
        break;
      case 1:
        grant.digest[0] = static_cast<std::uint8_t>(grant.digest[0] + 1);
        break;
      case 2:
        grant.instance[0] = 9;
        break;
      case 3:
        grant.until = grant.issued;
        break;
      case 4:
        return !send_packet(connection, pack(refusal)).has_value();
      default:
        return !send_packet(connection, pack(q)).has_value();
    }
    return send_grant(connection, grant);
  });
  GrantClient client(service.path());
  for (int i = 0; i < 6; ++i) {
    const auto grant = client.request(kInstance, "a");
    ASSERT_FALSE(grant.ok()) << i;
    EXPECT_EQ(grant.error().code, ErrorCode::kCorrupt) << i << grant.error().message;
  }
}

TEST_F(GrantClientTest, NoServiceIsUnavailable) {
  EXPECT_EQ(GrantClient("/nonexistent/grant.sock").request(kInstance, "a").error().message,
            "/nonexistent/grant.sock: connect: No such file or directory; check that muster-grant "
            "runs");
  FakeGrantService service([](int, const GrantQuestion&) { return false; });
  EXPECT_EQ(GrantClient(service.path()).request(kInstance, "a").error().code,
            ErrorCode::kUnavailable);
  EXPECT_EQ(GrantClient(std::string(200, 'x')).request(kInstance, "a").error().code,
            ErrorCode::kInvalid);
}

TEST(InstanceBytes, AreTheIdOfAManager) {
  EXPECT_EQ(instance_bytes("000102030405060708090a0b0c0d0e0f").value()[15], 15);
  for (const char* id :
       {"", "00", "000102030405060708090a0b0c0d0e0", "x", "000102030405060708090A0B0C0D0E0F",
        "000102030405060708090a0b0c0d0e0f00"}) {
    EXPECT_FALSE(instance_bytes(id).ok()) << id;
  }
}

}  // namespace
}  // namespace muster
