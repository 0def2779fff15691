#include "exec/launch/wire.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdio>
#include <filesystem>
#include <random>
#include <type_traits>

namespace muster {
namespace {

std::string hex_of(ByteSpan bytes) {
  std::string text;
  char digits[3];
  for (const std::uint8_t each : bytes) {
    std::snprintf(digits, sizeof digits, "%02x", each);
    text += digits;
  }
  return text;
}

LeaseKey sample_lease() {
  LeaseKey lease{.job = 12, .epoch = 3, .part = 1};
  for (std::size_t i = 0; i < lease.instance.size(); ++i)
    lease.instance[i] = static_cast<std::uint8_t>(0x60 + i);
  return lease;
}

// Returns a frame with these values of its members, in order. (GCC warns about designators in a
// class with a base.)
template <class Frame>
Frame make(auto... values) {
  Frame frame;
  frame.fields([&](auto&... members) {
    ((members = static_cast<std::remove_reference_t<decltype(members)>>(values)), ...);
  });
  return frame;
}

StartFrame sample_start() {
  StartFrame start;
  start.lease = sample_lease();
  start.cpu_milli = 1500;
  start.mem_mib = 2048;
  start.deadline_ms = 60'000;
  start.max_processes = 8192;
  start.ranks = 2;
  start.device_count = 1;
  start.devices[0] = {240, 3};
  start.grant.fill(0xab);
  return start;
}

// Calls test(frame, channel) with a valid frame of each type.
template <class Test>
void with_all_frames(Test test) {
  test(HelloFrame{}, LauncherRequest{});
  test(sample_start(), LauncherRequest{});
  test(make<SweepFrame>(sample_lease()), LauncherRequest{});
  test(make<WelcomeFrame>(900, 0), LauncherAnswer{});
  test(StartedFrame{}, LauncherAnswer{});
  test(make<RefusedFrame>(ErrorCode::kForbidden, 0, LaunchStage::kGrant), LauncherAnswer{});
  test(CleanFrame{}, LauncherAnswer{});
  test(BusyFrame{}, LauncherAnswer{});
  test(make<GoFrame>(5, 1), SupervisorOrder{});
  test(make<SignalFrame>(SIGTERM), SupervisorOrder{});
  test(make<ResizeFrame>(1000, 1), SupervisorOrder{});
  test(KillFrame{}, SupervisorOrder{});
  test(make<RanFrame>(5, 77), SupervisorReport{});
  test(make<FailedFrame>(5, LaunchStage::kProcess, 2), SupervisorReport{});
  test(make<EndedFrame>(5, -1, 7, 8, 9), SupervisorReport{});
  test(OomFrame{}, SupervisorReport{});
  test(OverFrame{}, SupervisorReport{});
}

template <class Channel>
bool accepts(ByteSpan bytes, std::size_t descriptors) {
  return unpack_frame<Channel>(bytes, descriptors).has_value();
}

TEST(Wire, HasStableBytes) {
  const std::string lease =
      "606162636465666768696a6b6c6d6e6f0c00000000000000030000000000000001000000";
  EXPECT_EQ(hex_of(pack_frame(HelloFrame{})), "0100000001000000");
  EXPECT_EQ(hex_of(pack_frame(make<SweepFrame>(sample_lease()))), "0100000003000000" + lease);
  std::string devices = "f000000003000000";
  devices.resize(16 * kMaxDevices, '0');
  std::string grant;
  for (int i = 0; i < 192; ++i) grant += "ab";
  EXPECT_EQ(hex_of(pack_frame(sample_start())),
            "0100000002000000" + lease + "dc05000000000000000800000000000060ea000000000000" +
                "002000000200000001000000" + devices + grant);
  EXPECT_EQ(hex_of(pack_frame(make<WelcomeFrame>(900, 0))), "01000000110000008403000000000000");
  EXPECT_EQ(hex_of(pack_frame(StartedFrame{})), "0100000012000000");
  EXPECT_EQ(hex_of(pack_frame(make<RefusedFrame>(ErrorCode::kForbidden, 13, LaunchStage::kGrant))),
            "0100000013000000020d00000002000000");
  EXPECT_EQ(hex_of(pack_frame(CleanFrame{})), "0100000014000000");
  EXPECT_EQ(hex_of(pack_frame(BusyFrame{})), "0100000015000000");
  EXPECT_EQ(hex_of(pack_frame(make<GoFrame>(5, 1))), "01000000210000000500000001000000");
  EXPECT_EQ(hex_of(pack_frame(make<SignalFrame>(SIGTERM))), "01000000220000000f000000");
  EXPECT_EQ(hex_of(pack_frame(make<ResizeFrame>(1000, 1))),
            "0100000023000000e8030000000000000100000000000000");
  EXPECT_EQ(hex_of(pack_frame(KillFrame{})), "0100000024000000");
  EXPECT_EQ(hex_of(pack_frame(make<RanFrame>(5, 77))), "0100000031000000050000004d000000");
  EXPECT_EQ(hex_of(pack_frame(make<FailedFrame>(5, LaunchStage::kProcess, 2))),
            "0100000032000000050000000700000002000000");
  EXPECT_EQ(hex_of(pack_frame(make<EndedFrame>(5, 256, 7, 0, 0))),
            "01000000330000000500000000010000"
            "0700000000000000" +
                std::string(32, '0'));
  EXPECT_EQ(hex_of(pack_frame(OomFrame{})), "0100000034000000");
  EXPECT_EQ(hex_of(pack_frame(OverFrame{})), "0100000035000000");
}

TEST(Wire, EachFrameIsReadOnItsChannelOnly) {
  with_all_frames([]<class Frame, class Channel>(const Frame& frame, const Channel&) {
    const auto bytes = pack_frame(frame);
    const auto read = unpack_frame<Channel>(bytes, Frame::kDescriptors);
    ASSERT_TRUE(read.has_value()) << Frame::kType;
    ASSERT_TRUE(std::holds_alternative<Frame>(*read)) << Frame::kType;
    EXPECT_EQ(pack_frame(std::get<Frame>(*read)), bytes);
    const int channels = accepts<LauncherRequest>(bytes, Frame::kDescriptors) +
                         accepts<LauncherAnswer>(bytes, Frame::kDescriptors) +
                         accepts<SupervisorOrder>(bytes, Frame::kDescriptors) +
                         accepts<SupervisorReport>(bytes, Frame::kDescriptors);
    EXPECT_EQ(channels, 1) << Frame::kType;
  });
}

TEST(Wire, EachOtherLengthIsRefused) {
  with_all_frames([]<class Frame, class Channel>(const Frame& frame, const Channel&) {
    const auto fine = pack_frame(frame);
    std::vector<std::uint8_t> bytes(fine.begin(), fine.end());
    bytes.resize(fine.size() + 100);
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
      ASSERT_EQ(accepts<Channel>(ByteSpan(bytes).first(size), Frame::kDescriptors),
                size == fine.size())
          << Frame::kType << " " << size;
    }
  });
}

TEST(Wire, EachOtherNumberOfDescriptorsIsRefused) {
  with_all_frames([]<class Frame, class Channel>(const Frame& frame, const Channel&) {
    for (std::size_t count = 0; count < 5; ++count) {
      EXPECT_EQ(accepts<Channel>(pack_frame(frame), count), count == Frame::kDescriptors);
    }
  });
}

TEST(Wire, AChangedHeaderIsRefused) {
  with_all_frames([]<class Frame, class Channel>(const Frame& frame, const Channel&) {
    for (std::size_t bit = 0; bit < 64; ++bit) {
      auto bytes = pack_frame(frame);
      bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] ^ (1 << (bit % 8)));
      const auto read = unpack_frame<Channel>(bytes, Frame::kDescriptors);
      // Another type of the same size, such as CLEAN instead of BUSY, is a different valid frame.
      if (read) {
        EXPECT_FALSE(std::holds_alternative<Frame>(*read)) << Frame::kType << " " << bit;
      }
      if (bit < 32) {
        EXPECT_FALSE(read.has_value());
      }
    }
  });
}

TEST(Wire, ValuesOutOfRangeAreRefused) {
  const auto start = [](auto change) {
    StartFrame frame = sample_start();
    change(frame);
    return accepts<LauncherRequest>(pack_frame(frame), 2);
  };
  EXPECT_TRUE(start([](StartFrame&) {}));
  EXPECT_FALSE(start([](StartFrame& f) { f.lease.job = -1; }));
  EXPECT_FALSE(start([](StartFrame& f) { f.lease.epoch = -1; }));
  EXPECT_FALSE(start([](StartFrame& f) { f.lease.part = -1; }));
  EXPECT_FALSE(start([](StartFrame& f) { f.cpu_milli = 0; }));
  EXPECT_FALSE(start([](StartFrame& f) { f.cpu_milli = INT64_MAX; }));
  EXPECT_FALSE(start([](StartFrame& f) { f.mem_mib = 0; }));
  EXPECT_FALSE(start([](StartFrame& f) { f.mem_mib = -5; }));
  EXPECT_FALSE(start([](StartFrame& f) { f.deadline_ms = -1; }));
  EXPECT_FALSE(start([](StartFrame& f) { f.deadline_ms = INT64_MAX; }));
  EXPECT_FALSE(start([](StartFrame& f) { f.max_processes = 0; }));
  EXPECT_FALSE(start([](StartFrame& f) { f.max_processes = 0xffffffff; }));
  EXPECT_FALSE(start([](StartFrame& f) { f.ranks = 0; }));
  EXPECT_TRUE(start([](StartFrame& f) { f.ranks = kMaxRanks; }));
  EXPECT_FALSE(start([](StartFrame& f) { f.ranks = kMaxRanks + 1; }));
  EXPECT_FALSE(start([](StartFrame& f) { f.device_count = 0; }));  // But a device is there.
  EXPECT_TRUE(start([](StartFrame& f) { f.device_count = kMaxDevices; }));
  EXPECT_FALSE(start([](StartFrame& f) { f.device_count = kMaxDevices + 1; }));
  EXPECT_FALSE(start([](StartFrame& f) { f.device_count = 0xffffffff; }));
  EXPECT_FALSE(start([](StartFrame& f) { f.devices[63].minor = 1; }));
  for (int number = -1; number < 70; ++number) {
    const bool allowed = number == SIGHUP || number == SIGINT || number == SIGQUIT ||
                         number == SIGUSR1 || number == SIGUSR2 || number == SIGTERM ||
                         number == SIGSTOP || number == SIGCONT;
    EXPECT_EQ(accepts<SupervisorOrder>(pack_frame(make<SignalFrame>(number)), 0), allowed);
  }
  EXPECT_FALSE(accepts<SupervisorOrder>(pack_frame(make<GoFrame>(0, kMaxRanks)), 1));
  EXPECT_FALSE(accepts<SupervisorOrder>(pack_frame(make<ResizeFrame>(1, 0)), 0));
  EXPECT_FALSE(accepts<SupervisorReport>(pack_frame(make<RanFrame>(0, 0)), 0));
  EXPECT_FALSE(
      accepts<SupervisorReport>(pack_frame(make<FailedFrame>(0, LaunchStage::kProcess, -1)), 0));
  EXPECT_FALSE(accepts<SupervisorReport>(pack_frame(make<EndedFrame>(0, 0, -1, 0, 0)), 0));
  EXPECT_FALSE(accepts<LauncherAnswer>(pack_frame(make<WelcomeFrame>(0, 1)), 0));
  for (const std::uint32_t stage : {0U, 9U, 0xffffffffU}) {
    const auto frame = make<RefusedFrame>(ErrorCode::kInvalid, 0, LaunchStage{stage});
    EXPECT_FALSE(accepts<LauncherAnswer>(pack_frame(frame), 0)) << stage;
  }
  EXPECT_FALSE(accepts<LauncherAnswer>(
      pack_frame(make<RefusedFrame>(ErrorCode{99}, 0, LaunchStage::kRequest)), 0));
}

TEST(Wire, RandomBytesKeepTheirValueOrAreRefused) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    auto bytes = pack_frame(sample_start());
    for (int change = 0; change < 3; ++change)
      bytes[8 + random() % (bytes.size() - 8)] = static_cast<std::uint8_t>(random());
    const auto read = unpack_frame<LauncherRequest>(bytes, 2);
    if (read) {
      EXPECT_EQ(pack_frame(std::get<StartFrame>(*read)), bytes);
    }
  }
}

// ---- real sockets

class WireSocket : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    near_ = Descriptor(ends[0]);
    far_ = Descriptor(ends[1]);
    before_ = open_descriptors();
  }

  static std::size_t open_descriptors() {
    std::size_t count = 0;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
      (void)each;
      ++count;
    }
    return count;
  }

  // Sends bytes with copies of descriptor 0.
  void send_raw(ByteSpan bytes, std::size_t descriptors) const {
    iovec part{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 250)] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptors > 0) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors);
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int) * descriptors);  // All of them 0.
    }
    ASSERT_EQ(::sendmsg(near_.get(), &message, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }

  Descriptor near_, far_;
  std::size_t before_ = 0;
};

TEST_F(WireSocket, FramesArriveWithTheirDescriptors) {
  int pipe_ends[2];
  ASSERT_EQ(::pipe2(pipe_ends, O_CLOEXEC), 0);
  const Descriptor read_end(pipe_ends[0]);
  const Descriptor write_end(pipe_ends[1]);
  const int both[] = {read_end.get(), write_end.get()};
  ASSERT_FALSE(send_frame(near_.get(), sample_start(), both).has_value());
  std::vector<Descriptor> descriptors;
  const auto frame = receive_frame<LauncherRequest>(far_.get(), descriptors);
  ASSERT_TRUE(frame.ok()) << frame.error().message;
  EXPECT_EQ(pack_frame(std::get<StartFrame>(frame.value())), pack_frame(sample_start()));
  ASSERT_EQ(descriptors.size(), 2u);
  ASSERT_EQ(::write(descriptors[1].get(), "x", 1), 1);
  char got = 0;
  ASSERT_EQ(::read(descriptors[0].get(), &got, 1), 1);
  EXPECT_EQ(got, 'x');
  EXPECT_EQ(::fcntl(descriptors[0].get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(WireSocket, AWrongNumberOfDescriptorsIsRefusedAndAllAreClosed) {
  for (const std::size_t count : {0U, 1U, 3U, 4U, 5U, 64U, 250U}) {
    send_raw(pack_frame(sample_start()), count);
    std::vector<Descriptor> descriptors;
    const auto frame = receive_frame<LauncherRequest>(far_.get(), descriptors);
    ASSERT_FALSE(frame.ok()) << count;
    EXPECT_EQ(frame.error().code, ErrorCode::kInvalid);
    EXPECT_TRUE(descriptors.empty());
    EXPECT_EQ(open_descriptors(), before_) << count;
  }
  send_raw(pack_frame(HelloFrame{}), 1);
  std::vector<Descriptor> descriptors;
  EXPECT_FALSE(receive_frame<LauncherRequest>(far_.get(), descriptors).ok());
  EXPECT_EQ(open_descriptors(), before_);
}

TEST_F(WireSocket, ALongMessageIsRefused) {
  const std::vector<std::uint8_t> bytes(kMaxPacketBytes + 1, 1);
  send_raw(bytes, 2);
  EXPECT_EQ(receive_packet(far_.get()).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(open_descriptors(), before_);
  send_raw(ByteSpan(bytes).first(kMaxPacketBytes), 0);
  EXPECT_EQ(receive_packet(far_.get()).value().bytes.size(), kMaxPacketBytes);
}

TEST_F(WireSocket, TheEndAndAnEmptyMessageAreUnavailable) {
  send_raw({}, 1);
  EXPECT_EQ(receive_packet(far_.get()).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(open_descriptors(), before_);
  near_ = Descriptor();
  EXPECT_EQ(receive_packet(far_.get()).error().code, ErrorCode::kUnavailable);
  const auto failure = send_frame(far_.get(), HelloFrame{});  // No SIGPIPE.
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->message, "sendmsg: Broken pipe");
}

TEST_F(WireSocket, NothingToReadIsAnErrorOfTheSystem) {
  EXPECT_EQ(receive_packet(far_.get()).error().code, ErrorCode::kSystem);
}

}  // namespace
}  // namespace muster
