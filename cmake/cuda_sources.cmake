# Kernels are `.cu` files. nvcc compiles them, or any C++ compiler against test/cuda/substitute.

# Enables nvcc if it can be used. Sets ASHLAR_HAS_NVCC in the caller's scope, or else ASHLAR_WHY_NO_NVCC.
macro(ashlar_find_nvcc)
  set(ASHLAR_HAS_NVCC FALSE)
  if(NOT CMAKE_CUDA_COMPILER AND CUDAToolkit_NVCC_EXECUTABLE)
    set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
  endif()
  # We name the architectures ourselves, and CMake 3.25 does not know nvcc 13's option for C++20.
  set(CMAKE_CUDA_ARCHITECTURES OFF)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    set(ASHLAR_HAS_NVCC TRUE)
  endif()
endmacro()

# Machine code for GPUs in use, and PTX for later ones.
set(ASHLAR_CUDA_FLAGS
    -std=c++20 -gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=[sm_90,compute_90]
    CACHE STRING "What nvcc compiles kernels with")
mark_as_advanced(ASHLAR_CUDA_FLAGS)

# Adds a static library of kernels, compiled by nvcc. So that the same sources give the same bytes in each folder, files get a seed from
# their names, and have no anonymous namespaces: nvcc names these by the file's whole path.
function(ashlar_add_kernels target)
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CUDA)
  foreach(file IN LISTS ARGN)
    set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS -frandom-seed=${target}/${file})
  endforeach()
  add_library(${target} STATIC ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF CUDA_ARCHITECTURES OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE ${ASHLAR_CUDA_FLAGS} -O3 -Xcompiler=-Wall,-Wextra -Xptxas=-v)
  set_target_properties(${target} PROPERTIES CUDA_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/keep_listing.sh)
  if(ASHLAR_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror=all-warnings)
  endif()
  target_link_libraries(${target} PUBLIC ashlar::cuda_headers)
endfunction()

# Adds kernels for the substitute, in another folder than ashlar_add_kernels(): a file has one language a folder.
function(ashlar_add_substitute_kernels target)
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-xc++")
  add_library(${target} STATIC ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  target_link_libraries(${target} PUBLIC ashlar_cuda_on_substitute PRIVATE ashlar_strict)
endfunction()
