#include "exec/diagnose/signatures_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

namespace muster {
namespace {

std::string with(const std::string& line) {
  return "signatures:\n  - id: a\n    reason: syntax-error\n    says: it is so\n    " + line + "\n";
}

std::string complaint(const std::string& text) {
  const auto read = parse_signatures(text, "f");
  return read.ok() ? "" : read.error().message;
}

TEST(SignaturesFile, FillsInWhatIsLeftOut) {
  const auto read = parse_signatures(with("patterns: ['abc def']"), "f");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const Signature& got = read.value().at(0);
  EXPECT_EQ(got.reason, Reason::kSyntaxError);
  EXPECT_TRUE(got.is_explicit);
  EXPECT_EQ(got.bucket, Bucket::kUser);
  EXPECT_EQ(got.reaction, Reaction::kStop);
  EXPECT_EQ(got.priority, 50);
  EXPECT_FALSE(got.echo || got.generic);
}

TEST(SignaturesFile, ReadsAllKeys) {
  const auto read = parse_signatures(
      "signatures:\n  - {id: b, reason: cuda-failure, kind: implicit, bucket: infrastructure, "
      "reaction: back-off, priority: 7, echo: true, generic: true, patterns: ['abc'], "
      "unless: ['x'], within: ['y'], says: s, advice: d}\n",
      "f");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const Signature& got = read.value().at(0);
  EXPECT_FALSE(got.is_explicit);
  EXPECT_EQ(got.bucket, Bucket::kInfrastructure);
  EXPECT_EQ(got.reaction, Reaction::kBackOff);
  EXPECT_EQ(got.priority, 7);
  EXPECT_TRUE(got.echo && got.generic);
  EXPECT_EQ(got.unless, std::vector<std::string>{"x"});
  EXPECT_EQ(got.within, std::vector<std::string>{"y"});
  EXPECT_EQ(got.advice, "d");
}

TEST(SignaturesFile, RefusesWithFileLineFieldAndNearestValue) {
  EXPECT_EQ(complaint(with("pattrens: ['abc']")),
            "f:5: signatures: unknown key: 'pattrens'; did you mean 'patterns'?");
  EXPECT_EQ(complaint(with("patterns: ['a(b']")),
            "f:5: patterns: invalid pattern 'a(b': missing ): a(b");
  EXPECT_EQ(complaint(with("patterns: ['a(?=b)']")),
            "f:5: patterns: invalid pattern 'a(?=b)': invalid perl operator: (?=");
  EXPECT_EQ(
      complaint(with("patterns: ['a.*b']")),
      "f:5: patterns: invalid pattern 'a.*b': has no 3 characters of literal text to search for");
  EXPECT_EQ(complaint(with("patterns: ['(abc)?']")),
            "f:5: patterns: invalid pattern '(abc)?': matches an empty line");
  EXPECT_EQ(complaint(with("patterns: ['abc\\Qx']")),
            "f:5: patterns: the patterns cannot be combined: missing ): (?:abc\\Qx)");
  EXPECT_EQ(complaint(with("patterns: ['abc(?:x{0,150}y{0,150}){0,100}']")).substr(0, 31),
            "f:5: patterns: invalid pattern ");
  EXPECT_EQ(complaint(with("patterns: ['abc.{0,900}def.{0,900}', 'ghi.{0,900}[a-f].{0,900}']")),
            "");
  EXPECT_EQ(complaint(with("patterns: []")), "f:5: patterns: empty list");
  EXPECT_EQ(complaint(with("patterns: abc")), "f:5: patterns: not a list: 'abc'");
  const std::string more = "patterns: ['abc']\n    ";
  EXPECT_EQ(complaint(with(more + "kind: explict")),
            "f:6: kind: unknown kind: 'explict'; did you mean 'explicit'?");
  EXPECT_EQ(complaint(with(more + "bucket: users")),
            "f:6: bucket: unknown bucket: 'users'; did you mean 'user'?");
  EXPECT_EQ(complaint(with(more + "reaction: retry-elswhere")),
            "f:6: reaction: unknown reaction: 'retry-elswhere'; did you mean 'retry-elsewhere'?");
  EXPECT_EQ(complaint(with(more + "priority: 1000")),
            "f:6: priority: not between 0 and 999: '1000'");
  EXPECT_EQ(complaint(with(more + "echo: perhaps")), "f:6: echo: not true or false: 'perhaps'");
  EXPECT_EQ(complaint(with(more + "advice: " + std::string(401, 'x'))),
            "f:6: advice: longer than 400 bytes");
  EXPECT_EQ(complaint(with("patterns: ['" + std::string(513, 'x') + "']")).substr(0, 38),
            "f:5: patterns: invalid pattern 'xxxxxx");
  EXPECT_EQ(complaint("signatures:\n  - {id: a, reason: traceback, patterns: ['abc']}\n"),
            "f:2: signatures: missing key: 'says'");
  const std::string one = "  - {id: a, reason: traceback, patterns: ['abc'], says: s}\n";
  EXPECT_EQ(complaint("signatures:\n" + one + one), "f:3: signatures: duplicate signature id: 'a'");
}

// The built-in signatures equal the files, the files pass all checks, and no id is in two files.
TEST(SignaturesFile, BuiltInOnesAreThoseOfTheSourceTree) {
  namespace fs = std::filesystem;
  std::map<std::string, Signature> files;
  for (const auto& entry :
       fs::directory_iterator(fs::path(__FILE__).parent_path() / "../../../signatures")) {
    const auto read = read_signatures(entry.path().string());
    ASSERT_TRUE(read.ok()) << read.error().message;
    for (const Signature& one : read.value()) EXPECT_TRUE(files.emplace(one.id, one).second);
  }
  const std::vector<Signature> built = builtin_signatures();
  ASSERT_EQ(files.size(), built.size());
  std::set<Reason> covered;
  for (const Signature& a : built) {
    const Signature& b = files[a.id];
    EXPECT_EQ(a.id, b.id);
    EXPECT_EQ(a.patterns, b.patterns) << a.id;
    EXPECT_EQ(a.unless, b.unless) << a.id;
    EXPECT_EQ(a.within, b.within) << a.id;
    EXPECT_FALSE(a.says.ends_with('.')) << a.id;
    covered.insert(a.reason);
  }
  EXPECT_EQ(covered.size(), kReasonCount);
}

}  // namespace
}  // namespace muster
