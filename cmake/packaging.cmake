# Files for find_package(ashlar [COMPONENTS views json host mpi cuda]) and pkg-config.
include(CMakePackageConfigHelpers)

configure_file(${PROJECT_SOURCE_DIR}/cmake/ashlar-config.cmake.in ${PROJECT_BINARY_DIR}/ashlar-config.cmake @ONLY)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/ashlar-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/ashlar-config.cmake ${PROJECT_BINARY_DIR}/ashlar-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/ashlar)

configure_file(${PROJECT_SOURCE_DIR}/cmake/ashlar.pc.in ${PROJECT_BINARY_DIR}/ashlar.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ashlar.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
set(notices ${CMAKE_INSTALL_DATADIR}/doc/libashlar-dev)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${notices} RENAME copyright)
if(TARGET ashlar_compiled AND TARGET ashlar::json)  # the compiled libraries have its code
  install(FILES /usr/share/doc/nlohmann-json3-dev/copyright DESTINATION ${notices} RENAME copyright.nlohmann-json3-dev OPTIONAL)
endif()

# Packages: `cpack -G DEB` and `cpack -G TGZ` in a release build. One has the tool, one the headers and libraries.
if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_PACKAGE_VENDOR "The Ashlar authors")
  set(CPACK_PACKAGE_CONTACT "${ASHLAR_MAINTAINER}")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Pipeline schedules as values: an algebra, proofs, bounds, searches and predictions")
  set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_COMPONENTS_ALL tool development)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_TOOL_PACKAGE_NAME ashlar)
  set(CPACK_DEBIAN_TOOL_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libashlar-dev)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "nlohmann-json3-dev, librange-v3-dev, libopenmpi-dev")
  set(CPACK_ASHLAR_NATIVE ${ASHLAR_NATIVE})
  set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/portable.cmake)
  include(CPack)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake.in ${PROJECT_BINARY_DIR}/uninstall.cmake @ONLY)
  add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -P ${PROJECT_BINARY_DIR}/uninstall.cmake)
endif()
