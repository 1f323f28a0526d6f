# SPDX-License-Identifier: Apache-2.0
# cmake --install (make install): the command, both libraries, the header, the manual page, and how others find them:
# pkg-config (samebits.pc) and find_package(samebits), which gives samebits::samebits and samebits::static.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(SAMEBITS_PACKAGE ${CMAKE_INSTALL_LIBDIR}/cmake/samebits)
set_target_properties(samebits_static PROPERTIES EXPORT_NAME static)
install(TARGETS samebits_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS samebits_static EXPORT samebits ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET samebits_shared)
  set_target_properties(samebits_shared PROPERTIES EXPORT_NAME samebits)
  install(TARGETS samebits_shared EXPORT samebits LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
install(FILES include/samebits.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES man/samebits.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES LICENSE README.md docs/contract.md docs/verify.md docs/evidence.md docs/replay.md docs/trace.md docs/lm.md
  docs/functions.md docs/estimators.md docs/metrics.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/estimators DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(EXPORT samebits NAMESPACE samebits:: FILE samebits-targets.cmake DESTINATION ${SAMEBITS_PACKAGE})
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/samebits-config.cmake @ONLY CONTENT
"# SPDX-License-Identifier: Apache-2.0
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(\${CMAKE_CURRENT_LIST_DIR}/samebits-targets.cmake)
")
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/generated/samebits-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/generated/samebits-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/generated/samebits-config-version.cmake DESTINATION ${SAMEBITS_PACKAGE})
# Paths in the .pc file start at its own folder, so that a staged or moved tree is found where it is.
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/samebits.pc @ONLY CONTENT
"prefix=\${pcfiledir}/${up}
libdir=\${prefix}/@CMAKE_INSTALL_LIBDIR@
includedir=\${prefix}/@CMAKE_INSTALL_INCLUDEDIR@

Name: samebits
Description: machine learning with the same bits everywhere
Version: @PROJECT_VERSION@
Libs: -L\${libdir} -lsamebits
Libs.private: -pthread
Cflags: -I\${includedir}
")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/generated/samebits.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
