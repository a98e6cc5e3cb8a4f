// Attention of one block alone, forward and backward, by precision and context. Options and their
// defaults: --contexts 512,2048, --head-widths 64,128, --heads 16, --sequences 2, --steps 20.
#include "measuring.hpp"

#include <cuda_bf16.h>
#include <gpt_cuda/kernels/attention.hpp>

#include <cstddef>
#include <random>

using namespace bench_cuda;
using gpt_cuda::attention_shape;

namespace {

template <class T>
T rounded_to(float x) {
  if constexpr (std::is_same_v<T, float>)
    return x;
  else
    return __float2bfloat16(x);
}

template <class T>
class array {
 public:
  explicit array(std::size_t count) : memory_(count * sizeof(T)) {
    std::mt19937 bits(1);
    std::normal_distribution<float> next;
    std::vector<T> values(count);
    for (T& v : values) v = rounded_to<T>(next(bits));
    cuda::upload(memory_.data(), values.data(), count * sizeof(T));
  }
  operator T*() const { return reinterpret_cast<T*>(memory_.data()); }

 private:
  cuda::device_memory memory_;
};

// Time of a call among many on a stream, in ms: the median of some such rows.
template <class Call>
double call_ms(cudaStream_t stream, int steps, Call const& call) {
  constexpr int in_a_row = 10;
  auto const begin = cuda::event::make(cuda::timing::on), end = cuda::event::make(cuda::timing::on);
  std::vector<double> times;
  for (int k = 0; k < steps + 2; ++k) {
    ASHLAR_CUDA(cudaEventRecord, begin.get(), stream);
    for (int i = 0; i < in_a_row; ++i) call();
    ASHLAR_CUDA(cudaEventRecord, end.get(), stream);
    ASHLAR_CUDA(cudaStreamSynchronize, stream);
    float ms = 0;
    ASHLAR_CUDA(cudaEventElapsedTime, &ms, begin.get(), end.get());
    if (k >= 2) times.push_back(static_cast<double>(ms) / in_a_row);
  }
  return median(times);
}

// Rate of the products that attention needs, each key with half of the queries: two forward, five
// backward.
double teraflops(attention_shape const& s, int products) {
  return static_cast<double>(products) * s.sequences * s.heads * s.context * s.context * s.head_width
         * 1e-12;
}

template <class T>
void measure(attention_shape const& s, char const* precision, int steps) {
  auto const rows = static_cast<std::size_t>(s.sequences * s.context),
             width = static_cast<std::size_t>(s.heads * s.head_width);
  array<T> const qkv(3 * rows * width), up(rows * width), merged(rows * width), dqkv(3 * rows * width);
  array<float> const exponent(rows * static_cast<std::size_t>(s.heads)),
      along(rows * static_cast<std::size_t>(s.heads));
  auto const stream = cuda::stream::make();
  double const forward = call_ms(stream.get(), steps, [&] {
    gpt_cuda::causal_attention<T>(s, qkv, merged, exponent, stream.get());
  });
  double const backward = call_ms(stream.get(), steps, [&] {
    gpt_cuda::causal_attention_backward<T>(s, qkv, merged, exponent, up, along, dqkv, stream.get());
  });
  std::printf("| %s | %d | %d | %.1f | %.1f | %.1f | %.1f |\n", precision, s.context, s.head_width,
              1e3 * forward, 1e3 * teraflops(s, 2) / forward, 1e3 * backward,
              1e3 * teraflops(s, 5) / backward);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  arguments const a(argc, argv);
  attention_shape of{.sequences = a.number("--sequences", 2), .heads = a.number("--heads", 16)};
  int const steps = a.number("--steps", 20);
  say_where();
  std::printf("%d heads, %d sequences.\n\n", of.heads, of.sequences);
  std::printf(
      "| precision | context | head width | forward µs | TFLOP/s | backward µs | TFLOP/s |\n"
      "|---|---:|---:|---:|---:|---:|---:|\n");
  for (int const width : a.numbers("--head-widths", {64, 128}))
    for (int const context : a.numbers("--contexts", {512, 2048})) {
      of.head_width = width;
      of.context = context;
      measure<__nv_bfloat16>(of, "bf16", steps);
      measure<float>(of, "float", steps);
    }
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
