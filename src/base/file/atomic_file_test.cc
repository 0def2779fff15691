#include "base/file/atomic_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace muster {
namespace {

// Processes of two machines can have the same id. They share only the directory.
TEST(AtomicFile, TwoWritersOfOneFileDoNotDisturbEachOther) {
  const std::filesystem::path dir =
      std::filesystem::temp_directory_path() / ("muster_atomic_" + std::to_string(getpid()));
  std::filesystem::create_directories(dir);
  const std::string path = (dir / "x").string();
  AtomicFile first(path);
  AtomicFile second(path);
  first.append("first");
  second.append("second");
  EXPECT_FALSE(first.close());
  EXPECT_FALSE(second.close());
  EXPECT_FALSE(second.publish());
  const MaybeError refusal = first.publish();
  EXPECT_FALSE(refusal) << refusal->message;
  std::string text;
  std::getline(std::ifstream(path), text);
  EXPECT_EQ(text, "first");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir), {}), 1);
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace muster
