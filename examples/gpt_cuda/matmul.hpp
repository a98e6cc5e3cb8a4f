// Products of row-major matrices by cuBLASLt.
#pragma once

#include "element.hpp"
#include <ashlar/cuda/error.hpp>
#include <ashlar/cuda/handles.hpp>

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace gpt_cuda {

template <activation_element T>
inline constexpr cudaDataType_t cuda_type = is_float<T> ? CUDA_R_32F : CUDA_R_16BF;

inline void require(cublasStatus_t code, char const* call) {
  if (code != CUBLAS_STATUS_SUCCESS)
    throw ashlar::cuda::error(call, std::string("cuBLAS status ") + std::to_string(code));
}

// A matrix in a product: elements from a row to the next, and whether its transpose is meant.
struct factor {
  int stride = 0;
  bool transposed = false;

  friend auto operator<=>(factor const&, factor const&) = default;
};

// Computes out = left right, or out += left right; out is rows x cols, left rows x depth. A bias, if
// there is one, is added to every row.
struct product_shape {
  int rows = 0, cols = 0, depth = 0;
  factor left, right, out;
  cudaDataType_t in_type = CUDA_R_32F;  // of both factors and the bias
  cudaDataType_t out_type = CUDA_R_32F;
  bool has_bias = false;

  friend auto operator<=>(product_shape const&, product_shape const&) = default;
};

// Products for one stream at a time. The library is asked once for each shape which of its algorithms to
// take. It answers by shape and GPU alone, and no algorithm that sums in an order of chance is allowed:
// partial sums go through the workspace. So a product has the same bits on all devices of a pipeline,
// and in every step.
class products {
 public:
  static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

  // Works on the current GPU. `workspace`: workspace_bytes bytes, aligned to 256.
  explicit products(void* workspace) : workspace_(workspace) {
    cublasLtHandle_t handle{};
    require(cublasLtCreate(&handle), "cublasLtCreate");
    handle_ = owner<cublasLtHandle_t, cublasLtDestroy>(handle);
  }

  // `added` (null: none) has the layout of `out` and may be `out`.
  void multiply(product_shape const& shape, void const* left, void const* right, void const* bias,
                void const* added, void* out, cudaStream_t stream) {
    plan const& p = plan_of(shape, bias);
    float const one = 1, beta = added == nullptr ? 0.0F : 1.0F;
    // A row-major matrix is the transpose of a column-major one: the library is asked for out' = right'
    // left'.
    require(cublasLtMatmul(handle_.get(), p.operation.get(), &one, right, p.right.get(), left,
                           p.left.get(), &beta, added == nullptr ? out : added, p.out.get(), out,
                           p.out.get(), &p.algorithm, workspace_, workspace_bytes, stream),
            "cublasLtMatmul");
  }

 private:
  template <class Handle, auto Release>
  using owner = ashlar::cuda::handle_detail::owner<Handle, Release>;
  using layout = owner<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;

  struct plan {
    owner<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy> operation;
    layout left, right, out;
    cublasLtMatmulAlgo_t algorithm{};
  };

  template <class Value>
  static void set(cublasLtMatmulDesc_t what, cublasLtMatmulDescAttributes_t attribute, Value value) {
    require(cublasLtMatmulDescSetAttribute(what, attribute, &value, sizeof value),
            "cublasLtMatmulDescSetAttribute");
  }
  template <class Value>
  static void set(cublasLtMatmulPreference_t what, cublasLtMatmulPreferenceAttributes_t attribute,
                  Value value) {
    require(cublasLtMatmulPreferenceSetAttribute(what, attribute, &value, sizeof value),
            "cublasLtMatmulPreferenceSetAttribute");
  }

  static std::size_t size_of(cudaDataType_t type) {
    return type == CUDA_R_32F ? sizeof(float) : sizeof(bf16);
  }

  // rows x cols as it lies in memory.
  static layout make_layout(cudaDataType_t type, int rows, int cols, factor const& f) {
    cublasLtMatrixLayout_t made{};
    require(cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(cols),
                                       static_cast<std::uint64_t>(rows), f.stride),
            "cublasLtMatrixLayoutCreate");
    return layout(made);
  }

  // The alignment of all rows of a matrix at any offset; it is the same for the same shape.
  static std::uint32_t alignment_of(factor const& f, cudaDataType_t type) {
    std::uint32_t const bytes =
        static_cast<std::uint32_t>(f.stride) * static_cast<std::uint32_t>(size_of(type));
    return std::min<std::uint32_t>(16, bytes & (~bytes + 1));
  }

  plan const& plan_of(product_shape const& shape, void const* bias) {
    auto const [at, is_new] = plans_.try_emplace(shape);
    plan& p = at->second;
    if (is_new) make(p, shape, bias);
    if (shape.has_bias) set(p.operation.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    return p;
  }

  void make(plan& p, product_shape const& s, void const* bias) {
    cublasLtMatmulDesc_t operation{};
    require(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F),
            "cublasLtMatmulDescCreate");
    p.operation = decltype(p.operation)(operation);
    auto const form = [](factor const& f) { return f.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    set(operation, CUBLASLT_MATMUL_DESC_TRANSA, form(s.right));
    set(operation, CUBLASLT_MATMUL_DESC_TRANSB, form(s.left));
    if (s.has_bias) {
      set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    }
    auto const stored = [&](factor const& f, int rows, int cols) {
      return f.transposed ? make_layout(s.in_type, cols, rows, f)
                          : make_layout(s.in_type, rows, cols, f);
    };
    p.left = stored(s.left, s.rows, s.depth);
    p.right = stored(s.right, s.depth, s.cols);
    p.out = make_layout(s.out_type, s.rows, s.cols, s.out);
    choose(p, s);
  }

  void choose(plan& p, product_shape const& s) {
    cublasLtMatmulPreference_t made{};
    require(cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate");
    owner<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy> const preference(made);
    set(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{workspace_bytes});
    set(made, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(s.right, s.in_type));
    set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(s.left, s.in_type));
    set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(s.out, s.out_type));
    set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(s.out, s.out_type));
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    cublasStatus_t const code =
        cublasLtMatmulAlgoGetHeuristic(handle_.get(), p.operation.get(), p.right.get(), p.left.get(),
                                       p.out.get(), p.out.get(), made, 1, &best, &found);
    if (code != CUBLAS_STATUS_SUCCESS || found == 0)
      throw ashlar::cuda::error("cublasLtMatmulAlgoGetHeuristic",
                                "no algorithm for a product of " + std::to_string(s.rows) + " x "
                                    + std::to_string(s.depth) + " by " + std::to_string(s.cols));
    p.algorithm = best.algo;
  }

  void* workspace_;
  owner<cublasLtHandle_t, cublasLtDestroy> handle_;
  std::map<product_shape, plan> plans_;
};

}  // namespace gpt_cuda
