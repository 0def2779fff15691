#include "base/file/document.h"

#include <gtest/gtest.h>

#include <string>

#include "base/types/testing.h"

namespace muster {
namespace {

std::string refusal(const std::string& text) { return error_text(parse_document(text, "f.yaml")); }

TEST(Document, KeepsKeysValuesAndLines) {
  const Result<Item> root = parse_document("a: 1\nb:\n  - x\n  - {c: 'two words', d: ~}\n", "f");
  ASSERT_TRUE(root.ok()) << root.error().message;
  ASSERT_EQ(root.value().kind, Item::Kind::kMap);
  EXPECT_EQ(root.value().find("a")->text, "1");
  const Item& list = *root.value().find("b");
  EXPECT_EQ(list.line, 2);
  ASSERT_EQ(list.items.size(), 2U);
  EXPECT_EQ(list.items[0].text, "x");
  EXPECT_EQ(list.items[1].line, 4);
  EXPECT_EQ(list.items[1].key, "b");
  EXPECT_EQ(list.items[1].find("c")->text, "two words");
  EXPECT_EQ(list.items[1].find("d")->kind, Item::Kind::kEmpty);
  EXPECT_EQ(list.items[1].find("e"), nullptr);
}

TEST(Document, ReadsJson) {
  const Result<Item> root = parse_document("{\"a\":[1,2.5,\n\"x\\u0041\"],\t\"b\":{}}", "f");
  ASSERT_TRUE(root.ok()) << root.error().message;
  EXPECT_EQ(root.value().find("a")->items[1].text, "2.5");
  EXPECT_EQ(root.value().find("a")->items[2].text, "xA");
  EXPECT_EQ(root.value().find("a")->items[2].line, 2);
  EXPECT_EQ(root.value().find("b")->kind, Item::Kind::kMap);
}

TEST(Document, KeepsLineBreaksAndTabs) {
  const Result<Item> root = parse_document("a: |\n  one\n  \ttwo\nb: \"x\\ty\"\n", "f.yaml");
  ASSERT_TRUE(root.ok()) << root.error().message;
  EXPECT_EQ(root.value().find("a")->text, "one\n\ttwo\n");
  EXPECT_EQ(root.value().find("b")->text, "x\ty");
}

TEST(Document, RefusesWhatItDoesNotRead) {
  struct Row {
    std::string text;
    std::string message;
  };
  const Row rows[] = {
      {"", "f.yaml: empty"},
      {" \n\n", "f.yaml: empty"},
      {"# only a remark\n", "f.yaml: empty"},
      {"a: 1\nb: \x01\n", "f.yaml:2: not text: byte '\\x01'"},
      {std::string("a\0b", 3), "f.yaml:1: not text: byte '\\x00'"},
      {"a: 1\nb: \"x\\0\"\n", "f.yaml:2: control character in 'x\\x00'"},
      {"a: \"\\\xe5\"\n", "f.yaml:1: not YAML: unknown escape character: \\xe5"},
      {"\"\\e[1m\": 1\n", "f.yaml:1: control character in '\\x1b[1m'"},
      {"\x7f"
       "ELF",
       "f.yaml:1: not text: byte '\\x7f'"},
      {"a: &x 1\nb: *x\n", "f.yaml:1: anchors are not supported; write out the value"},
      {"a: &x [1]\n", "f.yaml:1: anchors are not supported; write out the value"},
      {"b: *x\n", "f.yaml:1: not YAML: the referenced anchor is not defined"},
      {"a: 1\nb: !!str 2\n", "f.yaml:2: tags are not supported: 'tag:yaml.org,2002:str'"},
      {"a: 1\nb: 2\na: 3\n", "f.yaml:3: key given twice: 'a'"},
      {"a: 1\n---\nb: 2\n", "f.yaml:3: a second document; a file can contain only one"},
      {"a: [1, 2\n", "f.yaml:2: not YAML: end of sequence flow not found"},
      {"? [1, 2]\n: 3\n", "f.yaml:1: a key must be plain text"},
      {"~: 3\n", "f.yaml:1: empty key"},
      {"'': 3\n", "f.yaml:1: empty key"},
      {std::string(40, '[') + std::string(40, ']'), "f.yaml:1: nested deeper than 32"},
      {"- " + std::string(1000, '-') + "\n", "accepted"},
      {std::string(kMaxFileBytes + 1, ' '), "f.yaml: larger than 16 MiB"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(refusal(row.text), row.message) << row.text.substr(0, 60);
  }
  // The position at which yaml-cpp rejects the brackets depends on its version.
  EXPECT_NE(refusal(std::string(1'000'000, '[')), "accepted");
  EXPECT_NE(refusal(std::string(1'000'000, '{')), "accepted");
  EXPECT_NE(refusal(std::string(500'000, '[') + std::string(500'000, ']')), "accepted");
  std::string steps;
  for (int i = 0; i < 200; ++i) steps += "- ";
  EXPECT_EQ(refusal(steps + "x"), "f.yaml:1: nested deeper than 32");
}

TEST(Document, BoundsItsSize) {
  std::string keys = "{";
  for (std::size_t i = 0; i <= kMaxKeys; ++i) keys += "k" + std::to_string(i) + ": 1, ";
  EXPECT_EQ(refusal(keys + "}"), "f.yaml:1: more than 1000 keys in one map");
  std::string values = "[";
  for (std::size_t i = 0; i <= kMaxItems; ++i) values += "1,";
  EXPECT_EQ(refusal(values + "]"), "f.yaml:1: more than 500000 values");
}

TEST(Document, SaysWhyAFileCannotBeRead) {
  EXPECT_EQ(read_document("/no/such/file.yaml").error().message,
            "/no/such/file.yaml: no such file");
  EXPECT_EQ(read_document("/tmp").error().message, "/tmp: is a directory");
  EXPECT_EQ(read_document("").error().message, "'': no such file");
  EXPECT_EQ(read_document("a\nb").error().message, "'a\\x0ab': no such file");
  EXPECT_EQ(read_document("/dev/null").error().message, "/dev/null: empty");
  EXPECT_EQ(read_document("/dev/zero").error().message, "/dev/zero: larger than 16 MiB");
}

}  // namespace
}  // namespace muster
