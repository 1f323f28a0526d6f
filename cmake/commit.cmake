# SPDX-License-Identifier: Apache-2.0
# Run at every build (cmake -P): writes OUT, a header with the commit of SOURCE, and touches it only when it changed.
# "unknown" without git, or where SOURCE is not the top of its repository; "-modified" where tracked files differ.
set(commit unknown)
if(GIVEN)
  set(commit "${GIVEN}")
else()
  find_program(GIT git)
  if(GIT)
    execute_process(COMMAND ${GIT} rev-parse --show-toplevel WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE top
      RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    file(REAL_PATH ${SOURCE} here)
    if(NOT failed AND top STREQUAL here)
      execute_process(COMMAND ${GIT} rev-parse HEAD WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE head
        RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      execute_process(COMMAND ${GIT} status --porcelain --untracked-files=no WORKING_DIRECTORY ${SOURCE}
        OUTPUT_VARIABLE changes ERROR_QUIET)
      if(NOT failed)
        set(commit ${head})
        if(NOT changes STREQUAL "")
          string(APPEND commit "-modified")
        endif()
      endif()
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define SBI_COMMIT \"${commit}\"\n")
