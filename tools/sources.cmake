# SPDX-License-Identifier: Apache-2.0
# The tools, and the checks of the house that run as tests.
find_program(CLANG clang REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_executable(golden tools/golden.c)
foreach(room IN LISTS ROOMS)
  target_include_directories(golden PRIVATE src/${room})
endforeach()
target_link_libraries(golden PRIVATE reference)
add_test(NAME golden COMMAND golden ${CMAKE_SOURCE_DIR}/references/contract-1.tsv --check)
add_test(NAME languages COMMAND ${CMAKE_SOURCE_DIR}/tools/languages.sh ${CMAKE_SOURCE_DIR})
add_test(NAME rooms COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tools/rooms.py)
add_test(NAME rooms_sabotaged COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/test/test_rooms.py)
if(NOT SAMEBITS_STATIC)
  add_test(NAME symbols COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tools/rooms.py --symbols ${CMAKE_BINARY_DIR}
    --nm ${CMAKE_NM})
endif()
