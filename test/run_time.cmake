# Each folder is a doctest program; each of its cases is a test of its own.
add_library(ashlar_test_main OBJECT main.cpp)
target_link_libraries(ashlar_test_main PRIVATE doctest::doctest)
target_compile_features(ashlar_test_main PRIVATE cxx_std_20)

# ashlar_add_test_program(NAME FOLDER [target…]) adds the program test_NAME of the cases in FOLDER. Tests are named after the
# first folder.
function(ashlar_add_test_program name folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  # Leaves out tests of headers whose library is missing.
  foreach(part IN ITEMS views json mpi)
    if(NOT TARGET ashlar::${part})
      list(FILTER sources EXCLUDE REGEX "/${part}[^/]*\\.cpp$")
    endif()
  endforeach()
  # Leaves out comparisons of bounds and searches with all orders: unit tests and doors run the same functions.
  if(ASHLAR_SANITIZE AND folder STREQUAL "property" AND NOT ASHLAR_ALL_TESTS)
    list(FILTER sources EXCLUDE REGEX "/(bounds|graph_searches|layered_layouts|optimal_[^/]*|plans[^/]*|searches)\\.cpp$")
  endif()
  # Leaves out tests that start no thread.
  if(ASHLAR_SANITIZE STREQUAL "thread" AND folder STREQUAL "gpt")
    list(FILTER sources EXCLUDE REGEX "/(allocation|corpus|divided|exact_sum|finite|gradients|json_safetensors|quantised)\\.cpp$")
  endif()
  # Leaves out trainings on threads and under a launcher: they take minutes, and tests of backends and model run the same code.
  if(ASHLAR_SANITIZE AND folder STREQUAL "tool")
    list(FILTER sources EXCLUDE REGEX "/(checkpoint[^/]*|mpi_[^/]*|optimizer_steps|profile|train[^/]*)\\.cpp$")
    if(NOT ASHLAR_ALL_TESTS)  # what reads files and numbers, but not what searches for long
      list(FILTER sources EXCLUDE REGEX "/(agreement|commands|compare|effects|layers|limits|pictures|plan[^/]*|search|sharing|tradeoff|variants)\\.cpp$")
    endif()
  endif()

  set(target test_${name})
  add_executable(${target} ${sources} $<TARGET_OBJECTS:ashlar_test_main>)
  # These flags follow those of the build type: some tests take longer to compile than to run, others longer to run.
  if(NOT ASHLAR_SANITIZE AND NOT ASHLAR_TESTS_BY_ROOM)
    if(folder MATCHES "^(unit|conformance|render|interop|tool)$")
      target_compile_options(${target} PRIVATE -O0)
    elseif(folder MATCHES "^(property|oracle)$")
      target_compile_options(${target} PRIVATE -O1)
    endif()
  endif()
  if(ASHLAR_ALL_TESTS)
    target_compile_definitions(${target} PRIVATE ASHLAR_ALL_CASES)
  endif()
  target_compile_definitions(${target} PRIVATE ASHLAR_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data")
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/examples ${PROJECT_SOURCE_DIR}/tools)
  target_link_libraries(${target} PRIVATE ashlar::cost ashlar::plan doctest::doctest ashlar_strict)
  foreach(part IN ITEMS ashlar::host ashlar::views ashlar::json)
    if(TARGET ${part})
      target_link_libraries(${target} PRIVATE ${part})
    endif()
  endforeach()
  list(REMOVE_ITEM ARGN ashlar_tool)
  target_link_libraries(${target} PRIVATE ${ARGN})
  string(REGEX REPLACE "/.*" "" label ${folder})
  set(seconds 300)
  if(ASHLAR_ALL_TESTS)
    set(seconds 1800)
  endif()
  doctest_discover_tests(${target} TEST_PREFIX "${label}/" PROPERTIES LABELS ${label} TIMEOUT ${seconds})
endfunction()

# ashlar_add_tests(FOLDER [target…]) adds the folder's tests if these targets exist.
function(ashlar_add_tests folder)
  foreach(needed IN LISTS ARGN)
    if(NOT TARGET ${needed})
      message(STATUS "ashlar: without the tests in test/${folder}: they need ${needed}")
      return()
    endif()
  endforeach()
  ashlar_add_test_program(${folder} ${folder} ${ARGN})
endfunction()

# Adds the unit tests as one program, or one for each room, which the target check_unit_ROOM runs; check_unit runs all.
function(ashlar_add_unit_tests)
  if(NOT ASHLAR_TESTS_BY_ROOM)
    ashlar_add_test_program(unit unit)
    return()
  endif()
  add_custom_target(check_unit)
  file(GLOB rooms LIST_DIRECTORIES TRUE CONFIGURE_DEPENDS unit/*)
  foreach(folder IN LISTS rooms)
    cmake_path(GET folder FILENAME room)
    ashlar_add_test_program(unit_${room} unit/${room})
    add_custom_target(check_unit_${room} COMMAND test_unit_${room} --minimal)
    add_dependencies(check_unit check_unit_${room})
  endforeach()
endfunction()

# By default, a sanitizer runs tests in which it can find something. With ASHLAR_ALL_TESTS it runs all that it can.
set(address FALSE)
set(thread FALSE)
if(ASHLAR_SANITIZE)
  set(${ASHLAR_SANITIZE} TRUE)
endif()
if(NOT thread)  # these start no thread
  ashlar_add_unit_tests()
  ashlar_add_tests(property)
  ashlar_add_tests(render)
  ashlar_add_tests(interop)
  ashlar_add_tests(tool ashlar_tool)
  if(TARGET ashlar::mpi)  # the thread sanitizer does not know the library's locks
    add_subdirectory(mpi)
  endif()
  if(NOT address OR ASHLAR_ALL_TESTS)
    ashlar_add_tests(oracle)
    ashlar_add_tests(conformance)
  endif()
endif()
if(NOT ASHLAR_SANITIZE)  # what they call has tests of its own
  ashlar_add_tests(gold)
  if(ASHLAR_ALL_TESTS)
    ashlar_add_tests(studies)
  endif()
endif()
if(NOT address OR ASHLAR_ALL_TESTS)
  ashlar_add_tests(host ashlar::host)
  add_subdirectory(cuda)
endif()
if(NOT ASHLAR_SANITIZE OR ASHLAR_ALL_TESTS)
  ashlar_add_tests(gpt ashlar_gpt ashlar_kfac)
endif()
foreach(folder IN ITEMS unit conformance render interop tool)
  if(TARGET test_${folder})
    set_target_properties(test_${folder} PROPERTIES ASHLAR_BRIEF TRUE)
  endif()
endforeach()
if(TARGET test_tool)
  target_compile_definitions(test_tool PRIVATE ASHLAR_TOOL="$<TARGET_FILE:ashlar_tool>")
  if(TARGET ashlar::mpi)
    include(mpi_launch.cmake)
    list(JOIN ashlar_mpi_launch " " launch)
    target_compile_definitions(test_tool PRIVATE ASHLAR_MPI_LAUNCH="${launch}")
  endif()
  add_dependencies(test_tool ashlar_tool)
endif()

# Our CSV in PyTorch's own runtime, if the Python that is found has it.
find_package(Python3 QUIET COMPONENTS Interpreter)
if(TARGET ashlar_tool AND Python3_Interpreter_FOUND)
  add_test(NAME interop/torch_runtime COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/interop/torch_runtime.py
                                              $<TARGET_FILE:ashlar_tool>)
  add_test(NAME interop/pytorch_own COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/interop/pytorch_own.py
                                            ${CMAKE_CURRENT_SOURCE_DIR}/data/pytorch)
  add_test(NAME interop/safetensors_reader COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/interop/safetensors_reader.py
                                                   $<TARGET_FILE:ashlar_tool>)
  add_test(NAME interop/checkpoint_in_torch COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/interop/checkpoint_in_torch.py
                                                    $<TARGET_FILE:ashlar_tool>)
  if(TARGET ashlar::mpi AND NOT ASHLAR_SANITIZE)
    list(REMOVE_AT ashlar_mpi_launch -1)  # the number of processes
    list(JOIN ashlar_mpi_launch " " launcher)
    add_test(NAME tool/kill_trainings COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/kill_trainings.py $<TARGET_FILE:ashlar_tool>
                                              --launcher ${launcher})
    set_tests_properties(tool/kill_trainings PROPERTIES LABELS tool TIMEOUT 600)
  endif()
  add_test(NAME tool/typed_layouts COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/bench/layouts/recipes.py
                                           $<TARGET_FILE:ashlar_tool> ${PROJECT_SOURCE_DIR}/docs/layouts.md)
  set_tests_properties(tool/typed_layouts PROPERTIES LABELS tool TIMEOUT 600)
  add_test(NAME tool/launches COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/launches.py $<TARGET_FILE:ashlar_tool>
                                      ${PROJECT_SOURCE_DIR})
  set_tests_properties(tool/launches PROPERTIES LABELS tool TIMEOUT 600)
  add_test(NAME tool/launch_kinds COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/launch_kinds.py $<TARGET_FILE:ashlar_tool>
                                      ${PROJECT_SOURCE_DIR})
  set_tests_properties(tool/launch_kinds PROPERTIES LABELS tool TIMEOUT 600)
  add_test(NAME tool/silent_arguments COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/silent_arguments.py
                                              ${PROJECT_SOURCE_DIR})
  set_tests_properties(tool/silent_arguments PROPERTIES LABELS tool TIMEOUT 600)
  add_test(NAME tool/layer_kinds COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/layer_kinds.py $<TARGET_FILE:ashlar_tool>
                                         ${PROJECT_SOURCE_DIR})
  set_tests_properties(tool/layer_kinds PROPERTIES LABELS tool TIMEOUT 600)
  add_test(NAME tool/megatron_arguments COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/megatron_arguments.py
                                                $<TARGET_FILE:ashlar_tool> ${PROJECT_SOURCE_DIR})
  set_tests_properties(tool/megatron_arguments PROPERTIES LABELS tool TIMEOUT 900 PROCESSORS 2)
  add_test(NAME tool/completion COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/completion.py $<TARGET_FILE:ashlar_tool>)
  set_tests_properties(tool/completion PROPERTIES LABELS tool TIMEOUT 600 SKIP_RETURN_CODE 77)
  if(NOT ASHLAR_SANITIZE)
    add_test(NAME tool/verified COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/verified.py $<TARGET_FILE:ashlar_tool>
                                        ${PROJECT_SOURCE_DIR}/python)
    set_tests_properties(tool/verified PROPERTIES LABELS tool TIMEOUT 600)
    add_test(NAME tool/certificates COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/certificates.py $<TARGET_FILE:ashlar_tool>
                                            ${PROJECT_SOURCE_DIR}/python)
    set_tests_properties(tool/certificates PROPERTIES LABELS tool TIMEOUT 600)
    add_test(NAME tool/certified_divisions COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/certified_divisions.py
                                                   $<TARGET_FILE:ashlar_tool> ${PROJECT_SOURCE_DIR}/python)
    add_test(NAME tool/certified_plans COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/certified_plans.py
                                               $<TARGET_FILE:ashlar_tool> ${PROJECT_SOURCE_DIR}/python)
    set_tests_properties(tool/certified_divisions tool/certified_plans PROPERTIES LABELS tool TIMEOUT 600)
  endif()
  if(ASHLAR_ALL_TESTS)
    add_test(NAME tool/help_examples COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/help_examples.py
                                             $<TARGET_FILE:ashlar_tool>)
    if(NOT ASHLAR_SANITIZE)  # of the tool as it is used
      add_test(NAME tool/certified_cases COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/certified_cases.py
                                                 $<TARGET_FILE:ashlar_tool> ${PROJECT_SOURCE_DIR}/python)
      add_test(NAME tool/resources COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/resources.py
                                           $<TARGET_FILE:ashlar_tool> --cases 1000 --seconds 4)
      set_tests_properties(tool/certified_cases tool/resources PROPERTIES LABELS tool TIMEOUT 1800)
    endif()
    add_test(NAME tool/parameter_counts COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/parameter_counts.py
                                                $<TARGET_FILE:ashlar_tool>)
    add_test(NAME tool/lora_counts COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/lora_counts.py
                                           $<TARGET_FILE:ashlar_tool>)
    add_test(NAME tool/tower_counts COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/tower_counts.py
                                            $<TARGET_FILE:ashlar_tool>)
    add_test(NAME tool/trained_kinds COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/trained_kinds.py
                                             $<TARGET_FILE:ashlar_tool>)
    add_test(NAME tool/adapter_kinds COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/adapter_kinds.py
                                             $<TARGET_FILE:ashlar_tool>)
    add_test(NAME tool/packed_weights COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/packed_weights.py
                                              $<TARGET_FILE:ashlar_tool>)
    add_test(NAME tool/optimizer_state COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/optimizer_state.py
                                               $<TARGET_FILE:ashlar_tool>)
    add_test(NAME tool/moment_bytes COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/moment_bytes.py
                                            $<TARGET_FILE:ashlar_tool>)
    add_test(NAME tool/megatron_layouts COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/megatron_layouts.py
                                                $<TARGET_FILE:ashlar_tool>)
    add_test(NAME tool/framework_files COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/framework_files.py
                                               $<TARGET_FILE:ashlar_tool>)
    add_test(NAME tool/framework_readings COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/framework_readings.py
                                                  $<TARGET_FILE:ashlar_tool>)
    add_test(NAME tool/offload_exact COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/bench/offload/exact.py
                                             $<TARGET_FILE:ashlar_tool> 60)
    set_tests_properties(tool/help_examples tool/parameter_counts tool/lora_counts tool/tower_counts tool/trained_kinds tool/adapter_kinds tool/packed_weights tool/moment_bytes tool/optimizer_state tool/megatron_layouts tool/framework_files tool/framework_readings tool/offload_exact PROPERTIES LABELS tool SKIP_RETURN_CODE 77 TIMEOUT 1800)
  endif()
  set_tests_properties(interop/torch_runtime interop/pytorch_own interop/safetensors_reader interop/checkpoint_in_torch PROPERTIES LABELS interop SKIP_RETURN_CODE 77 TIMEOUT 1800)
endif()
