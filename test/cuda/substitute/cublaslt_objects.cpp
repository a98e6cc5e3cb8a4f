// Handles, layouts, descriptions and preferences of cuBLASLt.
#include "cublaslt_product.hpp"
#include "cublaslt_substitute.hpp"
#include "machine.hpp"
#include "substitute.hpp"

#include <cstring>
#include <mutex>
#include <set>

namespace cublaslt_substitute {
namespace {

// This is never destroyed, as the machine.
struct library {
  std::mutex mutex;
  std::set<void const*> alive;
};
library& the_library() {
  static library& l = *new library;
  return l;
}

template <class Object>
cublasStatus_t create(char const* call, Object** into, Object made) {
  if (chosen_to_fail(call)) return CUBLAS_STATUS_ALLOC_FAILED;
  if (into == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *into = new Object(made);
  library& l = the_library();
  std::lock_guard const lock(l.mutex);
  l.alive.insert(*into);
  return CUBLAS_STATUS_SUCCESS;
}

// Gives it back even if the call was chosen to fail.
template <class Object>
cublasStatus_t destroy(char const* call, Object* object) {
  bool const fails = chosen_to_fail(call);
  library& l = the_library();
  std::lock_guard const lock(l.mutex);
  if (l.alive.erase(object) == 0) return CUBLAS_STATUS_INVALID_VALUE;
  delete object;
  return fails ? CUBLAS_STATUS_INTERNAL_ERROR : CUBLAS_STATUS_SUCCESS;
}

// An attribute's bytes have the very size of what they set.
template <class Value>
cublasStatus_t set(Value& into, void const* value, std::size_t bytes) {
  if (value == nullptr || bytes != sizeof into) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&into, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

bool is_alive(void const* object) {
  library& l = the_library();
  std::lock_guard const lock(l.mutex);
  return l.alive.contains(object);
}

bool chosen_to_fail(char const* call) { return cuda_substitute::injected(call) != cudaSuccess; }

std::size_t live_objects() {
  library& l = the_library();
  std::lock_guard const lock(l.mutex);
  return l.alive.size();
}

}  // namespace cublaslt_substitute

using namespace cublaslt_substitute;

char const* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "<unknown>";
  }
}

char const* cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "the function failed to launch on the GPU";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "an internal operation failed";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "the functionality requested is not supported";
    default:
      return "<unknown>";
  }
}

std::size_t cublasLtGetVersion() { return 130'000; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  return create("cublasLtCreate", handle, cublasLtContext{cuda_substitute::current_device()});
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return destroy("cublasLtDestroy", handle); }

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          std::uint64_t rows, std::uint64_t cols, std::int64_t ld) {
  cublasLtMatrixLayoutOpaque_t made;
  made.type = static_cast<std::uint32_t>(type);
  made.rows = rows;
  made.cols = cols;
  made.ld = ld;
  return create("cublasLtMatrixLayoutCreate", layout, made);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy("cublasLtMatrixLayoutDestroy", layout);
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                void const* value, std::size_t bytes) {
  if (chosen_to_fail("cublasLtMatrixLayoutSetAttribute")) return CUBLAS_STATUS_INTERNAL_ERROR;
  if (!is_alive(layout)) return CUBLAS_STATUS_INVALID_VALUE;
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
      return set(layout->type, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return set(layout->order, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return set(layout->rows, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return set(layout->cols, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return set(layout->ld, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return set(layout->batch, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return set(layout->batch_offset, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute,
                                        cudaDataType scale) {
  cublasLtMatmulDescOpaque_t made;
  made.compute = compute;
  made.scale = scale;
  return create("cublasLtMatmulDescCreate", desc, made);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  return destroy("cublasLtMatmulDescDestroy", desc);
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              void const* value, std::size_t bytes) {
  if (chosen_to_fail("cublasLtMatmulDescSetAttribute")) return CUBLAS_STATUS_INTERNAL_ERROR;
  if (!is_alive(desc)) return CUBLAS_STATUS_INVALID_VALUE;
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
      return set(desc->compute, value, bytes);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
      return set(desc->scale, value, bytes);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return set(desc->pointer_mode, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return set(desc->transposes_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return set(desc->transposes_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return set(desc->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return set(desc->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return set(desc->bias_type, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return create("cublasLtMatmulPreferenceCreate", preference, cublasLtMatmulPreferenceOpaque_t{});
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy("cublasLtMatmulPreferenceDestroy", preference);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    void const* value, std::size_t bytes) {
  if (chosen_to_fail("cublasLtMatmulPreferenceSetAttribute")) return CUBLAS_STATUS_INTERNAL_ERROR;
  if (!is_alive(preference)) return CUBLAS_STATUS_INVALID_VALUE;
  auto& alignments = preference->alignments;
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_SEARCH_MODE:
      return set(preference->search, value, bytes);
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return set(preference->workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return set(preference->reductions, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return set(alignments[0], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return set(alignments[1], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return set(alignments[2], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return set(alignments[3], value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}
