// Places where numbers stop being finite.
#include "gpt/finite.hpp"

#include "support.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

#include <limits>

namespace {

ashlar::program program_for(char const* name, gpt::config const& shape) {
  ashlar::lower_options options;
  if (shape.tied) options.shared_parameters = {gpt::tied_stages(shape)};
  return lower(ashlar::catalog::find(name)->make(
                   {ashlar::devices{shape.stages}, ashlar::micro_batches{shape.micro_batches}}),
               options);
}

}  // namespace

TEST_CASE_TEMPLATE("the first stage whose numbers are not finite is named", Scalar, float, double) {
  for (char const* const name : {"1f1b", "zb-h1"})
    for (int const poisoned : {-1, 0, 1, 2})
      for (bool const predicts : {false, true}) {
        auto const shape =
            predicts ? gpt_test::predicting_apart(gpt_test::small(3)) : gpt_test::small(3);
        ashlar::program const p = program_for(name, shape);
        gpt::worker<Scalar> w(shape, 1, gpt::site_in(p, 0));
        w.set_batch(gpt_test::batch_for(shape));
        if (poisoned >= 0)  // of a last bias or weight, whose sum is an output
          w.visit(poisoned, [](auto const&, auto const& weight, auto const&) {
            weight.row(0)[0] = std::numeric_limits<Scalar>::infinity();
          });
        auto const found = gpt::first_non_finite<Scalar>(p, {&w});
        CHECK(found.has_value() == (poisoned >= 0));
        if (!found) continue;
        CHECK(found->stage == poisoned);
        CHECK(found->micro_batch == 0);
      }
}
