# Tests that pass by compiling.
#
# All are compiled with the limits on constant evaluation pinned to the compilers' defaults: the code works for a user who sets no
# flag, and a slower constant evaluation fails the test, on every machine alike. Only clang++ needs a higher limit for
# test/static_large, which is set here.
set(limits_g++ -fconstexpr-ops-limit=33554432 -fconstexpr-loop-limit=262144)
set(limits_static_clang++ -fconstexpr-steps=1048576)
set(limits_static_large_clang++ -fconstexpr-steps=134217728)

# By default the tests use clang++, whose limits are tighter, and nvcc, the third front end; and g++ for what is large.
set(compilers_static ${ashlar_builder})
if("clang++" IN_LIST ashlar_compilers)
  set(compilers_static clang++)
endif()
set(compilers_static_large ${ashlar_compilers})
list(FILTER compilers_static_large INCLUDE REGEX "^g\\+\\+$")
if(ASHLAR_ALL_TESTS)
  set(compilers_static ${ashlar_compilers})
  set(compilers_static_large ${ashlar_compilers})
endif()

foreach(folder IN ITEMS static static_large)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)

  # All files are compiled as one, so shared headers are compiled once.
  set(all ${CMAKE_CURRENT_BINARY_DIR}/${folder}_all)
  set(text "")
  foreach(source IN LISTS sources)
    string(APPEND text "#include \"${source}\"\n")
  endforeach()
  foreach(extension IN ITEMS cpp cu)
    file(CONFIGURE OUTPUT ${all}.${extension} CONTENT "${text}")
  endforeach()

  foreach(compiler IN LISTS compilers_${folder})
    add_test(NAME ${folder}/${compiler}
             COMMAND ${ashlar_compiler_${compiler}} -std=c++20 -fsyntax-only -I ${PROJECT_SOURCE_DIR}/include
                     -I ${CMAKE_CURRENT_SOURCE_DIR} ${limits_${compiler}} ${limits_${folder}_${compiler}} ${all}.cpp)
    set_tests_properties(${folder}/${compiler} PROPERTIES LABELS static TIMEOUT 600)
  endforeach()

  # nvcc's front end runs with its default limits.
  if(ASHLAR_NVCC AND folder STREQUAL "static")
    add_test(NAME ${folder}/nvcc COMMAND ${ASHLAR_NVCC} -std=c++20 -I ${PROJECT_SOURCE_DIR}/include -I ${CMAKE_CURRENT_SOURCE_DIR}
                                         -cuda ${all}.cu -o ${all}.ii)
    set_tests_properties(${folder}/nvcc PROPERTIES LABELS static TIMEOUT 600)
  endif()
endforeach()
