// A sum that has no order.
#include <doctest/doctest.h>
#include <gpt/exact_sum.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace {

gpt::exact_sum sum_of(std::vector<double> const& values) {
  gpt::exact_sum sum;
  for (double const x : values) sum.add(x);
  return sum;
}

}  // namespace

TEST_CASE("exact sum: nothing is rounded before the end") {
  double const large = std::ldexp(1.0, 53), least = std::numeric_limits<double>::denorm_min();
  CHECK(sum_of({}).value() == 0);
  CHECK(sum_of({large, 1, 1}).value() == large + 2);
  CHECK(sum_of({1, large, 1}).value() == large + 2);
  CHECK(sum_of({least, least, least}).value() == 3 * least);
  CHECK(sum_of({1.5, 0, 0.125}).value() == 1.625);
  CHECK(!(sum_of({large, least}) == sum_of({large})));
  gpt::exact_sum ones;
  ones.add_squares(std::span<float const>(std::vector<float>(100'000, -3.0F)));
  CHECK(ones.value() == 900'000);
}

TEST_CASE("exact sum: what is not finite is seen, and too much is infinite") {
  double const most = std::numeric_limits<double>::max(),
               infinity = std::numeric_limits<double>::infinity();
  CHECK(std::isnan(sum_of({1, infinity}).value()));
  CHECK(std::isnan(sum_of({std::nan(""), 1}).value()));
  CHECK(sum_of({most}).value() == most);
  CHECK(sum_of(std::vector<double>(1000, most)).value() == infinity);
  gpt::exact_sum both = sum_of({1});
  both.add(sum_of({infinity}));
  CHECK(std::isnan(both.value()));
}

TEST_CASE("exact sum: any order, and any division into sums of sums, has the same bits") {
  std::mt19937 draw(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<double> values(200);
    for (double& x : values)
      x = std::ldexp(1 + static_cast<double>(draw()) * 0x1p-32, static_cast<int>(draw() % 400) - 200);
    gpt::exact_sum const all = sum_of(values);
    std::ranges::shuffle(values, draw);
    auto const cut = values.begin() + static_cast<std::ptrdiff_t>(draw() % 200);
    gpt::exact_sum parts = sum_of({values.begin(), cut});
    parts.add(gpt::exact_sum(sum_of({cut, values.end()}).as_words()));
    CHECK(parts == all);
    std::ranges::sort(values);  // so that little is lost
    long double near = 0;
    for (double const x : values) near += x;
    CHECK(all.value() == doctest::Approx(static_cast<double>(near)).epsilon(1e-15));
  }
}
