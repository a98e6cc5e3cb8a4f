#include <ashlar/predict/kernels.hpp>
// First, so that it needs nothing before it.

#include "predicted_runs.hpp"

#include <doctest/doctest.h>

// The names of predict/ are those of other rooms, too: tests are among them.
namespace ashlar::predict::testing {

TEST_CASE("kernels: a large product is as fast as its share of the peak") {
  constants c = round_constants();
  c.wave = c.traffic = 1e-9;
  product const p{.m = 8192, .n = 8192, .k = 8192};
  double const rate = product_rate(hopper(), number_format::bf16, c);
  CHECK(rate == 500e12);
  CHECK(product_seconds(hopper(), rate, p, 2, c) == doctest::Approx(2 * 8192.0 * 8192 * 8192 / 500e12));
}

TEST_CASE("kernels: small products pay for the wave that they do not fill") {
  constants const c = round_constants();
  machine const m = hopper();
  double const rate = product_rate(m, number_format::bf16, c);
  auto const seconds_each = [&](double rows) {
    return product_seconds(m, rate, {.m = rows, .n = 1024, .k = 1024}, 2, c) / rows;
  };
  CHECK(seconds_each(128) > 4 * seconds_each(16384));
}

TEST_CASE("kernels: boards with less power run products slower, on Hopper") {
  constants const c = round_constants();
  machine m = hopper();
  m.power = 350;
  CHECK(product_rate(m, number_format::bf16, c) < 0.7 * 500e12);
  m.built = generation::blackwell;
  CHECK(product_rate(m, number_format::bf16, c) == 500e12);
}

}  // namespace ashlar::predict::testing
