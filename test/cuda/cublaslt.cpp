// Compares products by cuBLASLt with plain loops: true of the library and of its substitute.
#include <ashlar/cuda/handles.hpp>

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cublaslt_tests {

using ashlar::cuda::device_memory;

void ok(cublasStatus_t s) {
  if (s != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cuBLASLt: " + std::to_string(s));
}

struct shape {
  std::int32_t order = CUBLASLT_ORDER_COL;
  int rows = 0, columns = 0, ld = 0, batch = 1, offset = 0;  // offset in elements
  std::size_t size() const {
    return static_cast<std::size_t>((batch - 1) * offset
                                    + (order == CUBLASLT_ORDER_COL ? columns : rows) * ld);
  }
  std::size_t place(int n, int i, int j) const {
    return static_cast<std::size_t>(n * offset
                                    + (order == CUBLASLT_ORDER_COL ? j * ld + i : i * ld + j));
  }
};

// A product whose matrices have gaps between their columns and between each other.
struct example {
  cudaDataType in = CUDA_R_32F, out = CUDA_R_32F;
  std::int32_t ta = CUBLAS_OP_N, tb = CUBLAS_OP_N, order = CUBLASLT_ORDER_COL;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int m = 0, n = 0, k = 0, batch = 1;
  double alpha = 1, beta = 0;

  shape of(int rows, int columns) const {
    int const line = order == CUBLASLT_ORDER_COL ? rows : columns, ld = line + 8 - line % 8 + 8;
    int const lines = order == CUBLASLT_ORDER_COL ? columns : rows;
    return {order, rows, columns, ld, batch, batch > 1 ? ld * lines + 32 : 0};
  }
  shape a() const { return ta == CUBLAS_OP_N ? of(m, k) : of(k, m); }
  shape b() const { return tb == CUBLAS_OP_N ? of(k, n) : of(n, k); }
  shape d() const { return of(m, n); }
};

// Numbers that bf16 holds exactly.
std::vector<double> numbers(std::size_t count, int salt) {
  std::vector<double> all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back(static_cast<double>((i * 37 + static_cast<std::size_t>(salt) * 11) % 33) / 16 - 1);
  return all;
}

template <class T>
device_memory put_as(std::vector<double> const& values) {
  std::vector<T> raw;
  for (double const v : values) {
    if constexpr (sizeof(T) == 2)
      raw.push_back(static_cast<T>(std::bit_cast<std::uint32_t>(static_cast<float>(v)) >> 16U));
    else
      raw.push_back(static_cast<T>(v));
  }
  device_memory m(raw.size() * sizeof(T));
  ASHLAR_CUDA(cudaMemcpy, m.data(), raw.data(), m.size(), cudaMemcpyHostToDevice);
  return m;
}
device_memory put(std::vector<double> const& values, cudaDataType type) {
  return type == CUDA_R_64F   ? put_as<double>(values)
         : type == CUDA_R_32F ? put_as<float>(values)
                              : put_as<std::uint16_t>(values);
}

template <class T>
std::vector<double> get_as(device_memory const& m) {
  std::vector<T> raw(m.size() / sizeof(T));
  ASHLAR_CUDA(cudaMemcpy, raw.data(), m.data(), m.size(), cudaMemcpyDeviceToHost);
  std::vector<double> values;
  for (T const x : raw) {
    if constexpr (sizeof(T) == 2)
      values.push_back(static_cast<double>(std::bit_cast<float>(std::uint32_t{x} << 16U)));
    else
      values.push_back(static_cast<double>(x));
  }
  return values;
}
std::vector<double> get(device_memory const& m, cudaDataType type) {
  return type == CUDA_R_64F   ? get_as<double>(m)
         : type == CUDA_R_32F ? get_as<float>(m)
                              : get_as<std::uint16_t>(m);
}

cublasLtMatrixLayout_t layout_of(shape const& s, cudaDataType type) {
  cublasLtMatrixLayout_t l{};
  ok(cublasLtMatrixLayoutCreate(&l, type, static_cast<std::uint64_t>(s.rows),
                                static_cast<std::uint64_t>(s.columns), s.ld));
  std::int32_t const batch = s.batch, order = s.order;
  std::int64_t const offset = s.offset;
  ok(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order));
  ok(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch));
  ok(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &offset,
                                      sizeof offset));
  return l;
}

// The result that the library leaves in d, which began as `before`.
std::vector<double> multiplied(example const& e, std::vector<double> const& a,
                               std::vector<double> const& b, std::vector<double> const& bias,
                               std::vector<double> const& before) {
  bool const doubles = e.in == CUDA_R_64F;
  auto const stream = ashlar::cuda::stream::make();
  device_memory const am = put(a, e.in), bm = put(b, e.in), dm = put(before, e.out),
                      biases = put(bias, e.out), workspace(std::size_t{4} << 20);
  cublasLtHandle_t handle{};
  cublasLtMatmulDesc_t desc{};
  cublasLtMatmulPreference_t preference{};
  ok(cublasLtCreate(&handle));
  ok(cublasLtMatmulDescCreate(&desc, doubles ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                              doubles ? CUDA_R_64F : CUDA_R_32F));
  ok(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &e.ta, sizeof e.ta));
  ok(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSB, &e.tb, sizeof e.tb));
  ok(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &e.epilogue,
                                    sizeof e.epilogue));
  void const* const bias_at = biases.data();
  if ((e.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0)
    ok(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias_at,
                                      sizeof bias_at));
  ok(cublasLtMatmulPreferenceCreate(&preference));
  std::uint64_t const most = workspace.size();
  ok(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most,
                                          sizeof most));
  std::array<cublasLtMatrixLayout_t, 3> const l{layout_of(e.a(), e.in), layout_of(e.b(), e.in),
                                                layout_of(e.d(), e.out)};
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  ok(cublasLtMatmulAlgoGetHeuristic(handle, desc, l[0], l[1], l[2], l[2], preference, 1, &found,
                                    &count));
  if (count != 1) throw std::runtime_error("no algorithm");
  auto const alpha = static_cast<float>(e.alpha), beta = static_cast<float>(e.beta);
  ok(cublasLtMatmul(handle, desc, doubles ? static_cast<void const*>(&e.alpha) : &alpha, am.data(), l[0],
                    bm.data(), l[1], doubles ? static_cast<void const*>(&e.beta) : &beta, dm.data(),
                    l[2], dm.data(), l[2], &found.algo, workspace.data(), workspace.size(),
                    stream.get()));
  ASHLAR_CUDA(cudaStreamSynchronize, stream.get());
  for (cublasLtMatrixLayout_t const one : l) ok(cublasLtMatrixLayoutDestroy(one));
  ok(cublasLtMatmulPreferenceDestroy(preference));
  ok(cublasLtMatmulDescDestroy(desc));
  ok(cublasLtDestroy(handle));
  return get(dm, e.out);
}

void check(example const& e) {
  CAPTURE(e.m);
  CAPTURE(e.n);
  CAPTURE(e.k);
  CAPTURE(e.ta);
  CAPTURE(e.tb);
  CAPTURE(e.in);
  CAPTURE(e.out);
  CAPTURE(e.order);
  shape const as = e.a(), bs = e.b(), ds = e.d();
  auto const a = numbers(as.size(), 1), b = numbers(bs.size(), 2),
             bias = numbers(static_cast<std::size_t>(e.m), 3), before = numbers(ds.size(), 4);
  auto const got = multiplied(e, a, b, bias, before);
  auto expected = before;  // nothing but the matrices is written to
  for (int n = 0; n < e.batch; ++n)
    for (int i = 0; i < e.m; ++i)
      for (int j = 0; j < e.n; ++j) {
        double x = 0;
        for (int k = 0; k < e.k; ++k)
          x += a[e.ta == CUBLAS_OP_N ? as.place(n, i, k) : as.place(n, k, i)]
               * b[e.tb == CUBLAS_OP_N ? bs.place(n, k, j) : bs.place(n, j, k)];
        x = e.alpha * x + e.beta * before[ds.place(n, i, j)];
        if ((e.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) x += bias[static_cast<std::size_t>(i)];
        if ((e.epilogue & CUBLASLT_EPILOGUE_RELU) != 0) x = std::max(x, 0.0);
        if ((e.epilogue & CUBLASLT_EPILOGUE_GELU) != 0)
          x *= 0.5 * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
        expected[ds.place(n, i, j)] = x;
      }
  double const tolerance = e.out == CUDA_R_16BF ? 1.0 / 128 : 1e-5;
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    worst = std::max(worst, std::abs(got[i] - expected[i]) / (1 + std::abs(expected[i])));
  CHECK(worst < tolerance);
}

TEST_CASE("cublaslt: products of all forms") {
  for (std::int32_t const ta : {CUBLAS_OP_N, CUBLAS_OP_T})
    for (std::int32_t const tb : {CUBLAS_OP_N, CUBLAS_OP_T})
      for (auto const& [in, out] :
           {std::pair{CUDA_R_32F, CUDA_R_32F}, std::pair{CUDA_R_16BF, CUDA_R_16BF},
            std::pair{CUDA_R_16BF, CUDA_R_32F}, std::pair{CUDA_R_64F, CUDA_R_64F}}) {
        check({.in = in, .out = out, .ta = ta, .tb = tb, .m = 16, .n = 24, .k = 32});
        check({.in = in,
               .out = out,
               .ta = ta,
               .tb = tb,
               .m = 40,
               .n = 8,
               .k = 72,
               .batch = 3,
               .alpha = 0.5,
               .beta = 2});
        check(
            {.in = in, .out = out, .ta = ta, .tb = tb, .m = 9, .n = 21, .k = 5, .alpha = -1, .beta = 1});
      }
}

TEST_CASE("cublaslt: row by row") {
  for (std::int32_t const ta : {CUBLAS_OP_N, CUBLAS_OP_T})
    check({.ta = ta, .order = CUBLASLT_ORDER_ROW, .m = 16, .n = 40, .k = 24, .batch = 2, .beta = 1});
}

TEST_CASE("cublaslt: what follows a product") {
  for (cudaDataType const type : {CUDA_R_32F, CUDA_R_16BF})
    for (auto const epilogue : {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_GELU,
                                CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS})
      check({.in = type,
             .out = type,
             .epilogue = static_cast<std::uint32_t>(epilogue),
             .m = 32,
             .n = 16,
             .k = 24});
}

}  // namespace cublaslt_tests
