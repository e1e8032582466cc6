# SPDX-License-Identifier: BSD-3-Clause
# How tests of single layers, and the headers that many tests read, are compiled.

# tutti_precompile(SET HEADERS … [LIBRARIES …]): headers that are read once for all programs that
# tutti_read_precompiled(PROGRAM SET) names. Only for tests: that they ask for what they use of the standard library,
# unit.includes holds, and that our headers need no others before them shows where library and launcher are compiled.
function(tutti_precompile set)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;LIBRARIES")
  file(CONFIGURE OUTPUT ${set}.cpp CONTENT "")
  add_library(${set} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${set}.cpp)
  set_target_properties(${set} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${set} PRIVATE -fPIE)  # as programs are compiled
  target_include_directories(${set} PRIVATE ${CMAKE_BINARY_DIR}/include)
  target_link_libraries(${set} PRIVATE ${arg_LIBRARIES})
  add_dependencies(${set} mpi_header)
  target_precompile_headers(${set} PRIVATE ${arg_HEADERS})
  tutti_tell_ccache(${set})
endfunction()
function(tutti_read_precompiled program set)
  target_precompile_headers(${program} REUSE_FROM ${set})
  tutti_tell_ccache(${program})
endfunction()
function(tutti_tell_ccache target)
  if(TUTTI_CCACHE_PRECOMPILED)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${TUTTI_CCACHE_PRECOMPILED}")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
  endif()
endfunction()

# tutti_unit_program(PROGRAM LIBRARY SOURCE…). The library that it looks at is compiled as users have it; the test itself is
# not worth the third of the time that -O2 takes more, beside its precompiled headers.
function(tutti_unit_program program library)
  add_executable(${program} ${ARGN})
  target_compile_options(${program} PRIVATE -O1)
  target_link_libraries(${program} PRIVATE ${library} GTest::gtest_main)
  tutti_read_precompiled(${program} unit_headers)
endfunction()

# tutti_unit_test(TEST LIBRARY SOURCE… [THREADS] [TIMEOUT seconds] [LABELS …] [ENVIRONMENT …])
# A test of single layers by GoogleTest, whose program is named like it: exec.store is exec_store_test's. THREADS: it has
# threads, or what it looks at has. ThreadSanitizer has nothing to find in the others, which its tree leaves out.
function(tutti_unit_test test library)
  cmake_parse_arguments(PARSE_ARGV 2 arg "THREADS" "TIMEOUT" "LABELS;ENVIRONMENT")
  if(TUTTI_SANITIZE STREQUAL "thread" AND NOT arg_THREADS)
    return()
  endif()
  string(REGEX REPLACE "^unit\\." "" program ${test})
  string(REPLACE . _ program ${program}_test)
  tutti_unit_program(${program} ${library} ${arg_UNPARSED_ARGUMENTS})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  # UCX's hooks into mmap call into a sanitizer after a thread's end.
  list(APPEND arg_ENVIRONMENT UCX_MEM_MMAP_HOOK_MODE=none)
  add_test(NAME ${test} COMMAND ${program})
  set_tests_properties(${test} PROPERTIES LABELS "unit;${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} PROCESSORS 1
                       ENVIRONMENT "${arg_ENVIRONMENT}")
endfunction()
