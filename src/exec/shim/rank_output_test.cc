#include "exec/shim/rank_output.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace muster {
namespace {

class RankOutputTest : public testing::Test {
 protected:
  RankOutputTest() {
    char name[] = "/tmp/muster-rank-output-XXXXXX";
    path_ = ::mkdtemp(name);
    directory_ = std::move(open_directory(path_)).value();
  }
  ~RankOutputTest() override {
    ::unlinkat(directory_.get(), "out.log", 0);
    ::rmdir(path_.c_str());
  }

  RankOutput output(int first_rank, int count) {
    RankOutput out(LogFile(directory_, 1 << 20, 1));
    EXPECT_FALSE(out.open(events_.get(), first_rank, count));
    return out;
  }
  static void say(const RankOutput& out, std::size_t rank, const std::string& text) {
    EXPECT_EQ(::write(out.write_ends()[rank], text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  // Reads what is there, as the shim does after epoll_wait().
  void take(RankOutput& out) const {
    epoll_event ready[8];
    const int n = ::epoll_wait(events_.get(), ready, 8, 0);
    for (int i = 0; i < n; ++i) out.take(ready[i].data.fd, 1 << 20);
  }
  std::string log() const {
    return std::move(read_file(directory_.get(), "out.log", 1 << 20)).value();
  }

  std::string path_;
  Fd directory_;
  Fd events_{::epoll_create1(0)};
};

TEST_F(RankOutputTest, OneRankIsWrittenAsItIsAndImmediately) {
  RankOutput out = output(3, 1);
  say(out, 0, "no end yet");
  take(out);
  EXPECT_EQ(log(), "no end yet");
}

TEST_F(RankOutputTest, LinesOfSeveralRanksAreNeverMixed) {
  RankOutput out = output(4, 2);
  say(out, 0, "epoch 1");
  take(out);
  say(out, 1, "other\n");
  take(out);
  say(out, 0, ", loss 2\nlast");
  take(out);
  EXPECT_EQ(log(), "[rank5]: other\n[rank4]: epoch 1, loss 2\n");
  out.close_write_ends();
  out.finish();
  EXPECT_EQ(log(), "[rank5]: other\n[rank4]: epoch 1, loss 2\n[rank4]: last\n");
}

TEST_F(RankOutputTest, ACarriageReturnEndsALineToo) {
  RankOutput out = output(0, 2);
  say(out, 1, "10%\r20%\rdone\r\n");
  take(out);
  EXPECT_EQ(log(), "[rank1]: 10%\n[rank1]: 20%\n[rank1]: done\r\n");
}

TEST_F(RankOutputTest, ALongLineIsSplitWithAndWithoutItsEnd) {
  RankOutput out = output(0, 2);
  say(out, 0, std::string(RankOutput::kMaxLineBytes + 5, 'x'));
  take(out);
  const std::string expected = "[rank0]: " + std::string(RankOutput::kMaxLineBytes, 'x') + "\n";
  EXPECT_EQ(log(), expected);
  out.finish();
  EXPECT_EQ(log(), expected + "[rank0]: xxxxx\n");
  say(out, 1, std::string(RankOutput::kMaxLineBytes + 5, 'y') + "\n");
  take(out);
  EXPECT_TRUE(log().ends_with("y\n[rank1]: yyyyy\n"));
}

}  // namespace
}  // namespace muster
