// Products that the substitute of cuBLASLt refuses.
#include <ashlar/cuda/handles.hpp>

#include <cublasLt.h>
#include <cublaslt_substitute.hpp>
#include <cuda_runtime.h>
#include <doctest/doctest.h>
#include <substitute.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cublaslt_tests {

// The product is d = a b, 16 x 16 each, in fp32; each test spoils one thing.
struct small_product {
  ashlar::cuda::stream on = ashlar::cuda::stream::make();
  ashlar::cuda::device_memory memory{4096}, workspace{4096};
  cublasLtHandle_t handle{};
  cublasLtMatmulDesc_t desc{};
  cublasLtMatmulPreference_t preference{};
  std::array<cublasLtMatrixLayout_t, 4> layouts{};
  std::array<std::byte*, 4> at{};
  cublasLtMatmulHeuristicResult_t found{};
  std::size_t workspace_bytes = 4096;

  small_product() {
    REQUIRE(cublasLtCreate(&handle) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(cublasLtMatmulPreferenceCreate(&preference) == CUBLAS_STATUS_SUCCESS);
    std::uint64_t const most = 4096;
    REQUIRE(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                 &most, sizeof most)
            == CUBLAS_STATUS_SUCCESS);
    for (std::size_t i = 0; i < 4; ++i) {
      REQUIRE(cublasLtMatrixLayoutCreate(&layouts[i], CUDA_R_32F, 16, 16, 16) == CUBLAS_STATUS_SUCCESS);
      at[i] = memory.data() + (i < 2 ? i : 2) * 1024;
    }
    REQUIRE(choose() == CUBLAS_STATUS_SUCCESS);
  }
  small_product(small_product const&) = delete;
  small_product& operator=(small_product const&) = delete;
  ~small_product() {
    for (cublasLtMatrixLayout_t const l : layouts) cublasLtMatrixLayoutDestroy(l);
    cublasLtMatmulPreferenceDestroy(preference);
    cublasLtMatmulDescDestroy(desc);
    cublasLtDestroy(handle);
  }
  cublasStatus_t choose() {
    int count = 0;
    return cublasLtMatmulAlgoGetHeuristic(handle, desc, layouts[0], layouts[1], layouts[2], layouts[3],
                                          preference, 1, &found, &count);
  }
  cublasStatus_t run() const {
    float const alpha = 1, beta = 1;
    return cublasLtMatmul(handle, desc, &alpha, at[0], layouts[0], at[1], layouts[1], &beta, at[2],
                          layouts[2], at[3], layouts[3], &found.algo, workspace.data(), workspace_bytes,
                          on.get());
  }
  template <class Value>
  void set(std::size_t i, cublasLtMatrixLayoutAttribute_t attribute, Value value) const {
    REQUIRE(cublasLtMatrixLayoutSetAttribute(layouts[i], attribute, &value, sizeof value)
            == CUBLAS_STATUS_SUCCESS);
  }
};

TEST_CASE("cublaslt refuses wrong layouts") {
  cuda_substitute::reset();
  {
    small_product p;
    CHECK(p.run() == CUBLAS_STATUS_SUCCESS);
    for (std::size_t i = 0; i < 4; ++i) {
      CAPTURE(i);
      auto const refused = [&]<class Value>(cublasLtMatrixLayoutAttribute_t attribute, Value bad,
                                            Value good,
                                            cublasStatus_t expected = CUBLAS_STATUS_INVALID_VALUE) {
        p.set(i, attribute, bad);
        CHECK(p.run() == expected);
        CHECK(p.choose() == expected);
        p.set(i, attribute, good);
        CHECK(p.choose() == CUBLAS_STATUS_SUCCESS);
      };
      refused(CUBLASLT_MATRIX_LAYOUT_LD, std::int64_t{15}, std::int64_t{16});
      refused(CUBLASLT_MATRIX_LAYOUT_ROWS, std::uint64_t{15}, std::uint64_t{16});
      refused(CUBLASLT_MATRIX_LAYOUT_COLS, std::uint64_t{15}, std::uint64_t{16});
      refused(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{2}, std::int32_t{1});
      refused(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{0}, std::int32_t{1});
      refused(CUBLASLT_MATRIX_LAYOUT_TYPE, std::uint32_t{CUDA_R_16BF}, std::uint32_t{CUDA_R_32F},
              CUBLAS_STATUS_NOT_SUPPORTED);
    }
    std::int64_t const wide = 16;
    CHECK(cublasLtMatrixLayoutSetAttribute(p.layouts[0], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &wide,
                                           sizeof wide)
          == CUBLAS_STATUS_INVALID_VALUE);
    CHECK(cudaStreamSynchronize(p.on.get()) == cudaSuccess);
  }
  CHECK(cublaslt_substitute::live_objects() == 0);
}

TEST_CASE("cublaslt refuses memory and algorithms that are none") {
  cuda_substitute::reset({.devices = 2});
  small_product p;
  for (std::size_t i = 0; i < 4; ++i) {
    std::byte* const good = p.at[i];
    std::vector<std::byte> host(1024);
    for (std::byte* const bad : {host.data(), static_cast<std::byte*>(nullptr),
                                 p.memory.data() + 3072 + 256, p.memory.data() + 4}) {
      p.at[i] = bad;
      CHECK(p.run() == CUBLAS_STATUS_INVALID_VALUE);
    }
    p.at[i] = good;
  }
  p.workspace_bytes = 4095;  // less than the algorithm needs
  CHECK(p.run() == CUBLAS_STATUS_INVALID_VALUE);
  p.workspace_bytes = 4097;  // more than there is
  CHECK(p.run() == CUBLAS_STATUS_INVALID_VALUE);
  p.workspace_bytes = 4096;
  p.set(0, CUBLASLT_MATRIX_LAYOUT_LD, std::int64_t{17});  // chosen for another problem
  p.at[0] = p.memory.data();
  CHECK(p.run() == CUBLAS_STATUS_INVALID_VALUE);
  p.set(0, CUBLASLT_MATRIX_LAYOUT_LD, std::int64_t{16});
  CHECK(p.run() == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cudaStreamSynchronize(p.on.get()) == cudaSuccess);
  {
    ashlar::cuda::on_gpu const other(1);
    p.on = ashlar::cuda::stream::make();
  }
  CHECK(p.run() == CUBLAS_STATUS_INVALID_VALUE);
}

TEST_CASE("cublaslt: calls can be made to fail") {
  cuda_substitute::reset();
  small_product p;
  cuda_substitute::fail_call(0, cudaErrorUnknown);
  CHECK(p.run() == CUBLAS_STATUS_EXECUTION_FAILED);
  cuda_substitute::fail_call(0, cudaErrorUnknown);
  CHECK(p.choose() == CUBLAS_STATUS_INTERNAL_ERROR);
  cublasLtHandle_t none{};
  cuda_substitute::fail_call(0, cudaErrorUnknown);
  CHECK(cublasLtCreate(&none) == CUBLAS_STATUS_ALLOC_FAILED);
  CHECK(none == nullptr);
}

}  // namespace cublaslt_tests
