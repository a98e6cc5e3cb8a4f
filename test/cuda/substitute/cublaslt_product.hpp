// A product that cuBLASLt is asked for, and its computation on the host.
#pragma once

#include <cublasLt.h>

#include <array>
#include <cstddef>
#include <cstdint>

struct cublasLtContext {
  int device = 0;
};
struct cublasLtMatrixLayoutOpaque_t {
  std::uint32_t type = CUDA_R_32F;
  std::int32_t order = CUBLASLT_ORDER_COL;
  std::uint64_t rows = 0, cols = 0;
  std::int64_t ld = 0;
  std::int32_t batch = 1;
  std::int64_t batch_offset = 0;  // in elements
};
struct cublasLtMatmulDescOpaque_t {
  std::int32_t compute = CUBLAS_COMPUTE_32F, scale = CUDA_R_32F;
  std::int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  std::int32_t transposes_a = CUBLAS_OP_N, transposes_b = CUBLAS_OP_N;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void const* bias = nullptr;
  std::int32_t bias_type = -1;  // that of d
};
struct cublasLtMatmulPreferenceOpaque_t {
  std::uint32_t search = 0;
  std::uint64_t workspace = 0;
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::array<std::uint32_t, 4> alignments{256, 256, 256, 256};  // of a, b, c, d
};

namespace cublaslt_substitute {

struct product {
  cublasLtMatmulDescOpaque_t what;
  cublasLtMatrixLayoutOpaque_t a_layout, b_layout, c_layout, d_layout;
  void const *a = nullptr, *b = nullptr, *c = nullptr;
  void* d = nullptr;
  double alpha = 1, beta = 0;
};

bool is_alive(void const* object);
// Counts the call; returns whether the test has chosen it to fail.
bool chosen_to_fail(char const* call);

// The bytes of an element; 0: no such type.
std::size_t size_of(std::uint32_t type);

// Sums along the inner dimension go from its beginning to its end, in fp32 or fp64, for all sizes alike.
void multiply(product const& p);

}  // namespace cublaslt_substitute
