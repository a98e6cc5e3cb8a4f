# Tests that pass by compiling.
#
# test/static is compiled with the limits on constant evaluation pinned to the compilers' defaults: whatever stands there works
# for a user who sets no flag, and a slower constant evaluation fails the build, the same on every machine.
# test/static_large holds what needs more; how much more stands here and nowhere else:
set(limits_static_g++ -fconstexpr-ops-limit=33554432 -fconstexpr-loop-limit=262144)
set(limits_static_clang++ -fconstexpr-steps=1048576)
set(limits_static_large_g++ -fconstexpr-ops-limit=1073741824 -fconstexpr-loop-limit=16777216)
set(limits_static_large_clang++ -fconstexpr-steps=134217728)

set(builder clang++)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(builder g++)
endif()

foreach(folder IN ITEMS static static_large)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  if(NOT sources)
    continue()
  endif()

  # The compiler that builds: part of the build.  The program says which files passed.
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${folder}_passed.cpp.in "#include <cstdio>\n\nint main() {\n")
  foreach(source IN LISTS sources)
    cmake_path(GET source FILENAME name)
    file(APPEND ${CMAKE_CURRENT_BINARY_DIR}/${folder}_passed.cpp.in "  std::puts(\"compiled: test/${folder}/${name}\");\n")
  endforeach()
  file(APPEND ${CMAKE_CURRENT_BINARY_DIR}/${folder}_passed.cpp.in "}\n")
  configure_file(${CMAKE_CURRENT_BINARY_DIR}/${folder}_passed.cpp.in ${CMAKE_CURRENT_BINARY_DIR}/${folder}_passed.cpp COPYONLY)

  add_library(ashlar_${folder} OBJECT ${sources})
  set_target_properties(ashlar_${folder} PROPERTIES UNITY_BUILD FALSE)  # each file passes or fails alone
  target_link_libraries(ashlar_${folder} PRIVATE ashlar::ashlar ashlar_strict)
  target_include_directories(ashlar_${folder} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_options(ashlar_${folder} PRIVATE -O0 ${limits_${folder}_${builder}})
  add_executable(test_${folder} ${CMAKE_CURRENT_BINARY_DIR}/${folder}_passed.cpp)
  add_dependencies(test_${folder} ashlar_${folder})
  add_test(NAME ${folder}/${builder} COMMAND test_${folder})
  set_tests_properties(${folder}/${builder} PROPERTIES LABELS static)

  # The others, all files as one: what each needs for itself the first has seen.
  set(all ${CMAKE_CURRENT_BINARY_DIR}/${folder}_all)
  set(text "")
  foreach(source IN LISTS sources)
    string(APPEND text "#include \"${source}\"\n")
  endforeach()
  foreach(extension IN ITEMS cpp cu)
    file(CONFIGURE OUTPUT ${all}.${extension} CONTENT "${text}")
  endforeach()

  # nvcc's front end, at its defaults.
  if(ASHLAR_NVCC AND folder STREQUAL "static")
    add_test(NAME ${folder}/nvcc COMMAND ${ASHLAR_NVCC} -std=c++20 -I ${PROJECT_SOURCE_DIR}/include -I ${CMAKE_CURRENT_SOURCE_DIR}
                                         -cuda ${all}.cu -o ${all}.ii)
    set_tests_properties(${folder}/nvcc PROPERTIES LABELS static TIMEOUT 600)
  endif()

  foreach(compiler IN LISTS ashlar_compilers)
    if(NOT compiler STREQUAL builder)
      add_test(NAME ${folder}/${compiler}
               COMMAND ${ashlar_compiler_${compiler}} -std=c++20 -fsyntax-only -I ${PROJECT_SOURCE_DIR}/include
                       -I ${CMAKE_CURRENT_SOURCE_DIR} ${limits_${folder}_${compiler}} ${all}.cpp)
      set_tests_properties(${folder}/${compiler} PROPERTIES LABELS static TIMEOUT 600)
    endif()
  endforeach()
endforeach()
