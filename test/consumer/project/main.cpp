#include <ashlar/ashlar.hpp>

#include <cstdio>

// 1F1B fills in p - 1 and drains in p - 1 steps of one forward and one backward, which takes two ticks.
constexpr ashlar::tick length = [] {
  using namespace ashlar;
  return makespan(catalog::one_f_one_b(devices{4}) | repeat(micro_batches{8}) | squeeze());
}();

int main() {
  std::printf("makespan %lld\n", static_cast<long long>(length));
  return length == 3 * (8 + 4 - 1) ? 0 : 1;
}
