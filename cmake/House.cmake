# The rules of the house, said once: the language, the warnings, and house_library(), which makes one
# folder of src/ one target with its allowed dependencies.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set_property(GLOBAL PROPERTY USE_FOLDERS ON)

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-restrict)  # GCC bug 105651: false alarms on "literal" + std::string.
endif()
# Results must not depend on the compiler: no fused multiply-add, no re-association.
add_compile_options(-ffp-contract=off)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_compile_options(-march=x86-64-v2)  # Counts bits in one instruction; every CPU since 2009.
endif()

find_package(fmt REQUIRED)
find_package(GTest REQUIRED)
find_package(Threads REQUIRED)

# Sanitized tests take half the time to compile this way, and what they test is compiled as it was.
set(MUSTER_TEST_FLAGS "" CACHE STRING "more flags for the files of unit tests and light folders")

# Builds from nothing spend most of their time in the headers of others. With this a folder's files
# are compiled eight at a time, and tests share one reading of GoogleTest's headers: half the time
# and less. A build that one works in is better without, since it compiles what changed alone.
option(MUSTER_FROM_NOTHING "compile folders, not files: quick from nothing, slow after a change" OFF)

if(MUSTER_FROM_NOTHING)
  file(WRITE ${CMAKE_BINARY_DIR}/test_headers.cc "")
  add_library(test_headers STATIC EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/test_headers.cc)
  target_link_libraries(test_headers PRIVATE GTest::gtest fmt::fmt Threads::Threads)
  target_compile_options(test_headers PRIVATE ${MUSTER_TEST_FLAGS})
  target_precompile_headers(test_headers PRIVATE <gtest/gtest.h> <fmt/format.h>)
endif()

# house_library(NAME [LIGHT] DEPS other... LINK libraries... ALONE files...)
# LIGHT: a folder in which no test spends its time, and which sanitized builds need not optimize.
# ALONE: files, tests too, whose private names others of the folder have too, so never compiled with
# them.
# All .cc files of the folder but tests become the library; all *_test.cc become one test program.
# DEPS are the other folders this one may include; tests/house_test.py holds the includes to it.
function(house_library NAME)
  cmake_parse_arguments(HOUSE "LIGHT" "" "DEPS;LINK;ALONE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  list(FILTER sources EXCLUDE REGEX "(_test|main)\\.cc$")
  add_library(${NAME} STATIC ${sources})
  target_include_directories(${NAME} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${NAME} PUBLIC ${HOUSE_DEPS} ${HOUSE_LINK} fmt::fmt)
  set_target_properties(${NAME} PROPERTIES LINKER_LANGUAGE CXX)
  if(MUSTER_FROM_NOTHING)
    set_target_properties(${NAME} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    set_source_files_properties(${HOUSE_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  if(HOUSE_LIGHT)
    target_compile_options(${NAME} PRIVATE ${MUSTER_TEST_FLAGS})
  endif()
  if(tests)
    add_executable(${NAME}_test ${tests})
    target_link_libraries(${NAME}_test PRIVATE ${NAME} GTest::gtest GTest::gtest_main)
    target_compile_options(${NAME}_test PRIVATE ${MUSTER_TEST_FLAGS})
    if(MUSTER_FROM_NOTHING)
      target_precompile_headers(${NAME}_test REUSE_FROM test_headers)
      set_target_properties(${NAME}_test PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    endif()
    add_test(NAME ${NAME} COMMAND ${NAME}_test)
  endif()
endfunction()
