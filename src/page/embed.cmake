# Writes OUT, a C++ file that holds the texts of embedded.h: STYLE, the SCRIPTS one after the other
# in a scope of their own, and the SHA-256 of each text, by which the page allows them to run.

# Literals of a text: in pieces, because compilers need not take more than 64 KiB at once.
function(literal variable text)
  if(text MATCHES "[^\t\n -~]")
    message(FATAL_ERROR "page: style and scripts are plain ASCII; use an escape")
  endif()
  set(pieces "")
  string(LENGTH "${text}" length)
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 12000 piece)
    string(APPEND pieces "R\"~~~(${piece})~~~\",\n")
    math(EXPR at "${at} + 12000")
  endwhile()
  set(${variable} "${pieces}" PARENT_SCOPE)
endfunction()

file(READ ${STYLE} style)
set(script "(() => {\n'use strict';\n")
foreach(file IN LISTS SCRIPTS)
  file(READ ${file} text)
  string(APPEND script "${text}")
endforeach()
string(APPEND script "})();\n")

string(SHA256 style_hash "${style}")
string(SHA256 script_hash "${script}")
literal(style_pieces "${style}")
literal(script_pieces "${script}")
file(WRITE ${OUT} "// Made by embed.cmake.
#include \"page/embedded.h\"
namespace muster {
const std::vector<std::string_view>& page_style() {
  static const std::vector<std::string_view> kPieces = {
${style_pieces}};
  return kPieces;
}
const std::vector<std::string_view>& page_script() {
  static const std::vector<std::string_view> kPieces = {
${script_pieces}};
  return kPieces;
}
std::string_view page_style_sha256() { return \"${style_hash}\"; }
std::string_view page_script_sha256() { return \"${script_hash}\"; }
}  // namespace muster
")
