# SPDX-License-Identifier: Apache-2.0
# sbi_add_prove(TARGET): the subcommand `prove` with its recorded values embedded, and MPFR where it is found.
find_library(MPFR_LIBRARY mpfr)
find_library(GMP_LIBRARY gmp)
find_path(MPFR_INCLUDE mpfr.h)

# sbi_embed(OUT SYMBOL FILE): a C file that defines `const char SYMBOL[]`, the text of FILE.
function(sbi_embed out symbol file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n    " bytes "${bytes}")
  file(CONFIGURE OUTPUT ${out} CONTENT
    "extern const char ${symbol}[];\nconst char ${symbol}[] = {\n    ${bytes}0x00};\n")
endfunction()

function(sbi_add_prove target)
  set(embedded ${CMAKE_CURRENT_BINARY_DIR}/embedded)
  sbi_embed(${embedded}/functions.c sbi_text_functions ${CMAKE_CURRENT_SOURCE_DIR}/references/functions-1.tsv)
  sbi_embed(${embedded}/hard_cases.c sbi_text_hard_cases ${CMAKE_CURRENT_SOURCE_DIR}/references/hard-cases.tsv)
  target_sources(${target} PRIVATE cli/prove.c cli/prove_judge.c ${embedded}/functions.c ${embedded}/hard_cases.c)
  target_include_directories(${target} PRIVATE cli src/base)
  target_link_libraries(${target} PRIVATE m)
  if(MPFR_LIBRARY AND GMP_LIBRARY AND MPFR_INCLUDE AND NOT CMAKE_CROSSCOMPILING)
    set_property(SOURCE cli/prove_judge.c APPEND PROPERTY COMPILE_DEFINITIONS SBI_HAVE_MPFR)
    target_include_directories(${target} PRIVATE ${MPFR_INCLUDE})
    target_link_libraries(${target} PRIVATE ${MPFR_LIBRARY} ${GMP_LIBRARY})
  endif()
endfunction()
