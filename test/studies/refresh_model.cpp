#include "studies/pipefisher/refresh_model.hpp"
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

TEST_CASE("a step, its bubble and the steps from refresh to refresh") {
  refresh_times const t{1, 2, 0.5, 3, 0.25};
  refresh_model const one = model_refresh(t, devices{4}, micro_batches{8}, false, false);
  CHECK((one.step == 11 * 3 && one.bubble == 3 * 3 && one.with_work == 33.25 && one.steps == 7.0 / 9));
  refresh_model const again = model_refresh(t, devices{4}, micro_batches{8}, false, true);
  CHECK((again.step == 11 * 4 && again.bubble == 3 * 4));
  refresh_model const two = model_refresh(t, devices{4}, micro_batches{4}, true, false);
  CHECK((two.step == 4 * 1 + 6 * 2 && two.bubble == 2 * 2));  // D forwards, 2D - 2 backwards
  CHECK(model_refresh(t, devices{4}, micro_batches{8}, true, false).bubble == 3);
}

}  // namespace
