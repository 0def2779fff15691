# Embeds files into the program: embed_files() adds them to a target as C++ functions, web_bundle()
# builds them from web/. When run as a script, this file writes the C++ source.

include_guard()

if(CMAKE_SCRIPT_MODE_FILE)
  set(functions "")
  while(FILES)
    list(POP_FRONT FILES name file)
    # An array of bytes, because compilers may reject string literals above 64 KiB.
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
# Adds to the target, for each pair, the function `std::string_view NAME()` in namespace muster. It
# returns the bytes of FILE. HEADER, as in an #include, declares these functions. The source is
# rebuilt when a file changes.
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
# Builds FILES, which are names in FOLDER, from the TypeScript in web/ with esbuild.
# web/package-lock.json lists the packages.
function(web_bundle FOLDER)
  cmake_parse_arguments(BUNDLE "" "" "FILES;OPTIONS" ${ARGN})
  set(web ${CMAKE_SOURCE_DIR}/web)
  find_program(NODE node REQUIRED)
  if(NOT EXISTS ${web}/node_modules/esbuild OR NOT EXISTS ${web}/node_modules/openapi-typescript)
    message(FATAL_ERROR "the packages of web/ are missing; run: npm ci --prefix web")
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${web}/src/*)
  list(TRANSFORM BUNDLE_FILES PREPEND ${FOLDER}/)
  add_custom_command(OUTPUT ${BUNDLE_FILES}
    COMMAND ${NODE} ${web}/build.mjs ${FOLDER} ${BUNDLE_OPTIONS}
    DEPENDS ${sources} ${web}/build.mjs ${web}/package-lock.json VERBATIM)
endfunction()
