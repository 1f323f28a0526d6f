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
  OUTPUT_VARIABLE rows OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" rows "${rows}")
set(stubs)
foreach(row IN LISTS rows)
  string(REPLACE "\t" ";" row "${row}")
  list(POP_FRONT row name)
  list(TRANSFORM row REPLACE "(.*)\\.cl" "${SABOTAGE_DIR}/${name}/\\1.c")
  add_custom_command(OUTPUT ${row} VERBATIM
    COMMAND ${Python3_EXECUTABLE} ${SABOTAGE_PY} row ${SABOTAGE_DEF} ${name} ${SBI_KERNEL_DIR} ${SABOTAGE_DIR}
    DEPENDS ${SABOTAGE_DEF} ${SABOTAGE_PY} ${texts} COMMENT "Sabotage ${name}")
  list(APPEND stubs ${row})
endforeach()
add_custom_command(OUTPUT ${SABOTAGE_DIR}/sabotage_rows.c VERBATIM
  COMMAND ${Python3_EXECUTABLE} ${SABOTAGE_PY} table ${SABOTAGE_DEF} ${SBI_KERNEL_DIR} ${SABOTAGE_DIR}
  DEPENDS ${SABOTAGE_DEF} ${SABOTAGE_PY} COMMENT "The table of sabotages")

add_library(sabotage OBJECT ${stubs} ${SABOTAGE_DIR}/sabotage_rows.c)
target_include_directories(sabotage PRIVATE ${SABOTAGE_DIR} ${SBI_KERNEL_DIR} test)
target_compile_options(sabotage PRIVATE -O1 -fno-tree-vectorize -Wno-error -w)
