# SPDX-License-Identifier: Apache-2.0
# The tools, and the checks of the house that run as tests.
if(NOT CMAKE_CROSSCOMPILING)
  find_program(CLANG clang)
  if(CLANG)
    add_test(NAME languages COMMAND ${CMAKE_SOURCE_DIR}/tools/languages.sh ${CMAKE_SOURCE_DIR})
  endif()
endif()
