// Logs and signature files with arbitrary bytes. A file must be usable, or rejected with one
// printable line that names it. The diagnosis of a log must be printable, and the same for the
// whole log and line by line.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/check.h"
#include "exec/diagnose/classifier.h"
#include "exec/diagnose/signatures_file.h"

namespace muster {
namespace {

const Signatures& builtin() {
  static const Signatures kBuiltin(builtin_signatures());
  return kBuiltin;
}

void check_shown(const std::string& text) {
  MUSTER_CHECK(text.size() <= kMaxEvidenceBytes);
  for (const char c : text) {
    MUSTER_CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  }
}

std::vector<Finding> by_lines(std::string_view text) {
  LogScan scan(builtin(), 0);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t size = end == std::string_view::npos ? text.size() : end + 1;
    scan.feed(text.substr(0, size));
    text.remove_prefix(size);
  }
  return scan.finish();
}

void read_log(std::string_view text) {
  const std::size_t half = text.find('\0');
  const std::string_view first = text.substr(0, half);
  const std::string_view second =
      half == std::string_view::npos ? std::string_view() : text.substr(half + 1);
  AttemptLogs attempt;
  attempt.ranks.push_back({0, first, 1, {}, {}, {}});
  attempt.ranks.push_back({1, second, 1, 1, {}, {}});
  const Diagnosis got = classify(attempt, builtin());
  check_shown(got.evidence);
  MUSTER_CHECK(got.says.size() <= kMaxSaysBytes && !got.says.empty());
  MUSTER_CHECK(got.log < 2 && got.line >= 0);
  MUSTER_CHECK(got.line <= 1 + std::count(text.begin(), text.end(), '\n'));
  LogScan whole(builtin(), 0);
  whole.feed(first);
  const std::vector<Finding> a = whole.finish();
  const std::vector<Finding> b = by_lines(first);
  MUSTER_CHECK(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    MUSTER_CHECK(a[i].signature == b[i].signature && a[i].line == b[i].line);
    MUSTER_CHECK(a[i].evidence == b[i].evidence && a[i].decoy == b[i].decoy);
    check_shown(a[i].evidence);
  }
}

void read_rules(std::string_view text) {
  const Result<std::vector<Signature>> read = parse_signatures(text, "f");
  if (!read.ok()) {
    MUSTER_CHECK(read.error().message.starts_with("f:"));
    for (const char c : read.error().message) MUSTER_CHECK(c >= 0x20 && c < 0x7f);
    return;
  }
  AttemptLogs attempt;
  attempt.ranks.push_back({0, text, 1, {}, {}, {}});
  check_shown(classify(attempt, Signatures(read.value())).evidence);
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  text.starts_with("signatures:") ? muster::read_rules(text) : muster::read_log(text);
  return 0;
}
