# Install rules and the package files behind find_package(nxpp).
include(CMakePackageConfigHelpers)
install(TARGETS nxpp EXPORT nxppTargets FILE_SET HEADERS
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT nxppTargets NAMESPACE nxpp:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/nxpp)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/nxppConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/nxppConfig.cmake" INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/nxpp)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/nxppConfigVersion.cmake"
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/nxppConfig.cmake" "${PROJECT_BINARY_DIR}/nxppConfigVersion.cmake"
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/nxpp)
