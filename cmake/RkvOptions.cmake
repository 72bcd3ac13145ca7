# Build-wide settings: language level, warnings, sanitizers.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# LLVM's linker takes a sixth of GNU ld's time, and there are hundreds of programs to link.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=lld RKV_HAS_LLD)
if(RKV_HAS_LLD)
  add_link_options(-fuse-ld=lld)
endif()

option(RKV_BUILD_TESTS "Build the tests" ON)
option(RKV_SIM "Build the simulator" ON)
option(RKV_BUILD_BENCHMARKS "Build bench/" OFF)
option(RKV_FUZZ "Build the soft RNIC and its fuzzers (tests/fuzz) only; clang's" OFF)
set(RKV_SANITIZE "" CACHE STRING "Sanitizers to build with: empty, 'address,undefined' or 'thread'")
set_property(CACHE RKV_SANITIZE PROPERTY STRINGS "" "address,undefined" "thread")

if(RKV_SANITIZE)
  add_compile_options(-fsanitize=${RKV_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${RKV_SANITIZE})
  # Only GCC has macros of its own for them.
  if(RKV_SANITIZE MATCHES "address")
    add_compile_definitions(RKV_ADDRESS_SANITIZER)
  elseif(RKV_SANITIZE STREQUAL "thread")
    add_compile_definitions(RKV_THREAD_SANITIZER)
  endif()
endif()
if(RKV_FUZZ)  # all code of ours tells libFuzzer where it has been
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
