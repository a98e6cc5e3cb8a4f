#include <ashlar/cost/step/kernels.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"

#include <doctest/doctest.h>

#include <cmath>

// The names of predict/ are those of other rooms, too: tests are among them.
namespace ashlar::cost::testing {

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

TEST_CASE("kernels: boards with less power run products slower, on Hopper and Blackwell") {
  constants const c = round_constants();
  machine m = hopper();
  m.power = 350;
  CHECK(product_rate(m, number_format::bf16, c) < 0.7 * 500e12);
  m.built = generation::blackwell;
  m.power = 1200;
  CHECK(product_rate(m, number_format::bf16, c) == 500e12);
  m.power = 1000;
  CHECK(product_rate(m, number_format::bf16, c) == doctest::Approx(500e12 * std::pow(5 / 6.0, 0.6)));
  m.built = generation::ampere;
  CHECK(product_rate(m, number_format::bf16, c) == 500e12);
}

TEST_CASE("kernels: casts read 16 bits, and write both ways round with scales") {
  constants const c = round_constants();
  layer_work w;
  w.quantised_forward = 1e9;
  w.quantised_backward = 2e9;
  auto const bytes = [&](number_format format) {
    question q = asked(dense_model(1));
    q.program.format = format;
    seconds_each_way const s = bytes_seconds(q, w, c);
    CHECK(s.backward == doctest::Approx(2 * s.forward));
    return s.forward * memory_rate(hopper(), c) / 1e9;
  };
  CHECK(bytes(number_format::bf16) == 0);
  CHECK(bytes(number_format::fp8) == doctest::Approx(2 + 2 + 1 + 1));  // the largest element first
  CHECK(bytes(number_format::mxfp8) == doctest::Approx(2 + 2 * 33 / 32.0));
  CHECK(bytes(number_format::nvfp4) == doctest::Approx(2 + 2 + 2 * 9 / 16.0));
}

TEST_CASE("kernels: attention by its kernel, where the machine tells them apart") {
  constants c = round_constants();
  c.attention_hopper = 0.64;
  c.attention_hopper_flash = 0.32;
  c.attention_hopper_triton = 0.16;
  question q = asked(dense_model(1));
  auto const seconds = [&](attention_kernel kernel) {
    q.program.attention = kernel;
    check(q);
    return attention_seconds(q, work_of(q, q.model.kinds[0]), c).forward;
  };
  // Half of 2048 x 2048 scores of 16 heads of 64, a tile of 128 on the diagonal whole.
  double const scores = 16 * 2048 * 2049.0 / 2 * (1 + 128 / 2048.0);
  double const exponentials = scores / 4e12, products = scores * 4 * 64 / 1000e12;
  q.program.kind = program_kind::tuned;
  CHECK(seconds(attention_kernel::flash_2)
        == doctest::Approx(products / 0.32 + exponentials).epsilon(1e-3));
  for (attention_kernel fast :
       {attention_kernel::flash_3, attention_kernel::cudnn, attention_kernel::sdpa,
        attention_kernel::fused, attention_kernel::automatic})
    CHECK(seconds(fast) == doctest::Approx(products / 0.64 + exponentials).epsilon(1e-3));
  // Each program has kernels of its own.
  q.program.kind = program_kind::plain;
  CHECK(seconds(attention_kernel::automatic) == seconds(attention_kernel::flash_2));
  CHECK(seconds(attention_kernel::sdpa) < seconds(attention_kernel::automatic));
  q.program.kind = program_kind::automatic;
  q.layout.sharding = sharding::full;
  CHECK(seconds(attention_kernel::automatic)
        == doctest::Approx(products / 0.16 + exponentials).epsilon(1e-3));
  // Elsewhere one constant stands for all, and kernels written for Hopper do not run.
  for (generation built : {generation::ampere, generation::blackwell}) {
    q.cluster.device().built = built;
    CHECK(seconds(attention_kernel::flash_2) == seconds(attention_kernel::cudnn));
    CHECK_THROWS_AS(seconds(attention_kernel::flash_3), unpredictable);
  }
}

TEST_CASE("kernels: a plain program rotates queries and keys in kernels of 32 bits") {
  question q = asked(dense_model(1));
  auto const moved = [&](program_kind program) {
    q.program.kind = program;
    layer l = q.model.kinds[0];
    l.feed.kind = feed_forward_kind::none;
    return work_of(q, l).forward_bytes;
  };
  // It moves 8 more reads and writes of 16 bits, of 16 heads of queries and 8 of keys.
  CHECK(moved(program_kind::plain) - moved(program_kind::tuned)
        == doctest::Approx(2 * 8 * 2048.0 * (16 + 8) * 64));
}

}  // namespace ashlar::cost::testing
