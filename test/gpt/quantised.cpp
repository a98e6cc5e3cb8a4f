// Weights in few bits.
#include "gpt/bit_widths.hpp"
#include "support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace {

// Replaces the model's own weights by those that the codes stand for.
void expand_in_place(gpt::worker<float>& w, std::vector<int> const& bits) {
  gpt::carver<float> from(w.weights(0).data());
  gpt::stage_parameters<float> const own(from, gpt::shape_of(w.shape(), 0));
  std::size_t at = 0;
  for (int b = 0; b < w.shape().blocks; ++b)
    for (gpt::matrix<float> const& m : gpt::products_of(own.blocks[b]))
      gpt::quantised_matrix<float>(m, bits[at++]).expand(m);
}

}  // namespace

TEST_CASE("a quantised weight is within half a step of its group") {
  constexpr int rows = 37, cols = 5;  // the last group of a column has five weights
  std::vector<float> values(rows * cols);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i * i));
  for (int i = 0; i < rows; ++i) values[static_cast<std::size_t>(i * cols + 3)] = 2.5F;  // all alike
  gpt::matrix<float const> const m{values.data(), rows, cols, cols};
  for (int bits : {3, 4, 8}) {
    gpt::quantised_matrix<float> const q(m, bits);
    CHECK(q.bytes() == (rows * cols * static_cast<std::size_t>(bits) + 7) / 8 + 1 + 2 * cols * 8);
    std::vector<float> back(values.size());
    q.expand(gpt::matrix<float>{back.data(), rows, cols, cols});
    for (int j = 0; j < cols; ++j)
      for (int first = 0; first < rows; first += gpt::quantisation_group) {
        int const last = std::min(first + gpt::quantisation_group, rows);
        float low = m(first, j), high = low, worst = 0;
        for (int i = first; i < last; ++i) {
          low = std::min(low, m(i, j)), high = std::max(high, m(i, j));
          worst = std::max(worst, std::abs(m(i, j) - back[static_cast<std::size_t>(i * cols + j)]));
        }
        CHECK(worst <= (high - low) / static_cast<float>((1 << bits) - 1) / 2 + 1e-6F);
      }
  }
}

TEST_CASE("a quantised model's loss is that of a model with the weights that its codes stand for") {
  gpt::worker<float> w(gpt_test::small(1), 5);
  gpt::batch const tokens = gpt_test::batch_for(w.shape());
  w.set_batch(tokens);
  std::vector<int> bits;
  for (int i = 0; i < w.shape().blocks * 4; ++i)
    bits.push_back(gpt::bit_widths[static_cast<std::size_t>(i % 3)]);
  gpt::quantised_model<float> const model(w.shape(), std::as_const(w).weights(0), bits);
  double const loss = gpt::loss_of(model, w.shape(), tokens);
  expand_in_place(w, bits);
  gpt::sequential<float>(w).evaluate();
  CHECK(loss == w.loss());
}

TEST_CASE("chosen bits are no worse than uniform ones in the same memory") {
  gpt::worker<float> w(gpt_test::small(1), 5);
  gpt::sequential<float> run(w);
  w.set_batch(gpt_test::batch_for(w.shape()));
  for (int step = 0; step < 20; ++step) {
    run.step();
    gpt::update(std::vector{&w}, {});
  }
  auto const widths = gpt::measured_widths<float>(w.shape(), std::as_const(w).weights(0),
                                                  gpt_test::batch_for(w.shape(), 1));
  REQUIRE(widths.size() == 12);
  for (std::vector<ashlar::variant> const& each : widths) {
    CHECK((each[0].memory < each[1].memory && each[1].memory < each[2].memory));
    CHECK(each[2].penalty == 0);
  }
  bool is_better = false;
  for (int which : {0, 1, 2}) {
    ashlar::choice const uniform = gpt::uniform_width(widths, which);
    ashlar::choice const chosen = ashlar::choose(widths, uniform.what.memory);
    REQUIRE(chosen.of.size() == widths.size());
    CHECK(chosen.what.memory <= uniform.what.memory);
    CHECK(chosen.what.cost() <= uniform.what.cost());
    is_better = is_better || chosen.what.cost() < uniform.what.cost();
  }
  CHECK(is_better);
}
