# SPDX-License-Identifier: Apache-2.0
# The rows of test/sabotage.def as objects: every row's kernel text with its one line changed, compiled once, as level
# plain is but with -O1. test_sabotage.c runs them; they are in no library.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(SABOTAGE_DEF ${CMAKE_CURRENT_SOURCE_DIR}/test/sabotage.def)
set(SABOTAGE_PY ${CMAKE_CURRENT_SOURCE_DIR}/tools/sabotage.py)
set(SABOTAGE_DIR ${CMAKE_CURRENT_BINARY_DIR}/sabotage)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${SABOTAGE_DEF} ${SABOTAGE_PY})
file(GLOB texts CONFIGURE_DEPENDS ${SBI_KERNEL_DIR}/*.cl ${SBI_KERNEL_DIR}/*.h)

execute_process(COMMAND ${Python3_EXECUTABLE} ${SABOTAGE_PY} list ${SABOTAGE_DEF} ${SBI_KERNEL_DIR}
  OUTPUT_VARIABLE files OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" files "${files}")
list(TRANSFORM files PREPEND ${SABOTAGE_DIR}/)
set(stubs ${files})
list(FILTER stubs INCLUDE REGEX "\\.c$")
list(FILTER files EXCLUDE REGEX "\\.c$")
add_custom_command(OUTPUT ${stubs} BYPRODUCTS ${files} VERBATIM COMMENT "The texts of the sabotages"
  COMMAND ${Python3_EXECUTABLE} ${SABOTAGE_PY} write ${SABOTAGE_DEF} ${SBI_KERNEL_DIR} ${SABOTAGE_DIR}
  DEPENDS ${SABOTAGE_DEF} ${SABOTAGE_PY} ${texts})
add_library(sabotage OBJECT ${stubs})
target_include_directories(sabotage PRIVATE ${SABOTAGE_DIR} ${SBI_KERNEL_DIR} test)
target_compile_options(sabotage PRIVATE -O1 -fno-tree-vectorize -Wno-error -w)
