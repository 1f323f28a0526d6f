# SPDX-License-Identifier: Apache-2.0
target_sources(samebits_objects PRIVATE src/api/api_context.c src/api/api_array.c src/api/api_ops.c src/api/api_linalg.c src/api/api_proof.c
  src/api/api_lm.c src/api/api_learn.c src/api/api_options.c)
set(SAMEBITS_COMMIT "" CACHE STRING "the commit to report (empty: ask git at every build)")
add_custom_target(samebits_commit BYPRODUCTS ${CMAKE_CURRENT_BINARY_DIR}/generated/samebits_commit.h
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_CURRENT_SOURCE_DIR} "-DGIVEN=${SAMEBITS_COMMIT}"
    -DOUT=${CMAKE_CURRENT_BINARY_DIR}/generated/samebits_commit.h
    -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/commit.cmake)
# A target of its own, so that the other sources never wait for git.
add_library(samebits_version OBJECT src/api/api_version.c)
target_include_directories(samebits_version PRIVATE include ${CMAKE_CURRENT_BINARY_DIR}/generated)
add_dependencies(samebits_version samebits_commit)
foreach(library IN LISTS LIBRARIES)
  target_sources(${library} PRIVATE $<TARGET_OBJECTS:samebits_version>)
endforeach()
