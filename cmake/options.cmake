# What to build.  A project that embeds Ashlar gets the headers and nothing else unless it asks.
option(ASHLAR_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(ASHLAR_EXAMPLES "Build the examples and the command-line tool" ${PROJECT_IS_TOP_LEVEL})
option(ASHLAR_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(ASHLAR_DOCS "Test the code shown in the documentation" ${PROJECT_IS_TOP_LEVEL})
option(ASHLAR_CUDA "Build the CUDA backend where the toolkit is installed" ${PROJECT_IS_TOP_LEVEL})
option(ASHLAR_MPI "Build the MPI backend where MPI is installed" ${PROJECT_IS_TOP_LEVEL})
option(ASHLAR_NATIVE "Tune the command-line tool for this machine's processor" ${PROJECT_IS_TOP_LEVEL})
option(ASHLAR_WARNINGS_AS_ERRORS "Let a warning in our own sources fail the build" ${PROJECT_IS_TOP_LEVEL})
option(ASHLAR_GPU_TESTS "Build the tests that need a GPU, with the label gpu" OFF)
option(ASHLAR_FUZZ "Build the libFuzzer programs of test/fuzz, with clang++" OFF)
set(ASHLAR_SANITIZE "" CACHE STRING "Sanitizers for tests and examples: address (with undefined), thread, or empty")
set_property(CACHE ASHLAR_SANITIZE PROPERTY STRINGS "" address thread)

include(GNUInstallDirs)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_COMPILE_WARNING_AS_ERROR ${ASHLAR_WARNINGS_AS_ERRORS})

# Flags of our own tests, examples and benchmarks; a user never inherits them.
add_library(ashlar_warnings INTERFACE)
target_compile_options(ashlar_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
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

# Say that a part is left out, and what would bring it back.
function(ashlar_left_out part library package)
  message(STATUS "ashlar: without ${part}: ${library} not found (Debian: ${package})")
endfunction()

# An interface library ashlar_NAME, known as ashlar::NAME, whose headers live under DIRECTORY; installed with its own export set.
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
  install(TARGETS ${target} EXPORT ashlar-${name} FILE_SET HEADERS)
  install(EXPORT ashlar-${name} NAMESPACE ashlar:: DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/ashlar)
endfunction()
