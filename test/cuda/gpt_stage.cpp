// Compares whole stages on the GPU with the host's, and with themselves in other forms.
#include "gpt_model.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

using namespace gpt_cuda_test;
using gpt_test::tied;
using gpt_test::tiny;

namespace {

// A width that packs divide, and one warp's worth of rows and more.
gpt::config packed(int stages) {
  return {.blocks = 2,
          .width = 96,
          .heads = 4,
          .context = 24,
          .sequences = 2,
          .micro_batches = 1,
          .stages = stages};
}

// Limits on the errors of the losses, of the whole gradient, and of each tensor of it.
struct bars {
  double losses, all, each;
};

void check_close(outcome const& found, outcome const& expected, bars const& most) {
  CHECK(distance(found.losses, expected.losses) < most.losses);
  REQUIRE(found.gradients.size() == expected.gradients.size());
  std::vector<double> all, all_expected;
  for (auto const& [name, gradient] : expected.gradients) {
    std::string const tensor = name;
    CAPTURE(tensor);
    std::vector<double> const one = as_doubles(found.gradients.at(tensor)), other = as_doubles(gradient);
    CHECK(distance(one, other) < most.each);
    all.insert(all.end(), one.begin(), one.end());
    all_expected.insert(all_expected.end(), other.begin(), other.end());
  }
  CHECK(distance(all, all_expected) < most.all);
}

std::vector<gpt::config> shapes() {
  return {tiny(1),   tiny(3),   tiny(3, 1),    tiny(2, 0),
          packed(1), packed(2), tied(tiny(1)), tied(packed(3))};
}

}  // namespace

TEST_CASE("gpt_cuda: in fp32, losses and gradients are the host's") {
  for (gpt::config const& shape : shapes()) {
    CAPTURE(shape.width);
    CAPTURE(shape.stages);
    CAPTURE(shape.tied);
    check_close(outcome_on_gpu<float>(shape), outcome_on_host(shape), {1e-5, 1e-5, 1e-5});
  }
}

// Some roundings of a relative 2^-8 each cancel in part: the whole gradient on an H100 is up to 1.2 %
// off.
TEST_CASE("gpt_cuda: in bf16, losses and gradients are those of fp32 up to some roundings") {
  for (gpt::config const& shape : shapes()) {
    CAPTURE(shape.width);
    CAPTURE(shape.stages);
    CAPTURE(shape.tied);
    check_close(outcome_on_gpu<bf16>(shape), outcome_on_host(shape), {1e-3, 4.0 / 256, 3e-2});
  }
}

TEST_CASE_TEMPLATE("gpt_cuda: split, recomputed, or cut into stages, the model gives the same bits", T,
                   float, bf16) {
  for (gpt::config const& shape : {tiny(1), packed(1), tied(tiny(1))}) {
    CAPTURE(shape.width);
    outcome const expected = outcome_on_gpu<T>(shape);
    CHECK(outcome_on_gpu<T>(shape, backward_form::split) == expected);
    CHECK(outcome_on_gpu<T>(shape, backward_form::fused, memory_form::recompute) == expected);
    for (int const stages : {2, 3, 5}) {
      CAPTURE(stages);
      gpt::config cut = shape;
      cut.stages = stages;
      bool const splits = stages == 3;
      CHECK(outcome_on_gpu<T>(cut, splits ? backward_form::split : backward_form::fused,
                              splits ? memory_form::recompute : memory_form::keep)
            == expected);
    }
  }
}
