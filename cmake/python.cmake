# SPDX-License-Identifier: Apache-2.0
# The Python package as a tree that can be imported, build/python/samebits: hand-written files, what tools/ make of header
# and rows, the library, the command, the golden values. A wheel (pyproject.toml) is that tree installed.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(PACKAGE ${CMAKE_CURRENT_BINARY_DIR}/python/samebits)
file(GLOB WRITTEN CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/python/samebits/*.py
  ${CMAKE_CURRENT_SOURCE_DIR}/python/samebits/py.typed)
set(MADE_FROM ${CMAKE_CURRENT_SOURCE_DIR}/include/samebits.h ${CMAKE_CURRENT_SOURCE_DIR}/src/learn/algorithms.def
  ${CMAKE_CURRENT_SOURCE_DIR}/tools/prototypes.py ${CMAKE_CURRENT_SOURCE_DIR}/tools/estimators.py
  ${CMAKE_CURRENT_SOURCE_DIR}/tools/reference.py ${CMAKE_CURRENT_SOURCE_DIR}/docs/symbols.txt)
add_custom_command(OUTPUT ${PACKAGE}/_classes.py DEPENDS ${WRITTEN} ${MADE_FROM} ${GOLDEN} VERBATIM COMMENT "The Python package"
  COMMAND ${CMAKE_COMMAND} -E make_directory ${PACKAGE}
  COMMAND ${CMAKE_COMMAND} -E copy ${WRITTEN} ${GOLDEN} ${PACKAGE}
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/tools/prototypes.py ${CMAKE_CURRENT_SOURCE_DIR}/include/samebits.h ${PACKAGE}/_prototypes.py
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/tools/estimators.py --python ${PACKAGE}
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/tools/reference.py ${CMAKE_CURRENT_BINARY_DIR}/api.md)
add_custom_target(samebits_python ALL DEPENDS ${PACKAGE}/_classes.py
  COMMAND ${CMAKE_COMMAND} -E copy_if_different $<TARGET_FILE:samebits_shared> ${PACKAGE}/libsamebits.so
  COMMAND ${CMAKE_COMMAND} -E copy_if_different $<TARGET_FILE:samebits_command> ${PACKAGE}/samebits-command)
add_dependencies(samebits_python samebits_shared samebits_command)
install(DIRECTORY ${PACKAGE} DESTINATION . COMPONENT python EXCLUDE_FROM_ALL USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/api.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
