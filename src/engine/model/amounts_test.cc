// CPUs, memory and nodes in requests.

#include <gtest/gtest.h>

#include <string>

#include "base/types/testing.h"
#include "engine/model/job_request.h"

namespace muster {
namespace {

TEST(Amounts, CpusMemoryAndSpreadAreCheckedByName) {
  const auto with = [](const std::string& field) {
    return error_text(read_request(R"({"command": ["true"], )" + field + "}"));
  };
  expect_texts(with, {
                         {R"("cpus": 0)", "cpus: not between 0.001 and 1000000: 0"},
                         {R"("cpus": -2)", "cpus: not between 0.001 and 1000000: -2"},
                         {R"("cpus": 1e7)", "cpus: not between 0.001 and 1000000: 10000000"},
                         {R"("cpus": 1e300)", "cpus: too many: '1e300'"},
                         {R"("cpus": 0.0001)", "cpus: not a multiple of 0.001 CPUs: '0.0001'"},
                         {R"("cpus": "two")", "cpus: not a number of CPUs: 'two'"},
                         {R"("mem": "0G")", "mem: not between 1M and 1048576G: 0G"},
                         {R"("mem": "-1G")", "mem: not between 1M and 1048576G: -1G"},
                         {R"("mem": "2000000T")", "mem: not between 1M and 1048576G: 2048000000G"},
                         {R"("mem": "1e99G")", "mem: too large: '1e99G'"},
                         {R"("mem": "64X")", "mem: unknown unit 'X' in '64X'; use K, M, G or T"},
                         {R"("mem": "64")", "mem: no unit: '64'; write 64G or 64M"},
                         {R"("mem": "lots")", "mem: not a size such as 64G or 512M: 'lots'"},
                         {R"("mem": 64)", "mem: not text such as \"64G\" or \"512M\": '64'"},
                         {R"("spread": 0)", "spread: not between 1 and 65536 nodes: 0"},
                         {R"("spread": -1)", "spread: not between 1 and 65536 nodes: -1"},
                         {R"("spread": 1.5)", "spread: not a whole number: '1.5'"},
                     });
}

TEST(Amounts, SizesArePowersOf1024InWhateverCase) {
  for (const char* const text : {"2G", "2g", "2GB", "2GiB", "2048M", "2048mb", "2097152K"}) {
    EXPECT_EQ(parse_mem(text).value().mib, 2'048) << text;
  }
  EXPECT_EQ(parse_mem("1.5G").value().mib, 1'536);
  EXPECT_EQ(parse_mem("1T").value().mib, 1'048'576);
  EXPECT_EQ(parse_mem("1K").value().mib, 1) << "rounded up";
  EXPECT_EQ(parse_mem("500", "M").value().mib, 500);
  for (const std::int64_t mib : {1, 1'000, 1'024, 1'536, 65'536}) {
    EXPECT_EQ(parse_mem(mem_text({mib})).value().mib, mib);
  }
}

}  // namespace
}  // namespace muster
