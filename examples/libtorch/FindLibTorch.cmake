# Finds LibTorch for CPUs in PyTorch's wheel or LibTorch's own archive: the target libtorch::cpu.
#
# Without a CUDA toolkit, PyTorch's own TorchConfig.cmake refuses a wheel built with CUDA. The libraries for CPUs need
# none, so this module looks for them in the same places: LibTorch_ROOT, Torch_DIR, or a directory of
# CMAKE_PREFIX_PATH (the directory `torch` of a wheel).
if(Torch_DIR)
  cmake_path(ABSOLUTE_PATH Torch_DIR NORMALIZE)
  list(APPEND LibTorch_hints ${Torch_DIR}/../../..)
endif()
find_path(LibTorch_INCLUDE_DIR torch/csrc/autograd/engine.h HINTS ${LibTorch_hints} PATH_SUFFIXES include)
find_library(LibTorch_LIBRARY torch_cpu HINTS ${LibTorch_hints} PATH_SUFFIXES lib)
find_library(LibTorch_C10_LIBRARY c10 HINTS ${LibTorch_hints} PATH_SUFFIXES lib)
mark_as_advanced(LibTorch_INCLUDE_DIR LibTorch_LIBRARY LibTorch_C10_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch REQUIRED_VARS LibTorch_LIBRARY LibTorch_C10_LIBRARY LibTorch_INCLUDE_DIR)
if(LibTorch_FOUND AND NOT TARGET libtorch::cpu)
  add_library(libtorch::cpu INTERFACE IMPORTED)
  target_include_directories(libtorch::cpu SYSTEM INTERFACE ${LibTorch_INCLUDE_DIR}
                                                            ${LibTorch_INCLUDE_DIR}/torch/csrc/api/include)
  # Wheels have the new ABI of std::string since PyTorch 2.6, as compilers do by default. Operators are registered by
  # the libraries' constructors, so both are linked whether a symbol of them is needed or not.
  target_link_libraries(libtorch::cpu INTERFACE -Wl,--no-as-needed ${LibTorch_LIBRARY} ${LibTorch_C10_LIBRARY})
endif()
