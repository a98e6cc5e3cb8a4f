// Sums in the order of their terms.
#include <ashlar/cuda/launch.hpp>
#include <ashlar/cuda/sums.hpp>

#include <algorithm>
#include <stdexcept>

namespace ashlar::cuda {

inline namespace sums_cu {

template <class T>
struct terms_of_a_sum {
  T const* at[most_terms];
  int count;
};

ASHLAR_DEVICE float add(float a, float b) { return a + b; }
ASHLAR_DEVICE double add(double a, double b) { return a + b; }
ASHLAR_DEVICE bf16 add(bf16 a, bf16 b) { return from_float<bf16>(to_float(a) + to_float(b)); }

// A thread reads its element of all terms before it writes: `out` may be one of them.
template <class T>
ASHLAR_KERNEL sum_in_order(T* out, terms_of_a_sum<T> terms, std::size_t n) {
  auto const step = static_cast<std::size_t>(blocks_x()) * static_cast<std::size_t>(threads());
  for (std::size_t i = static_cast<std::size_t>(block_x()) * static_cast<std::size_t>(threads())
                       + static_cast<std::size_t>(thread());
       i < n; i += step) {
    T sum = terms.at[0][i];
    for (int k = 1; k < terms.count; ++k) sum = add(sum, terms.at[k][i]);
    out[i] = sum;
  }
}

template <class T>
void start(std::byte* out, std::span<std::byte const* const> terms, std::size_t bytes,
           cudaStream_t stream) {
  constexpr int threads_of_a_block = 256;
  constexpr std::size_t most_blocks = 1024;
  std::size_t const n = bytes / sizeof(T);
  if (n == 0) return;
  terms_of_a_sum<T> all{};
  for (std::byte const* term : terms) all.at[all.count++] = reinterpret_cast<T const*>(term);
  std::size_t const blocks = std::min(most_blocks, (n + threads_of_a_block - 1) / threads_of_a_block);
  launch(sum_in_order<T>, {static_cast<int>(blocks), 1, 1}, threads_of_a_block, 0, stream,
         reinterpret_cast<T*>(out), all, n);
}

}  // namespace sums_cu

void check_summable(element_type element) {
  if (element != element_type::f32 && element != element_type::f64 && element != element_type::bf16)
    throw std::invalid_argument("a GPU adds elements of f32, f64 and bf16 alone");
}

void set_sum(element_type element, std::byte* out, std::span<std::byte const* const> terms,
             std::size_t bytes, cudaStream_t stream) {
  check_summable(element);
  if (terms.empty() || terms.size() > most_terms)
    throw std::invalid_argument("a sum on a GPU has 1 to 256 terms");
  if (element == element_type::f32)
    start<float>(out, terms, bytes, stream);
  else if (element == element_type::f64)
    start<double>(out, terms, bytes, stream);
  else
    start<bf16>(out, terms, bytes, stream);
}

}  // namespace ashlar::cuda
