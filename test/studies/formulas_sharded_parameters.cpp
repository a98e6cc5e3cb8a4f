#include "studies/formulas/sharded_parameters.hpp"
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace formulas;

namespace {

// 1000 parameters, at most 200 in a layer, on four ranks.
TEST_CASE("sharded parameters: what ranks keep and move") {
  auto const kept = [](sharding_level level) {
    return kept_parameters(1000, 200, {}, parameter_sharing{level, 4});
  };
  stage_memory m = kept(sharding_level::none);
  CHECK((m.weights == 2000 && m.weight_gradient == 4000 && m.optimizer_state == 12000));
  m = kept(sharding_level::optimizer);
  CHECK((m.weights == 2000 && m.weight_gradient == 4000 && m.optimizer_state == 3000));
  m = kept(sharding_level::gradients);
  CHECK((m.weights == 2000 && m.weight_gradient == 4 * (250 + 200) && m.optimizer_state == 3000));
  m = kept(sharding_level::full);
  CHECK((m.weights == 2 * (250 + 400) && m.weight_gradient == 4 * (250 + 200)));
  // It is never more than the whole.
  CHECK(kept_parameters(300, 300, {}, {sharding_level::full, 2}).weights == 600);

  auto const once = [](sharding_level level) { return reduced_bytes(parameter_sharing{level, 4}); };
  CHECK((once(sharding_level::none) == 0.75 * 8 && once(sharding_level::optimizer) == 0.75 * 6));
  CHECK((once(sharding_level::gradients) == 0.75 * 2 && once(sharding_level::full) == 0));
  CHECK(reduced_bytes({sharding_level::none, 1}) == 0);
  CHECK((gathered_bytes({sharding_level::full, 4}) == 1.5
         && scattered_bytes({sharding_level::full, 4}) == 3));
  CHECK((gathered_bytes({sharding_level::gradients, 4}) == 0
         && scattered_bytes({sharding_level::gradients, 4}) == 3));
  CHECK(scattered_bytes({sharding_level::optimizer, 4}) == 0);
}

}  // namespace
