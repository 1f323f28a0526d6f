# SPDX-License-Identifier: Apache-2.0
# Refuses a compiler or a set of flags under which the contract's arithmetic does not hold, by running canary.c
# with the flags of the library (through the emulator in a cross build).
if("${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_RELEASE}" MATCHES
   "-ffast-math|-Ofast|-funsafe-math-optimizations|-ffp-contract=(fast|on)|-fassociative-math|-freciprocal-math|-mdaz-ftz")
  message(FATAL_ERROR "samebits refuses the flag ${CMAKE_MATCH_0}: it moves bits")
endif()
if(NOT CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  message(FATAL_ERROR "samebits is built with gcc or clang; found ${CMAKE_C_COMPILER_ID}")
endif()

get_directory_property(canary_flags COMPILE_OPTIONS)
list(FILTER canary_flags INCLUDE REGEX "^-f(fp-contract|no-math-errno|no-trapping-math|excess-precision)")
list(APPEND canary_flags -std=c17)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND NOT CMAKE_CROSSCOMPILING)
  set(canary_levels "-march=x86-64" "-march=x86-64-v3")
else()
  set(canary_levels "-DSBI_BASE_LEVEL")
endif()
foreach(level IN LISTS canary_levels)
  string(MAKE_C_IDENTIFIER "SBI_CANARY_${level}_${CMAKE_BUILD_TYPE}" result)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  separate_arguments(optimisation UNIX_COMMAND "${CMAKE_C_FLAGS_${type}}")
  try_run(${result} ${result}_BUILT ${CMAKE_BINARY_DIR}/canary ${CMAKE_SOURCE_DIR}/cmake/canary.c
    COMPILE_DEFINITIONS ${optimisation} ${level} ${canary_flags}
    COMPILE_OUTPUT_VARIABLE canary_log RUN_OUTPUT_VARIABLE canary_says)
  if(NOT ${result}_BUILT)
    message(FATAL_ERROR "the canary does not compile with ${level}:\n${canary_log}")
  endif()
  # 132: the machine that builds cannot run the level (SIGILL); its own run-time check decides there.
  if(NOT "${${result}}" MATCHES "^(0|132|FAILED_TO_RUN)$")
    unset(${result} CACHE)
    message(FATAL_ERROR "samebits refuses this compiler and flags (${level}): ${canary_says}")
  endif()
endforeach()
