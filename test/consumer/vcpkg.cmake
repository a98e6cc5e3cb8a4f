# Builds vcpkg's port without vcpkg: this script defines simple forms of what the port calls, and a consumer finds the result.
# SOURCE, WORK, COMPILER, GENERATOR
cmake_minimum_required(VERSION 3.25)
set(CURRENT_PACKAGES_DIR ${WORK}/vcpkg)
set(build ${WORK}/vcpkg-build)
file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR} ${build})
set(FEATURES core json views compiled)

function(step)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed (${status}): ${ARGN}\n${output}")
  endif()
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  step(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${build} -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_BUILD_TYPE=Release
       -D CMAKE_CXX_FLAGS_RELEASE=-O0 --install-prefix ${CURRENT_PACKAGES_DIR} ${arg_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  step(${CMAKE_COMMAND} --build ${build} --target install)
endfunction()

# Moves the files to share/PORT, where the prefix is two folders up.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
  file(RENAME ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH} ${CURRENT_PACKAGES_DIR}/share/ashlar)
  file(GLOB files ${CURRENT_PACKAGES_DIR}/share/ashlar/*.cmake)
  set(up "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
  foreach(file IN LISTS files)
    file(READ ${file} text)
    string(REPLACE "${up}${up}${up}" "${up}${up}" text "${text}")
    file(WRITE ${file} "${text}")
  endforeach()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(COPY_FILE ${arg_FILE_LIST} ${CURRENT_PACKAGES_DIR}/share/ashlar/copyright)
endfunction()

set(port ${SOURCE}/cmake/recipes/vcpkg/ashlar)
include(${port}/portfile.cmake)

# The port has the version of the headers, and the parts of its features.
file(READ ${port}/vcpkg.json manifest)
string(JSON version GET "${manifest}" version)
file(STRINGS ${SOURCE}/include/ashlar/core/version.hpp text REGEX "version\\[\\] = ")
if(NOT text MATCHES "\"${version}\"")
  message(FATAL_ERROR "vcpkg.json has version ${version}, the headers have ${text}")
endif()
foreach(part IN ITEMS json views host compiled cost plan)
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/share/ashlar/ashlar-${part}.cmake)
    message(FATAL_ERROR "the port lacks ashlar::${part}")
  endif()
endforeach()
step(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/project -B ${build}/consumer -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${COMPILER}
     -D WAY=find_package -D LIBRARIES=ON -D ashlar_ROOT=${CURRENT_PACKAGES_DIR})
step(${CMAKE_COMMAND} --build ${build}/consumer)
step(${build}/consumer/consumer)
file(STRINGS ${build}/consumer/CMakeCache.txt found REGEX "^ashlar_DIR")
if(NOT found MATCHES "${CURRENT_PACKAGES_DIR}/share/ashlar")
  message(FATAL_ERROR "the consumer found ${found}")
endif()
