# An overlay port of the checkout around it: vcpkg install ashlar --overlay-ports=CHECKOUT/cmake/recipes/vcpkg
cmake_path(SET source NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../../../..")
set(libraries OFF)
if(compiled IN_LIST FEATURES)
  set(libraries ON)
else()
  set(VCPKG_BUILD_TYPE release)  # headers: there is nothing to debug
endif()
set(without)
foreach(feature IN ITEMS json:nlohmann_json views:range-v3)
  string(REGEX MATCH "^(.*):(.*)$" ignored ${feature})
  if(NOT CMAKE_MATCH_1 IN_LIST FEATURES)
    list(APPEND without -DCMAKE_DISABLE_FIND_PACKAGE_${CMAKE_MATCH_2}=ON)
  endif()
endforeach()

vcpkg_cmake_configure(
  SOURCE_PATH "${source}"
  OPTIONS -DASHLAR_TESTS=OFF -DASHLAR_EXAMPLES=OFF -DASHLAR_DOCS=OFF -DASHLAR_BENCH=OFF -DASHLAR_MPI=OFF -DASHLAR_CUDA=OFF
          -DASHLAR_COMPILED_LIBRARY=${libraries} ${without})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/ashlar)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${source}/LICENSE")
