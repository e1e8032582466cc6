# SPDX-License-Identifier: BSD-3-Clause
# Every test belongs to one tier, as tiers.txt tells. A room of tests calls tutti_test_room() first; at
# its end each test that it has added gets its tier as one more label, and its slots. A test that no row names, and a
# room that does not call, are errors while CMake runs.
set(TUTTI_TIERS quick middle long release)
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/tiers.txt TUTTI_TIER_ROWS REGEX "^[a-z]")
set_property(DIRECTORY ${CMAKE_CURRENT_LIST_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${CMAKE_CURRENT_LIST_DIR}/tiers.txt)

macro(tutti_test_room)
  cmake_language(DEFER CALL tutti_name_tiers)
  set_property(GLOBAL APPEND PROPERTY TUTTI_TEST_ROOMS ${CMAKE_CURRENT_SOURCE_DIR})
endmacro()

# Of tests NAME.nN, that whose N is 3, or the least above 1, or 1: given all names, those.
function(tutti_one_of_each result)
  set(names "")
  set(chosen "")
  foreach(number 3 2 4 5 6 7 8 16 32 1)
    foreach(test IN LISTS ARGN)
      string(REGEX REPLACE "\\.n${number}$" "" name ${test})
      if(NOT test STREQUAL name AND NOT name IN_LIST names)
        list(APPEND names ${name})
        list(APPEND chosen ${test})
      endif()
    endforeach()
  endforeach()
  set(${result} "${chosen}" PARENT_SCOPE)
endfunction()

# The tier of a test by the rows; TRUE or FALSE tells whether it is the one of its numbers of ranks.
function(tutti_tier_of test is_the_one result)
  foreach(row IN LISTS TUTTI_TIER_ROWS)
    string(REGEX MATCH "^([a-z]+) +(.+)$" row "${row}")
    set(tier ${CMAKE_MATCH_1})
    if(NOT test MATCHES "${CMAKE_MATCH_2}" OR (tier STREQUAL "one" AND NOT is_the_one))
      continue()
    endif()
    if(tier STREQUAL "thread")
      if(NOT TUTTI_SANITIZE STREQUAL "thread")
        continue()
      endif()
      set(tier long)
    endif()
    string(REGEX REPLACE "^one$" "quick" tier ${tier})
    if(NOT tier IN_LIST TUTTI_TIERS)
      message(FATAL_ERROR "tests/tiers.txt: '${tier}' is no tier; it may be one of ${TUTTI_TIERS}, one or thread")
    endif()
    set(${result} ${tier} PARENT_SCOPE)
    return()
  endforeach()
  message(FATAL_ERROR "tests/tiers.txt has no row for the test ${test}: in which tier shall it run?")
endfunction()

# ./dev gives ctest two slots for each core. A test that says nothing takes one of them, for it waits for most of its
# time; PROCESSORS 1 is a core; PROCESSORS 2, that of ranks that poll, is two but for a slot, which something that waits
# may have beside them, as the nodes of tests/cluster do. Beside what is judged by time runs nothing, and its label is
# clock: tests/run.sh may try it twice.
set(TUTTI_JUDGED_BY_TIME "^(bench\\.|program\\.(progress\\.|comm\\.threads\\.|p2p\\.(short_path|many)\\.)|launcher\\.(idle_job|crash_whose_place_is_found_slowly)_by_library$|cluster\\.(chain\\.)?(idle|progress)$|fortran\\.(call_cost|compile_time)|docs\\.seeing$|profile\\.cost$)")
function(tutti_claim_slots test)
  get_property(processors TEST ${test} PROPERTY PROCESSORS)
  if(test MATCHES "${TUTTI_JUDGED_BY_TIME}")
    set_property(TEST ${test} PROPERTY RUN_SERIAL TRUE)
    set_property(TEST ${test} APPEND PROPERTY LABELS clock)
  elseif(processors EQUAL 1)
    set_property(TEST ${test} PROPERTY PROCESSORS 2)
  elseif(processors EQUAL 2)
    set_property(TEST ${test} PROPERTY PROCESSORS 3)
  endif()
endfunction()

function(tutti_name_tiers)
  get_property(tests DIRECTORY PROPERTY TESTS)
  tutti_one_of_each(chosen ${tests})
  foreach(test IN LISTS tests)
    tutti_claim_slots(${test})
    get_property(labels TEST ${test} PROPERTY LABELS)
    set(tier "")
    foreach(name IN LISTS TUTTI_TIERS)
      if(name IN_LIST labels)
        set(tier ${name})
      endif()
    endforeach()
    if(NOT tier)
      set(is_the_one FALSE)
      if(test IN_LIST chosen)
        set(is_the_one TRUE)
      endif()
      tutti_tier_of(${test} ${is_the_one} tier)
      set_property(TEST ${test} APPEND PROPERTY LABELS ${tier})
    endif()
  endforeach()
endfunction()

# GoogleTest's own discovery, at the time of testing, when no tier can be looked up any more; and it
# takes one label where there are several.
macro(tutti_discover_tests target prefix labels)
  include(GoogleTest)
  gtest_discover_tests(${target} TEST_PREFIX ${prefix}. TEST_LIST ${target}_discovered
                       PROPERTIES TIMEOUT 120)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${target}_labels.cmake
       "if(${target}_discovered)\n  set_tests_properties(\${${target}_discovered} PROPERTIES LABELS \"${labels}\")\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/${target}_labels.cmake)
endmacro()
