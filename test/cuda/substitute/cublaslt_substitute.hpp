// Questions of a test to the substitute of cuBLASLt.
#pragma once

#include <cstddef>

namespace cublaslt_substitute {

// Handles, layouts, descriptions and preferences that were made and not given back.
std::size_t live_objects();

}  // namespace cublaslt_substitute
