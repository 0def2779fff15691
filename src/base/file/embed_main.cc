// Build tool: parses a YAML file and writes a C++ source file that contains it in the item_text.h
// format.
//
//   embed_document FILE.yaml OUT.cc FUNCTION

#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "base/file/document.h"
#include "base/file/item_text.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: embed_document FILE.yaml OUT.cc FUNCTION\n");
    return 2;
  }
  const muster::Result<muster::Item> root = muster::read_document(argv[1]);
  if (!root.ok()) {
    fmt::print(stderr, "{}\n", root.error().message);
    return 1;
  }
  std::ofstream out(argv[2]);
  out << fmt::format(
      "// Written by embed_document; edit the YAML instead.\n"
      "#include <string_view>\n\n"
      "namespace muster {{\n\n"
      "std::string_view {0}();\n"
      "std::string_view {0}() {{\n  return R\"lines({1})lines\";\n}}\n\n"
      "}}  // namespace muster\n",
      argv[3], muster::to_lines(root.value()));
  out.close();
  return out ? 0 : 1;
}
