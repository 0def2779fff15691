# Writes OUT, a C++ file that holds the gzipped files of DIST, for dash.h.

set(paths / /app.js /app.css /icon.svg)
set(names index.html app.js app.css icon.svg)
set(types "text/html\; charset=utf-8" "text/javascript\; charset=utf-8" "text/css\; charset=utf-8"
          "image/svg+xml")

set(arrays "")
set(entries "")
foreach(i RANGE 3)
  list(GET names ${i} name)
  list(GET paths ${i} path)
  list(GET types ${i} type)
  # Bytes, because compilers need not take a literal of more than 64 KiB.
  file(READ ${DIST}/${name}.gz bytes HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND arrays "constexpr char kFile${i}[] = {${bytes}};\n")
  string(APPEND entries "    {\"${path}\", \"${type}\", {kFile${i}, sizeof kFile${i}}},\n")
endforeach()
file(WRITE ${OUT} "// Made by embed.cmake.
#include \"dash/dash.h\"
namespace muster {
namespace {
${arrays}}  // namespace
std::span<const DashFile> dash_files() {
  static constexpr DashFile kFiles[] = {
${entries}  };
  return kFiles;
}
}  // namespace muster
")
