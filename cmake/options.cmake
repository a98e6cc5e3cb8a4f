# Options of the build. By default, a project that embeds Ashlar gets the headers alone.
option(ASHLAR_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(ASHLAR_COMPILED_LIBRARY "Build ashlar::compiled, ashlar::cost and ashlar::plan, which tests, examples and benchmarks need" ${PROJECT_IS_TOP_LEVEL})
option(ASHLAR_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(ASHLAR_TOOL "Build the command-line tool" ${ASHLAR_EXAMPLES})
option(ASHLAR_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(ASHLAR_DOCS "Test the code shown in the documentation" ${PROJECT_IS_TOP_LEVEL})
option(ASHLAR_CUDA "Build the CUDA backend where the toolkit is installed" ${PROJECT_IS_TOP_LEVEL})
option(ASHLAR_MPI "Build the MPI backend where MPI is installed" ${PROJECT_IS_TOP_LEVEL})
option(ASHLAR_INSTALL "Install headers, libraries and the tool" ${PROJECT_IS_TOP_LEVEL})
option(ASHLAR_NATIVE "Tune the command-line tool for this machine's processor" ${PROJECT_IS_TOP_LEVEL})
option(ASHLAR_QUICK_BUILD "Build in the least time: optimise what computes for long, and nothing else" OFF)
option(ASHLAR_WARNINGS_AS_ERRORS "Let a warning in our own sources fail the build" OFF)
option(ASHLAR_ALL_TESTS "Add the tests that take long: packages, headers alone, studies, all random cases" OFF)
option(ASHLAR_TESTS_BY_ROOM "Build a program of unit tests for each room, without optimisation: for development" OFF)
option(ASHLAR_GPU_TESTS "Build the tests that need a GPU, with the label gpu" OFF)
option(ASHLAR_FUZZ "Build the libFuzzer programs of test/fuzz, with clang++" OFF)
set(ASHLAR_SANITIZE "" CACHE STRING "Sanitizers for tests and examples: address (with undefined), thread, or empty")
set_property(CACHE ASHLAR_SANITIZE PROPERTY STRINGS "" address thread)

include(GNUInstallDirs)
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
endif()

# An installation into the checkout would mix with its sources. This comes before all other rules.
if(ASHLAR_INSTALL)
  install(CODE "
    file(REAL_PATH \"\${CMAKE_INSTALL_PREFIX}\" prefix BASE_DIRECTORY \"${PROJECT_BINARY_DIR}\")
    if(prefix STREQUAL \"${PROJECT_SOURCE_DIR}\")
      message(FATAL_ERROR \"${PROJECT_SOURCE_DIR} is the source folder: choose another --prefix, such as \$ENV{HOME}/.local\")
    endif()" ALL_COMPONENTS)
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
# Compiles the files of a target together, in a fifth of the processor time; -DCMAKE_UNITY_BUILD=OFF compiles each alone.
if(NOT DEFINED CMAKE_UNITY_BUILD)
  set(CMAKE_UNITY_BUILD ON)
endif()
if(NOT DEFINED CMAKE_UNITY_BUILD_BATCH_SIZE)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 0)  # all of them
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_COMPILE_WARNING_AS_ERROR ${ASHLAR_WARNINGS_AS_ERRORS})

# Flags of our own tests, examples and benchmarks; a user never inherits them.
add_library(ashlar_warnings INTERFACE)
if(NOT ASHLAR_QUICK_BUILD)  # who builds the tool to use it need not see them
  target_compile_options(ashlar_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # it collects no garbage below a gigabyte: 7 % less time
  target_compile_options(ashlar_warnings INTERFACE --param=ggc-min-heapsize=1048576)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(ashlar_warnings INTERFACE -Wno-restrict)  # it warns about its own std::string (GCC bug 105651)
endif()
add_library(ashlar_strict INTERFACE)
target_link_libraries(ashlar_strict INTERFACE ashlar_warnings)
if(ASHLAR_SANITIZE)
  set(ashlar_sanitizers_address address,undefined)
  set(ashlar_sanitizers_thread thread)
  set(ashlar_sanitizers ${ashlar_sanitizers_${ASHLAR_SANITIZE}})
  if(NOT ashlar_sanitizers)
    message(FATAL_ERROR "ashlar: ASHLAR_SANITIZE is '${ASHLAR_SANITIZE}'; expected address, thread, or nothing")
  endif()
  # A program with the property ASHLAR_BRIEF takes longer to compile than to run.
  target_compile_options(
    ashlar_strict INTERFACE -fsanitize=${ashlar_sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1
                            -O$<IF:$<BOOL:$<TARGET_PROPERTY:ASHLAR_BRIEF>>,0,g>)
  target_compile_definitions(ashlar_strict INTERFACE ASHLAR_SANITIZED)
  target_link_options(ashlar_strict INTERFACE -fsanitize=${ashlar_sanitizers})
endif()

# Notes that an optional part is left out, and which library and package it needs.
function(ashlar_left_out part library package)
  set_property(GLOBAL APPEND PROPERTY ashlar_left_out "${part}: needs ${library} (Debian: ${package})")
endfunction()

# Lists the parts that are left out, once.
function(ashlar_list_left_out)
  get_property(parts GLOBAL PROPERTY ashlar_left_out)
  if(parts)
    list(JOIN parts "\n--   " lines)
    message(STATUS "Optional parts that are not built:\n--   ${lines}")
  endif()
endfunction()

# Installs a target with an export set of its own, ashlar-NAME. Further arguments go to install(TARGETS).
function(ashlar_install_target target name)
  if(ASHLAR_INSTALL)
    install(TARGETS ${target} EXPORT ashlar-${name} ${ARGN})
    install(EXPORT ashlar-${name} NAMESPACE ashlar:: DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/ashlar)
  endif()
endfunction()

# Adds a static library ashlar_NAME, alias ashlar::NAME, with the sources of ROOMS and the headers in include/; installs it.
function(ashlar_add_compiled name)
  cmake_parse_arguments(arg "" "" "ROOMS;LINK" ${ARGN})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS include/*.hpp)
  list(TRANSFORM arg_ROOMS APPEND /*.cpp OUTPUT_VARIABLE sources)
  file(GLOB sources CONFIGURE_DEPENDS ${sources})
  if(NOT TARGET ashlar::json)
    list(FILTER headers EXCLUDE REGEX "/json_[^/]*$")
    list(FILTER sources EXCLUDE REGEX "/json_[^/]*$")
  endif()
  set(target ashlar_${name})
  add_library(${target} STATIC ${sources})
  add_library(ashlar::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE TRUE ASHLAR_BRIEF TRUE)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS include FILES ${headers})
  target_link_libraries(${target} PUBLIC ${arg_LINK} PRIVATE $<BUILD_INTERFACE:ashlar_strict>)
  if(NOT ASHLAR_SANITIZE AND NOT ASHLAR_TESTS_BY_ROOM)  # searches run for long in tests
    target_compile_options(${target} PRIVATE $<$<CONFIG:Debug>:-O1>)
  endif()
  ashlar_install_target(${target} ${name} ARCHIVE FILE_SET HEADERS)
endfunction()

# Adds an interface library ashlar_NAME, alias ashlar::NAME, with headers under DIRECTORY; installs it with its own export set.
function(ashlar_add_headers name)
  cmake_parse_arguments(arg "" "DIRECTORY" "HEADERS;LINK" ${ARGN})
  set(target ashlar_${name})
  if(name STREQUAL ashlar)
    set(target ashlar)
  endif()
  add_library(${target} INTERFACE)
  add_library(ashlar::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_sources(${target} INTERFACE FILE_SET HEADERS BASE_DIRS ${arg_DIRECTORY} FILES ${arg_HEADERS})
  target_link_libraries(${target} INTERFACE ${arg_LINK})
  ashlar_install_target(${target} ${name} FILE_SET HEADERS)
endfunction()
