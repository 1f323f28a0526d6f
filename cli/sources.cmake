# SPDX-License-Identifier: Apache-2.0
# The command, build/samebits, with the golden values inside.
set(GOLDEN ${CMAKE_CURRENT_SOURCE_DIR}/references/contract-1.tsv)
set(GOLDEN_C ${CMAKE_CURRENT_BINARY_DIR}/generated/golden.c)
add_custom_command(OUTPUT ${GOLDEN_C} DEPENDS ${GOLDEN} ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake
  COMMAND ${CMAKE_COMMAND} -DFROM=${GOLDEN} -DTO=${GOLDEN_C} -DNAME=cli_golden -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake)
set(PROOFS_C ${CMAKE_CURRENT_BINARY_DIR}/generated/proofs.c)
add_custom_command(OUTPUT ${PROOFS_C} DEPENDS docs/proofs.tsv ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake
  COMMAND ${CMAKE_COMMAND} -DFROM=${CMAKE_CURRENT_SOURCE_DIR}/docs/proofs.tsv -DTO=${PROOFS_C} -DNAME=cli_proofs
    -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake)
add_executable(samebits_command cli/main.c cli/flags.c cli/command_verify.c cli/command_compare.c cli/command_bisect.c cli/command_describe.c cli/command_doctor.c
  cli/command_digest.c cli/command_fit.c cli/command_replay.c cli/input.c cli/command_metric.c cli/demo.c cli/lm.c ${GOLDEN_C} ${PROOFS_C})
include(cmake/prove.cmake)
sbi_add_prove(samebits_command)
target_include_directories(samebits_command PRIVATE cli)
target_link_libraries(samebits_command PRIVATE samebits)
set_target_properties(samebits_command PROPERTIES OUTPUT_NAME samebits)
if(SAMEBITS_STATIC)
  target_link_options(samebits_command PRIVATE -static)
endif()
