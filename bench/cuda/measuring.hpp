// Shared by the measurements: schedules by name, and how steps are timed.
#pragma once

#include <ashlar/ashlar.hpp>
#include <ashlar/catalog.hpp>
#include <ashlar/cuda/runtime.hpp>

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace bench_cuda {

using namespace ashlar;

struct named_block {
  char const* name;
  block (*of)(int devices);
};
inline constexpr std::array<named_block, 3> blocks = {
    {{"1f1b", [](int p) { return catalog::one_f_one_b(devices{p}); }},
     {"zb-h1", [](int p) { return catalog::zb_h1(devices{p}); }},
     {"v-half", [](int p) { return catalog::v_half(devices{p}); }}}};

inline schedule schedule_of(named_block const& b, int p, int m) {
  return b.of(p) | repeat(micro_batches{m}) | squeeze();
}

using steady = std::chrono::steady_clock;
inline double ms_since(steady::time_point begin) {
  return std::chrono::duration<double, std::milli>(steady::now() - begin).count();
}
inline double median(std::vector<double> values) {
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The time of a step in ms: the median of some, each waited for, after two that are not counted.
template <class Runtime>
double step_ms(Runtime& r, int steps) {
  std::vector<double> times;
  for (int k = 0; k < steps + 2; ++k) {
    auto const begin = steady::now();
    r.run();
    if (k >= 2) times.push_back(ms_since(begin));
  }
  return median(times);
}

// Memory of the GPU in use, in bytes, by all processes.
inline double used_bytes() {
  std::size_t left = 0, total = 0;
  ASHLAR_CUDA(cudaMemGetInfo, &left, &total);
  return static_cast<double>(total - left);
}
inline double mib(double bytes) { return bytes / (1 << 20); }

inline void say_where() {
  cudaDeviceProp p{};
  int toolkit = 0, driver = 0;
  ASHLAR_CUDA(cudaGetDeviceProperties, &p, 0);
  ASHLAR_CUDA(cudaRuntimeGetVersion, &toolkit);
  ASHLAR_CUDA(cudaDriverGetVersion, &driver);
  std::printf("%s, CUDA %d.%d, driver for %d.%d. All devices share it.\n\n", p.name, toolkit / 1000,
              toolkit % 1000 / 10, driver / 1000, driver % 1000 / 10);
}

// `--name value` pairs of a command line, numbers with commas between them.
class arguments {
 public:
  arguments(int argc, char** argv) : words_(argv + 1, argv + argc) {}

  std::vector<int> numbers(std::string_view name, std::vector<int> otherwise) const {
    std::string_view text = word(name, "");
    if (text.empty()) return otherwise;
    std::vector<int> all;
    for (;; text.remove_prefix(text.find(',') + 1)) {
      std::string_view const one = text.substr(0, text.find(','));
      int value = 0;
      if (std::from_chars(one.data(), one.data() + one.size(), value).ec != std::errc{} || value < 1)
        throw std::invalid_argument(std::string(name) + " takes numbers from 1");
      all.push_back(value);
      if (text.find(',') == std::string_view::npos) return all;
    }
  }
  int number(std::string_view name, int otherwise) const { return numbers(name, {otherwise})[0]; }
  std::string_view word(std::string_view name, std::string_view otherwise) const {
    for (std::size_t i = 0; i + 1 < words_.size(); i += 2)
      if (words_[i] == name) return words_[i + 1];
    return otherwise;
  }

 private:
  std::vector<std::string_view> words_;
};

}  // namespace bench_cuda
