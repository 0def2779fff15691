# Build rules of the source tree: the language, the warnings, subsystem() for a directory of src/,
# and library() for each of its folders.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set_property(GLOBAL PROPERTY USE_FOLDERS ON)

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-restrict)  # GCC bug 105651: false warnings for "literal" + std::string.
  # GCC collects garbage only above 1 GiB: compiling takes 10 to 15% less time.
  add_compile_options("SHELL:--param ggc-min-heapsize=1048576" "SHELL:--param ggc-min-expand=100")
endif()
# Results must not depend on the compiler: no fused multiply-add, no re-association.
add_compile_options(-ffp-contract=off)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_compile_options(-march=x86-64-v2)  # Has POPCNT; supported by all CPUs since 2009.
endif()

# Puts the programs that users start into build/PRESET/bin, because muster looks for its shim there.
function(user_program NAME)
  set_target_properties(${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
endfunction()

find_package(fmt REQUIRED)
find_package(GTest REQUIRED)
find_package(Threads REQUIRED)

set(MUSTER_TEST_FLAGS "" CACHE STRING "additional compiler flags for unit tests")
set(MUSTER_LIGHT_FLAGS "" CACHE STRING "additional compiler flags for LIGHT folders")

# With this option, a folder is compiled as one unit or a few, and library headers are precompiled.
# A full build then takes half the time. Without it, an incremental build compiles only the changed
# files.
option(MUSTER_FROM_NOTHING "unity build: faster full builds, slower incremental builds" OFF)

# Uses ccache if it is installed, so that unchanged units are not compiled again.
find_program(CCACHE ccache)
if(CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

# The precompiled headers. A target can only use one that was compiled with the same flags.
if(MUSTER_FROM_NOTHING)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")  # Lets ccache recognize them.
  endif()
  add_library(light_headers STATIC EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/cmake/light_headers.cc)
  target_link_libraries(light_headers PRIVATE fmt::fmt)
  target_compile_options(light_headers PRIVATE ${MUSTER_LIGHT_FLAGS})
  target_precompile_headers(light_headers PRIVATE ${CMAKE_SOURCE_DIR}/cmake/light_headers.h)

  file(WRITE ${CMAKE_BINARY_DIR}/core_headers.cc "")
  add_library(core_headers STATIC EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/core_headers.cc)
  target_link_libraries(core_headers PRIVATE fmt::fmt)
  target_precompile_headers(core_headers PRIVATE
    <fmt/format.h> <algorithm> <functional> <map> <optional> <set> <span> <string> <variant> <vector>)

  file(WRITE ${CMAKE_BINARY_DIR}/test_headers.cc "")
  add_library(test_headers STATIC EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/test_headers.cc)
  target_link_libraries(test_headers PRIVATE GTest::gtest fmt::fmt Threads::Threads)
  target_compile_options(test_headers PRIVATE ${MUSTER_TEST_FLAGS})
  target_precompile_headers(test_headers PRIVATE
    <gtest/gtest.h> ${CMAKE_SOURCE_DIR}/cmake/light_headers.h)
endif()

# The unit tests that ./test also runs under sanitizers: those of folders that read input, serve,
# run jobs or keep state. ./test --long runs all tests under sanitizers.
add_custom_target(sanitized_programs)
set(sanitized_folders
  "^(base_|exec_|api_|engine_(model|failure|core|chain|roster)|workload_(input|trace|history|philly)|live_)")

# split_test(NAME PARTS): runs a test program in parts, NAME, NAME_2 and so on, which may run at the
# same time. The parts have the cost and the labels of NAME.
function(split_test NAME PARTS)
  get_test_property(${NAME} LABELS labels)
  get_test_property(${NAME} COST cost)
  foreach(part RANGE 1 ${PARTS})
    set(name ${NAME})
    if(part GREATER 1)
      set(name ${NAME}_${part})
      add_test(NAME ${name} COMMAND ${NAME})
    endif()
    math(EXPR index "${part} - 1")
    set_tests_properties(${name} PROPERTIES
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${PARTS};GTEST_SHARD_INDEX=${index}")
    if(labels)
      set_tests_properties(${name} PROPERTIES LABELS "${labels}")
    endif()
    if(cost)
      set_tests_properties(${name} PROPERTIES COST ${cost})
    endif()
  endforeach()
endfunction()

# subsystem(NAME MAY_USE other...): src/NAME, and the subsystems whose folders it may include.
# tests/layering_test.py reads this list; CMake itself needs only the order.
function(subsystem NAME)
  add_subdirectory(${NAME})
endfunction()

# library(NAME [PURE] [LIGHT] DEPS other/folder... LINK libraries... ALONE files...)
# Makes the folder NAME of the current subsystem the target SUBSYSTEM_NAME: all .cc files except
# tests become the library, all *_test.cc become the program SUBSYSTEM_NAME_test.
# PURE: no I/O, clock, thread or global; tests/layering_test.py enforces it, and DEPS.
# LIGHT: the speed of this code does not matter, so it is compiled with fewer optimizations.
# ALONE: files, including tests, that cannot be compiled in one unit with other files.
function(library FOLDER)
  cmake_parse_arguments(ARG "PURE;LIGHT" "" "DEPS;LINK;ALONE" ${ARGN})
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME subsystem)
  set(NAME ${subsystem}_${FOLDER})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${FOLDER}/*.cc)
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${FOLDER}/*_test.cc)
  list(FILTER sources EXCLUDE REGEX "(_test|main)\\.cc$")
  list(TRANSFORM ARG_DEPS REPLACE "/" "_")
  list(TRANSFORM ARG_ALONE PREPEND ${FOLDER}/)
  add_library(${NAME} STATIC ${sources})
  target_include_directories(${NAME} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${NAME} PUBLIC ${ARG_DEPS} ${ARG_LINK} fmt::fmt)
  set_target_properties(${NAME} PROPERTIES LINKER_LANGUAGE CXX)
  if(MUSTER_FROM_NOTHING)
    set_target_properties(${NAME} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)  # One unit.
    set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  if(ARG_LIGHT)
    target_compile_options(${NAME} PRIVATE ${MUSTER_LIGHT_FLAGS})
    if(MUSTER_FROM_NOTHING)
      target_precompile_headers(${NAME} REUSE_FROM light_headers)
      target_link_libraries(${NAME} PUBLIC light_headers)
    endif()
  elseif(MUSTER_FROM_NOTHING)
    target_precompile_headers(${NAME} REUSE_FROM core_headers)
  endif()
  if(tests)
    add_executable(${NAME}_test ${tests})
    target_include_directories(${NAME}_test PRIVATE ${CMAKE_SOURCE_DIR})  # For "tests/data.h".
    target_link_libraries(${NAME}_test PRIVATE ${NAME} GTest::gtest GTest::gtest_main)
    target_compile_options(${NAME}_test PRIVATE ${MUSTER_TEST_FLAGS})
    if(MUSTER_FROM_NOTHING)
      target_precompile_headers(${NAME}_test REUSE_FROM test_headers)
      target_link_libraries(${NAME}_test PRIVATE light_headers)
      set_target_properties(${NAME}_test PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    endif()
    add_test(NAME ${NAME}_test COMMAND ${NAME}_test)
    if(NAME MATCHES "${sanitized_folders}")
      set_tests_properties(${NAME}_test PROPERTIES LABELS sanitized)
      add_dependencies(sanitized_programs ${NAME}_test)
    endif()
  endif()
endfunction()
