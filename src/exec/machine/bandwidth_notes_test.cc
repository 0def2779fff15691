#include "exec/machine/bandwidth_notes.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace muster {
namespace {

using nlohmann::json;

class BandwidthNotesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/muster-notes-test-XXXXXX";
    scratch_ = ::mkdtemp(name);
    notes_ = scratch_ + "/not/there/yet";
    file_ = notes_ + "/bandwidth.json";
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(scratch_, ignored);
  }

  void write(const std::string& text) const { std::ofstream(file_) << text; }
  json read() const {
    std::ifstream in(file_);
    return json::parse(in);
  }

  std::string scratch_, notes_, file_;
  BandwidthKey key_ = {7, "storage, large files"};
};

TEST_F(BandwidthNotesTest, AreFoundByDeviceAndKind) {
  EXPECT_EQ(recall_bandwidth(notes_, key_), std::nullopt);
  note_bandwidth(notes_, key_, 512.25);
  note_bandwidth(notes_, {8, key_.kind}, 100);
  note_bandwidth(notes_, {7, "memory, 2 threads"}, 9000);
  EXPECT_EQ(recall_bandwidth(notes_, key_), 512.25);
  EXPECT_EQ(recall_bandwidth(notes_, {8, key_.kind}), 100);
  EXPECT_EQ(recall_bandwidth(notes_, {9, key_.kind}), std::nullopt);
  note_bandwidth(notes_, key_, 600);
  EXPECT_EQ(recall_bandwidth(notes_, key_), 600);
  EXPECT_EQ(read()["figures"].size(), 3U);
  EXPECT_EQ(recall_bandwidth("", key_), std::nullopt);
}

TEST_F(BandwidthNotesTest, WhatIsDamagedIsAsGoodAsAbsent) {
  note_bandwidth(notes_, key_, 500);
  const json good = read();
  const auto damaged = [&](const char* field, const json& value) {
    json notes = good;
    notes["figures"][0][field] = value;
    return notes.dump();
  };
  json newer = good;
  newer["version"] = 2;
  const std::vector<std::string> cases = {"",
                                          "{",
                                          "[]",
                                          "null",
                                          std::string(60'000, '['),
                                          R"({"version":1})",
                                          R"({"version":1,"figures":[1,null,{}]})",
                                          newer.dump(),
                                          good.dump() + std::string(70'000, ' '),
                                          damaged("mib_per_s", -1),
                                          damaged("mib_per_s", "much"),
                                          damaged("mib_per_s", 1e30),
                                          damaged("at", 99'999'999'999),
                                          damaged("at", -5),
                                          damaged("host", "another"),
                                          damaged("device", "7"),
                                          damaged("kind", 7)};
  for (const std::string& text : cases) {
    write(text);
    EXPECT_EQ(recall_bandwidth(notes_, key_), std::nullopt) << text.substr(0, 200);
    note_bandwidth(notes_, key_, 700);
    EXPECT_EQ(recall_bandwidth(notes_, key_), 700) << text.substr(0, 200);
  }
}

TEST_F(BandwidthNotesTest, AreValidFor30Days) {
  note_bandwidth(notes_, key_, 500);
  for (const auto& [days, valid] : {std::pair(29, true), std::pair(31, false)}) {
    json notes = read();
    notes["figures"][0]["at"] = ::time(nullptr) - days * 24 * 3600;
    write(notes.dump());
    EXPECT_EQ(recall_bandwidth(notes_, key_).has_value(), valid) << days;
  }
}

TEST_F(BandwidthNotesTest, DoNotGrowForEver) {
  for (std::uint64_t device = 0; device < 250; ++device) {
    note_bandwidth(notes_, {device, key_.kind}, 500);
  }
  EXPECT_EQ(read()["figures"].size(), 200U);
  EXPECT_EQ(recall_bandwidth(notes_, {49, key_.kind}), std::nullopt);
  EXPECT_EQ(recall_bandwidth(notes_, {249, key_.kind}), 500);
}

TEST_F(BandwidthNotesTest, ALinkIsNotFollowed) {
  std::filesystem::create_directories(notes_);
  const std::string other = scratch_ + "/other";
  std::ofstream(other) << "precious";
  std::filesystem::create_symlink(other, file_);
  note_bandwidth(notes_, key_, 500);
  std::ifstream in(other);
  std::string text;
  std::getline(in, text);
  EXPECT_EQ(text, "precious");
}

}  // namespace
}  // namespace muster
