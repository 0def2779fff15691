# Writes OUT, a C++ file that holds the text of IN, plain ASCII, for openapi.h.

file(READ ${IN} text)
if(text MATCHES "[^\n -~]")
  message(FATAL_ERROR "openapi.json is plain ASCII without tabs; use an escape")
endif()
# Bytes, because compilers need not take a literal of more than 64 KiB.
string(HEX "${text}" bytes)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT} "// Made by embed.cmake.
#include \"api/openapi.h\"
namespace muster {
std::string_view openapi_json() {
  static constexpr char kText[] = {${bytes}};
  return {kText, sizeof kText};
}
}  // namespace muster
")
