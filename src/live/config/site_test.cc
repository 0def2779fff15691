// The table of executors.

#include "live/config/site.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace muster {
namespace {

TEST(Executors, EachHasItsOwnNameAndADescription) {
  std::set<std::string_view> names;
  for (const ExecutorKind& kind : executors()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_FALSE(kind.doc.empty()) << kind.name;
    EXPECT_NE(kind.find_site, nullptr) << kind.name;
    EXPECT_NE(kind.open, nullptr) << kind.name;
  }
  EXPECT_TRUE(names.contains(ServeFile().executor)) << "the default";
}

TEST(Executors, AreTheNamesThatAConfigurationMayHave) {
  for (const std::string_view name : executor_names()) {
    const std::string text = "executor: " + std::string(name) + "\n";
    const Result<ServeFile> file = parse_serve_file(text, "s.yaml", executor_names());
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(file.value().executor, name);
  }
  EXPECT_FALSE(parse_serve_file("executor: abacus\n", "s.yaml", executor_names()).ok());
}

TEST(Executors, ShareOnePlaceForTheFilesOfLeases) {
  const Result<Site> site = find_site(ServeFile(), "/home/of/a/manager");
  ASSERT_TRUE(site.ok()) << site.error().message;
  EXPECT_EQ(site.value().files.directory(), "/home/of/a/manager/leases");
}

}  // namespace
}  // namespace muster
