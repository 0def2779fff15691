#include "study/page/page_csv.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "study/page/test_page.h"

namespace muster {
namespace {

class PageCsv : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::path(testing::TempDir()) /
           testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(dir_);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::string content(const std::string& name) const {
    std::ifstream file(dir_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::filesystem::path dir_;
};

TEST_F(PageCsv, OneFileATablePlotAndGantt) {
  ASSERT_FALSE(write_page_csv(dir_ / "a" / "b", small_page()));
  dir_ /= "a/b";
  EXPECT_EQ(content("by-size.csv"),
            "GPUs,jobs,wait p50 (min)\n"
            "1,82247,1234.567\n"
            "\"2, 3 or \"\"4\"\"\",-1500,\n"
            "more,,0.1\n");
  EXPECT_EQ(content("wait-cdf.csv"),
            "series,x,y\n"
            "fifo,1,0\n"
            "fifo,2.5,0.3333333333333333\n"
            "fifo,3333333.3333333335,100\n"
            "srtf,1,10\n"
            "srtf,2.5,\n"
            "srtf,3333333.3333333335,100\n");
  EXPECT_EQ(content("wait-bars.csv"),
            "series,category,y\n"
            "all,fair share,61.5\n"
            "all,\"order, mostly\",\n");
  EXPECT_EQ(content("gantt.csv"),
            "group,row,label,begin_s,end_s\n"
            "server-1,2,\"</script><b>\"\"a\"\" & 'b'\x1b[31m\a\xff\xc3(\",150,160.5\n"
            "server-0,0,job-7,120,130\n"
            "server-0,0,\"</script><b>\"\"a\"\" & 'b'\x1b[31m\a\xff\xc3(\",100,110\n");
  const std::filesystem::directory_iterator files(dir_);
  EXPECT_EQ(std::distance(begin(files), end(files)), 4);  // And no temporary ones.
}

TEST_F(PageCsv, SaysWhatIsInTheWay) {
  std::ofstream(dir_) << "a file";
  const MaybeError refusal = write_page_csv(dir_, small_page());
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->message.rfind(dir_.string() + ": not a directory", 0), 0u);
}

}  // namespace
}  // namespace muster
