# rkv_library(NAME [COLD|HOT] SOURCES... [LIBS...]), rkv_test(NAME [THREADED] [SOURCES...] [LIBS...]) and
# rkv_test_objects(NAME SOURCES... [LIBS...]): every target of ours is built with the same warnings, as errors.
# rkv_embed_text(VARIABLE FILE FUNCTION): a file compiled in.
# Presets compile the files of a target together (CMAKE_UNITY_BUILD), since parsing headers is most of what they cost: no
# two of them may have a name of their own in common.
function(rkv_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
    $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>)  # which clang's -Wconversion has in it, GCC's has not
endfunction()

# GCC 12 sees overlaps and overruns in std::string that aren't there (its bug 105651). It keeps quiet about them in
# system headers, but not once these are precompiled.
set(rkv_precompiled_options
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>")

# What is compiled more often than it costs time when it runs: tests, and COLD libraries, which take no part in what is
# measured. (With -O1 GCC 12 takes members of aggregates for uninitialised.)
set(rkv_cold_options $<$<CONFIG:Release>:-O1> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)

# What runs longer in sanitizers' tests than it saves to compile it without effort: HOT libraries, which are on the path of
# data or simulate it.
set(rkv_hot_options "")
if(RKV_SANITIZE)
  set(rkv_hot_options -O1)
endif()

# A static library whose headers are included as "core/store/store.hpp", from the top of the tree.
function(rkv_library name)
  cmake_parse_arguments(ARG "COLD;HOT" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_LIBS})
  rkv_warnings(${name})
  if(ARG_COLD)
    target_compile_options(${name} PRIVATE ${rkv_cold_options})
  elseif(ARG_HOT)
    target_compile_options(${name} PRIVATE ${rkv_hot_options})
  endif()
  # Parsing its header is most of what a small file costs. (It is precompiled without rkv_hot_options.)
  if("nlohmann_json::nlohmann_json" IN_LIST ARG_LIBS AND NOT ARG_HOT)
    target_precompile_headers(${name} REUSE_FROM rkv_json_headers)
    target_compile_options(${name} PRIVATE ${rkv_precompiled_options})
  endif()
endfunction()

# A file compiled in, so that a program needs it no more: VARIABLE becomes the name of a source file that defines
# std::string_view rkv::FUNCTION(), the file's text.
function(rkv_embed_text variable file function)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} RKV_TEXT HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," RKV_TEXT "${RKV_TEXT}")
  file(RELATIVE_PATH RKV_FILE ${PROJECT_SOURCE_DIR} ${file})
  set(RKV_FUNCTION ${function})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/embedded_text.cpp.in ${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp @ONLY)
  set(${variable} ${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp PARENT_SCOPE)
endfunction()

# How tests are compiled. Catch2's header is precompiled, once for all of them.
function(rkv_compile_as_test target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  rkv_warnings(${target})
  target_precompile_headers(${target} REUSE_FROM rkv_test_headers)
  target_compile_options(${target} PRIVATE ${rkv_precompiled_options} ${rkv_cold_options})
endfunction()

# Tests, or what they stand on, that several programs have in common: rkv_test's LIBS takes them. (Precompiled for a
# program, the header serves what is compiled like a program's own files.)
function(rkv_test_objects name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} OBJECT ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC Catch2::Catch2 ${ARG_LIBS})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIE)
  rkv_compile_as_test(${name})
endfunction()

# A Catch2 program, one test of ctest's: to begin it anew for each of its test cases would take longer than most of them.
# `PROGRAM "a test case"` runs one.
# THREADED: several threads run in it; ThreadSanitizer's build holds only such programs. PROPERTIES: of ctest's test; COST,
# where it takes some half a minute, has it begun before others.
function(rkv_test name)
  cmake_parse_arguments(ARG "THREADED" "" "SOURCES;LIBS;PROPERTIES" ${ARGN})
  if(RKV_SANITIZE STREQUAL "thread" AND NOT ARG_THREADED)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE rkv_test_main ${ARG_LIBS})
  rkv_compile_as_test(${name})
  add_test(NAME ${name} COMMAND ${name} --durations yes)
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 ${ARG_PROPERTIES})
endfunction()
