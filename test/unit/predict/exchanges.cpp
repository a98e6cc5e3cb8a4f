#include <ashlar/predict/exchanges.hpp>
// First, so that it needs nothing before it.

#include "predicted_runs.hpp"

#include <doctest/doctest.h>

// The names of predict/ are those of other rooms, too: tests are among them.
namespace ashlar::predict::testing {

TEST_CASE("exchanges: tensor ranks in one domain, and in several") {
  constants const c = round_constants();  // half of each link
  question q = asked(dense_model(4), 4);
  q.tensor = 8;
  CHECK(tensor_bytes_seconds(q, 1e9, c) == doctest::Approx(1e9 / (0.5 * 400e9)));
  q.tensor = 16;  // through the node, and over its eight ports
  CHECK(tensor_bytes_seconds(q, 1e9, c)
        == doctest::Approx(1e9 / (0.5 * 400e9) + 1e9 / (0.5 * 8 * 50e9)));
  q.device.domain = 72;
  CHECK(tensor_bytes_seconds(q, 1e9, c) == doctest::Approx(1e9 / (0.5 * 400e9)));
}

TEST_CASE("exchanges: a transfer is as it was measured, if it was") {
  constants const c = round_constants();
  question q = asked(dense_model(4), 4);
  q.pipeline = 4;
  q.data = 8;
  double const counted = 2 * 2048 * 1024.0 / (0.5 * 50e9) + c.latency;
  CHECK(transfer_seconds(q, c) == doctest::Approx(counted));
  q.measured_transfer = 0.25;
  CHECK(transfer_seconds(q, c) == 0.25);
}

}  // namespace ashlar::predict::testing
