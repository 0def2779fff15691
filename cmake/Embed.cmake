# Files that the program carries: embed_files() gives them to a target as C++ functions, web_bundle()
# makes them from web/. Run as a script, this file writes the C++ source.

include_guard()

if(CMAKE_SCRIPT_MODE_FILE)
  set(functions "")
  while(FILES)
    list(POP_FRONT FILES name file)
    # Bytes, because compilers need not take a literal of more than 64 KiB.
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
    string(APPEND functions "std::string_view ${name}() {
  static constexpr char kBytes[] = {${bytes}};
  return {kBytes, sizeof kBytes};
}
")
  endwhile()
  file(WRITE ${OUT} "// Made by Embed.cmake.
#include \"${HEADER}\"
namespace muster {
${functions}}  // namespace muster
")
  return()
endif()

# embed_files(TARGET HEADER [NAME FILE]...)
# For each pair the target gets `std::string_view NAME()` in namespace muster, the bytes of FILE.
# HEADER, as one includes it, declares these functions. Made again when a file changes.
function(embed_files TARGET HEADER)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${TARGET}_embedded.cc)
  set(script ${CMAKE_SOURCE_DIR}/cmake/Embed.cmake)
  set(pairs ${ARGN})
  set(inputs "")
  while(pairs)
    list(POP_FRONT pairs name file)
    list(APPEND inputs ${file})
  endwhile()
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DOUT=${source} -DHEADER=${HEADER} "-DFILES=${ARGN}" -P ${script}
    DEPENDS ${inputs} ${script} VERBATIM)
  target_sources(${TARGET} PRIVATE ${source})
endfunction()

# web_bundle(FOLDER FILES file... [OPTIONS option...])
# Makes the FILES, names in FOLDER, from the TypeScript of web/: esbuild makes it one script. Its
# packages come from web/package-lock.json.
function(web_bundle FOLDER)
  cmake_parse_arguments(BUNDLE "" "" "FILES;OPTIONS" ${ARGN})
  set(web ${CMAKE_SOURCE_DIR}/web)
  find_program(NODE node REQUIRED)
  if(NOT EXISTS ${web}/node_modules/esbuild OR NOT EXISTS ${web}/node_modules/openapi-typescript)
    message(FATAL_ERROR "the packages of web/ are missing: npm ci --prefix web")
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${web}/src/*)
  list(TRANSFORM BUNDLE_FILES PREPEND ${FOLDER}/)
  add_custom_command(OUTPUT ${BUNDLE_FILES}
    COMMAND ${NODE} ${web}/build.mjs ${FOLDER} ${BUNDLE_OPTIONS}
    DEPENDS ${sources} ${web}/build.mjs ${web}/package-lock.json VERBATIM)
endfunction()
