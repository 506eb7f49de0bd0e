# SPDX-License-Identifier: Apache-2.0
# What find_package(Leat) and pkg-config find in an installed tree. Paths in it are relative: the tree may be moved.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Leat)

install(EXPORT LeatTargets NAMESPACE Leat:: DESTINATION ${package_folder})
configure_package_config_file(cmake/LeatConfig.cmake.in ${PROJECT_BINARY_DIR}/LeatConfig.cmake
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/LeatConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/LeatConfig.cmake ${PROJECT_BINARY_DIR}/LeatConfigVersion.cmake
        DESTINATION ${package_folder})

file(RELATIVE_PATH LEAT_LIBDIR_TO_PREFIX /${CMAKE_INSTALL_LIBDIR} /)
foreach(name leat leat_module)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
install(FILES xml-schemas/leat.xsd DESTINATION ${CMAKE_INSTALL_DATADIR}/leat)

# The pages with the examples and sources that they lead to.
set(doc_folder ${CMAKE_INSTALL_DATADIR}/doc/leat)
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md DESTINATION ${doc_folder})
install(DIRECTORY docs examples DESTINATION ${doc_folder} PATTERN __pycache__ EXCLUDE)
install(FILES server/plugins/trace/trace.cpp DESTINATION ${doc_folder}/server/plugins/trace)
install(FILES server/plugins/analytics/statistics.cpp DESTINATION ${doc_folder}/server/plugins/analytics)

# After all that is installed before: `cmake --install build --component debug` then installs the debug information.
if(LEAT_STRIP AND CMAKE_STRIP AND CMAKE_OBJCOPY)
  install(CODE "set(LEAT_BUILD \"${PROJECT_BINARY_DIR}\")
set(LEAT_STRIP_PROGRAM \"${CMAKE_STRIP}\")
set(LEAT_OBJCOPY \"${CMAKE_OBJCOPY}\")")
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/debug)
  install(SCRIPT cmake/strip_installed.cmake)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/debug/ DESTINATION . COMPONENT debug EXCLUDE_FROM_ALL)
endif()
