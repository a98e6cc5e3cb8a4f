// The calls of cuBLASLt: what they check, and what they enqueue.
#include "cublaslt_product.hpp"
#include "machine.hpp"
#include "substitute.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace cublaslt_substitute {
namespace {

bool is_sound(cublasLtMatrixLayoutOpaque_t const& l) {
  if (l.order != CUBLASLT_ORDER_COL && l.order != CUBLASLT_ORDER_ROW) return false;
  auto const least = static_cast<std::int64_t>(l.order == CUBLASLT_ORDER_COL ? l.rows : l.cols);
  return l.rows > 0 && l.cols > 0 && l.ld >= least && l.batch >= 1 && l.batch_offset >= 0
         && size_of(l.type) > 0;
}

// The bytes up to the end of the last element of the last matrix.
std::size_t extent(cublasLtMatrixLayoutOpaque_t const& l) {
  std::uint64_t const lines = l.order == CUBLASLT_ORDER_COL ? l.cols : l.rows;
  std::uint64_t const line = l.order == CUBLASLT_ORDER_COL ? l.rows : l.cols;
  return size_of(l.type)
         * (static_cast<std::uint64_t>(l.batch - 1) * static_cast<std::uint64_t>(l.batch_offset)
            + (lines - 1) * static_cast<std::uint64_t>(l.ld) + line);
}

bool fits(cublasLtMatmulDescOpaque_t const& w, cublasLtMatrixLayoutOpaque_t const& a,
          cublasLtMatrixLayoutOpaque_t const& b, cublasLtMatrixLayoutOpaque_t const& c,
          cublasLtMatrixLayoutOpaque_t const& d) {
  bool const ta = w.transposes_a != CUBLAS_OP_N, tb = w.transposes_b != CUBLAS_OP_N;
  return (ta ? a.cols : a.rows) == d.rows && (tb ? b.rows : b.cols) == d.cols
         && (ta ? a.rows : a.cols) == (tb ? b.cols : b.rows) && c.rows == d.rows && c.cols == d.cols
         && a.batch == d.batch && b.batch == d.batch && c.batch == d.batch;
}

bool has_types(cublasLtMatmulDescOpaque_t const& w, cublasLtMatrixLayoutOpaque_t const& a,
               cublasLtMatrixLayoutOpaque_t const& b, cublasLtMatrixLayoutOpaque_t const& c,
               cublasLtMatrixLayoutOpaque_t const& d) {
  bool const doubles = w.compute == CUBLAS_COMPUTE_64F || w.compute == CUBLAS_COMPUTE_64F_PEDANTIC;
  if (a.type != b.type || c.type != d.type) return false;
  if (doubles) return w.scale == CUDA_R_64F && a.type == CUDA_R_64F && d.type == CUDA_R_64F;
  bool const wider = a.type == CUDA_R_16BF && d.type == CUDA_R_32F;
  return w.scale == CUDA_R_32F && a.type != CUDA_R_64F && (a.type == d.type || wider);
}

bool has_epilogue(std::uint32_t e) {
  std::uint32_t const without_bias = e & ~static_cast<std::uint32_t>(CUBLASLT_EPILOGUE_BIAS);
  return e == CUBLASLT_EPILOGUE_DEFAULT || without_bias == 0 || without_bias == CUBLASLT_EPILOGUE_RELU
         || without_bias == CUBLASLT_EPILOGUE_GELU;
}

cublasStatus_t checked(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
  if (!is_alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  for (void const* object :
       {static_cast<void const*>(desc), static_cast<void const*>(a), static_cast<void const*>(b),
        static_cast<void const*>(c), static_cast<void const*>(d)})
    if (!is_alive(object)) return CUBLAS_STATUS_INVALID_VALUE;
  for (cublasLtMatrixLayout_t l : {a, b, c, d})
    if (!is_sound(*l)) return CUBLAS_STATUS_INVALID_VALUE;
  if (!fits(*desc, *a, *b, *c, *d)) return CUBLAS_STATUS_INVALID_VALUE;
  if (desc->pointer_mode != CUBLASLT_POINTER_MODE_HOST || !has_types(*desc, *a, *b, *c, *d)
      || !has_epilogue(desc->epilogue))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

// The problem that an algorithm was chosen for; it suits no other.
struct algorithm {
  std::uint64_t problem, workspace;
  std::array<std::uint32_t, 4> alignments;
};
static_assert(sizeof(algorithm) <= sizeof(cublasLtMatmulAlgo_t));

std::uint64_t number_of(cublasLtMatmulDescOpaque_t const& w,
                        std::array<cublasLtMatrixLayoutOpaque_t, 4> const& layouts) {
  std::uint64_t h = 0;
  auto const add = [&h](auto x) {
    h = cuda_substitute::random_bits(h ^ static_cast<std::uint64_t>(x)).next();
  };
  for (std::int64_t const x :
       {std::int64_t{w.compute}, std::int64_t{w.scale}, std::int64_t{w.transposes_a},
        std::int64_t{w.transposes_b}, std::int64_t{w.epilogue}})
    add(x);
  for (cublasLtMatrixLayoutOpaque_t const& l : layouts) {
    add(l.type), add(l.order), add(l.rows), add(l.cols), add(l.ld), add(l.batch), add(l.batch_offset);
  }
  return h;
}

bool is_aligned(void const* memory, std::uint32_t to) {
  return reinterpret_cast<std::uintptr_t>(memory) % to == 0;
}

// Whether the algorithm is right for the problem, the pointers and the workspace.
bool suits(cublasLtMatmulAlgo_t const* chosen, product const& p, void const* workspace,
           std::size_t bytes) {
  if (bytes > 0 && !is_aligned(workspace, 256)) return false;
  if (chosen == nullptr) return true;
  algorithm a;
  std::memcpy(&a, chosen, sizeof a);
  return a.problem == number_of(p.what, {p.a_layout, p.b_layout, p.c_layout, p.d_layout})
         && bytes >= a.workspace && is_aligned(p.a, a.alignments[0]) && is_aligned(p.b, a.alignments[1])
         && (p.beta == 0 || is_aligned(p.c, a.alignments[2])) && is_aligned(p.d, a.alignments[3]);
}

bool lies_on(int device, product const& p, void const* workspace, std::size_t workspace_bytes) {
  auto const there = [device](void const* memory, std::size_t bytes) {
    return bytes == 0 || cuda_substitute::is_device_memory(memory, bytes, device);
  };
  bool const adds_bias = (p.what.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
  std::uint32_t const bias_type =
      p.what.bias_type < 0 ? p.d_layout.type : static_cast<std::uint32_t>(p.what.bias_type);
  return there(p.a, extent(p.a_layout)) && there(p.b, extent(p.b_layout))
         && (p.beta == 0 || there(p.c, extent(p.c_layout))) && there(p.d, extent(p.d_layout))
         && (!adds_bias || there(p.what.bias, p.d_layout.rows * size_of(bias_type)))
         && there(workspace, workspace_bytes);
}

double scale_in(void const* value, std::int32_t type) {
  if (type == CUDA_R_64F) return *static_cast<double const*>(value);
  return static_cast<double>(*static_cast<float const*>(value));
}

}  // namespace

}  // namespace cublaslt_substitute

using namespace cublaslt_substitute;

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t* results, int* returned) {
  if (chosen_to_fail("cublasLtMatmulAlgoGetHeuristic")) return CUBLAS_STATUS_INTERNAL_ERROR;
  if (results == nullptr || returned == nullptr || requested < 1 || !is_alive(preference))
    return CUBLAS_STATUS_INVALID_VALUE;
  *returned = 0;
  if (cublasStatus_t const s = checked(handle, desc, a, b, c, d); s != CUBLAS_STATUS_SUCCESS) return s;
  algorithm const found{.problem = number_of(*desc, {*a, *b, *c, *d}),
                        .workspace = std::min<std::uint64_t>(preference->workspace, 4096),
                        .alignments = preference->alignments};
  results[0] = {};
  std::memcpy(&results[0].algo, &found, sizeof found);
  results[0].workspaceSize = found.workspace;
  results[0].wavesCount = 1;
  *returned = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, void const* alpha,
                              void const* a, cublasLtMatrixLayout_t a_layout, void const* b,
                              cublasLtMatrixLayout_t b_layout, void const* beta, void const* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              cublasLtMatmulAlgo_t const* chosen, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
  if (chosen_to_fail("cublasLtMatmul")) return CUBLAS_STATUS_EXECUTION_FAILED;
  cublasStatus_t const s = checked(handle, desc, a_layout, b_layout, c_layout, d_layout);
  if (s != CUBLAS_STATUS_SUCCESS) return s;
  if (alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  product const p{*desc,
                  *a_layout,
                  *b_layout,
                  *c_layout,
                  *d_layout,
                  a,
                  b,
                  c,
                  d,
                  scale_in(alpha, desc->scale),
                  scale_in(beta, desc->scale)};
  if (cuda_substitute::device_of(stream) != handle->device
      || !suits(chosen, p, workspace, workspace_bytes)
      || !lies_on(handle->device, p, workspace, workspace_bytes))
    return CUBLAS_STATUS_INVALID_VALUE;
  // The workspace is written to: two products at once must not share one.
  return cuda_substitute::enqueue(stream, "cublasLtMatmul",
                                  [p, workspace, n = std::min<std::size_t>(workspace_bytes, 4096)] {
                                    if (n > 0) std::memset(workspace, 0xff, n);
                                    multiply(p);
                                  })
                 == cudaSuccess
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_EXECUTION_FAILED;
}
