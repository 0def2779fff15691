#include "study/layers/layers_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/types/testing.h"

namespace muster {
namespace {

constexpr std::string_view kCsv =
    "# exported from a model\n"
    "macs,name,type,output_bytes,parameter_bytes\n"
    "86704128,conv1,Conv2d,3211264,6912\n"
    "\n"
    "0,\"relu, pooled\",,,0\n"
    "102760448,fc,Linear,4000,411041792\n";

std::string refusal(std::string_view text) { return error_text(parse_layers(text, "t.csv")); }

std::string row(const std::string& line) {
  return refusal("name,type,parameter_bytes,output_bytes,macs\n" + line + "\n");
}

TEST(LayersFile, ReadsCsvInAnyOrderOfColumns) {
  const Result<LayerTable> table = parse_layers(kCsv, "models/small.net.csv");
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table.value().model, "small.net");
  const std::vector<Layer>& layers = table.value().layers;
  ASSERT_EQ(layers.size(), 3u);
  EXPECT_EQ(layers[0].name, "conv1");
  EXPECT_EQ(layers[0].type, "Conv2d");
  EXPECT_EQ(layers[0].parameter_bytes(), 6912);
  EXPECT_EQ(layers[0].output_bytes, 3211264);
  EXPECT_EQ(layers[0].macs, 86704128);
  EXPECT_TRUE(layers[0].may_cut_behind);
  EXPECT_EQ(layers[1].name, "relu, pooled");
  EXPECT_FALSE(layers[1].may_cut_behind) << "no output: several tensors cross";
  EXPECT_EQ(layers[2].parameter_bytes(), 411041792);
  EXPECT_TRUE(parse_layers("name,parameter_bytes,output_bytes,macs\na,1,2,3", "t").ok())
      << "a type is only shown";
}

TEST(LayersFile, ReadsJson) {
  const Result<LayerTable> table = parse_layers(
      R"({"model": "tiny", "layers": [
        {"name": "conv1", "type": "Conv2d", "parameter_bytes": 6912, "output_bytes": 12, "macs": 9},
        {"name": "branch", "parameter_bytes": 0, "output_bytes": null, "macs": 0}
      ]})",
      "t.json");
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table.value().model, "tiny");
  ASSERT_EQ(table.value().layers.size(), 2u);
  EXPECT_EQ(table.value().layers[0].type, "Conv2d");
  EXPECT_EQ(table.value().layers[0].parameter_bytes(), 6912);
  EXPECT_EQ(table.value().layers[0].output_bytes, 12);
  EXPECT_EQ(table.value().layers[0].macs, 9);
  EXPECT_FALSE(table.value().layers[1].may_cut_behind);
}

TEST(LayersFile, MissingColumnsNameTheNearest) {
  EXPECT_EQ(refusal("name,type,parameter_bytes,output_byte,macs\na,b,1,2,3\n"),
            "t.csv:1: output_bytes: column missing from the header: "
            "'name,type,parameter_bytes,output_byte,macs'; is 'output_byte' this column?");
  EXPECT_EQ(refusal("name,parameter_bytes,output_bytes\n"),
            "t.csv:1: macs: column missing from the header: 'name,parameter_bytes,output_bytes'");
  EXPECT_EQ(refusal("name,typ,parameter_bytes,output_bytes,macs\n"),
            "t.csv:1: header: unknown column: 'typ'; did you mean 'type'?");
  EXPECT_EQ(refusal("name,,parameter_bytes,output_bytes,macs\n"),
            "t.csv:1: header: unknown column: ''; one of: name, type, parameter_bytes, "
            "output_bytes, macs");
  EXPECT_EQ(refusal("name,name,parameter_bytes,output_bytes,macs\n"),
            "t.csv:1: header: column named twice: 'name'");
}

TEST(LayersFile, RefusesBadRowsInOneLine) {
  expect_texts(
      row,
      {
          {"a,conv,-1,2,3", "t.csv:2: parameter_bytes: not between 0 and 1000000000000000: '-1'"},
          {"a,conv,1,9999999999999999,3",
           "t.csv:2: output_bytes: not between 0 and 1000000000000000: '9999999999999999'"},
          {"a,conv,1,2,many", "t.csv:2: macs: not a whole number: 'many'"},
          {"a,conv,,2,3", "t.csv:2: parameter_bytes: not a whole number: ''"},
          {"a,conv,1,2", "t.csv:2: columns: 4 where the header has 5: 'a,conv,1,2'"},
          {",conv,1,2,3", "t.csv:2: name: empty: ''"},
          {"a,conv,1,2,3\na,conv,1,2,3", "t.csv:3: name: layer named twice: 'a'; first on line 2"},
          {"\x01,conv,1,2,3", "t.csv:2: name: control character in text: '\\x01'"},
      });
  EXPECT_EQ(row(fmt::format("{:x>201},conv,1,2,3", "")).substr(0, 35),
            "t.csv:2: name: longer than 200 byte");
  EXPECT_EQ(row("\"a,conv,1,2,3"), "t.csv:2: quote not closed: '\"a,conv,1,2,3'");
  EXPECT_EQ(refusal(""), "t.csv:1: no layers: the file is empty");
  EXPECT_EQ(row(""), "t.csv:2: no layers: nothing after the header");
}

TEST(LayersFile, RefusesBadJsonInOneLine) {
  EXPECT_EQ(refusal(R"({"layers": [{"name": "a", "parameter_bytes": 1, "output_bytes": 1,
      "mac": 3}]})"),
            "t.csv:2: layers: unknown key: 'mac'; did you mean 'macs'?");
  EXPECT_EQ(refusal(R"({"layers": [{"name": "a", "parameter_bytes": 1, "output_bytes": 1}]})"),
            "t.csv:1: layers: missing key: 'macs'");
  EXPECT_EQ(
      refusal(
          R"({"layers": [{"name": "a", "parameter_bytes": -1, "output_bytes": 1, "macs": 1}]})"),
      "t.csv:1: parameter_bytes: not between 0 and 1000000000000000: '-1'");
  EXPECT_EQ(refusal(R"({"layers": [
      {"name": "a", "parameter_bytes": 1, "output_bytes": 1, "macs": 1},
      {"name": "a", "parameter_bytes": 1, "output_bytes": 1, "macs": 1}]})"),
            "t.csv:3: name: layer named twice: 'a'; first on line 2");
  EXPECT_EQ(refusal(R"({"layers": []})"), "t.csv:1: layers: empty list");
  EXPECT_EQ(refusal(R"({"model": "x"})"), "t.csv:1: missing key: 'layers'");
  EXPECT_EQ(refusal(R"({"layer": []})"), "t.csv:1: unknown key: 'layer'; did you mean 'layers'?");
  EXPECT_TRUE(refusal("{").starts_with("t.csv:1: ")) << refusal("{");
}

TEST(LayersFile, TooManyRows) {
  std::string text = "name,parameter_bytes,output_bytes,macs\n";
  for (std::size_t i = 0; i < kMaxLayers; ++i) text += fmt::format("l{},1,1,1\n", i);
  EXPECT_EQ(refusal(text), "accepted");
  EXPECT_EQ(refusal(text + "one,1,1,1\n"), "t.csv:100002: too many layers: the maximum is 100000");
}

TEST(LayersFile, MissingFile) {
  EXPECT_EQ(read_layers("/nowhere/at/all.csv").error().message,
            "/nowhere/at/all.csv: no such file");
}

}  // namespace
}  // namespace muster
