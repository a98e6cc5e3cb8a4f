# find_package(ashlar [COMPONENTS views json host mpi cuda]) and pkg-config for what install() puts down.
include(CMakePackageConfigHelpers)

configure_file(${PROJECT_SOURCE_DIR}/cmake/ashlar-config.cmake.in ${PROJECT_BINARY_DIR}/ashlar-config.cmake @ONLY)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/ashlar-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/ashlar-config.cmake ${PROJECT_BINARY_DIR}/ashlar-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/ashlar)

configure_file(${PROJECT_SOURCE_DIR}/cmake/ashlar.pc.in ${PROJECT_BINARY_DIR}/ashlar.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ashlar.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
