# Puts profiles/zoo.yaml into the program as a string, so that the built-in profiles need no file at
# run time. Included, it defines embed_zoo(TARGET); run with -P, it writes the one source file. The
# file is written again whenever the YAML changes.

if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${ZOO_YAML}" text)
  file(WRITE "${ZOO_SOURCE}" "// Written by cmake/EmbedZoo.cmake from profiles/zoo.yaml; edit that.
#include \"config/profiles_file.h\"

namespace muster {

std::string_view builtin_zoo_text() {
  return R\"zoo(${text})zoo\";
}

}  // namespace muster
")
  return()
endif()

function(embed_zoo TARGET)
  set(script ${CMAKE_SOURCE_DIR}/cmake/EmbedZoo.cmake)
  set(yaml ${CMAKE_SOURCE_DIR}/profiles/zoo.yaml)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/zoo.cc)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DZOO_YAML=${yaml} -DZOO_SOURCE=${source} -P ${script}
    DEPENDS ${yaml} ${script}
    COMMENT "Embedding profiles/zoo.yaml"
    VERBATIM)
  target_sources(${TARGET} PRIVATE ${source})
endfunction()
