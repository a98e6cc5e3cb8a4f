// Times of instructions, in steps that are issued and in steps that are replayed.
#include "staged.hpp"
#include <ashlar/catalog.hpp>
#include <ashlar/conformance/conforms.hpp>
#include <ashlar/cuda/runtime.hpp>
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace ashlar;

TEST_CASE("cuda: recorded times are of the last step, and keep the order of each lane") {
  program const p = lower(catalog::v_half(devices{2}) | repeat(micro_batches{4}) | squeeze());
  for (cuda::issue_mode const mode : {cuda::issue_mode::eager, cuda::issue_mode::replay}) {
    CAPTURE(static_cast<int>(mode));
    conformance::network net(p);
    cuda_test::staged worker(net);
    cuda::runtime runtime(p, worker, {.mode = mode, .record = true, .gpus = {0}});
    std::vector<instruction_time> before;
    for (int step = 1; step <= 4; ++step) {
      CAPTURE(step);
      runtime.run();
      std::vector<instruction_time> const times = runtime.times();
      REQUIRE(times.size() == p.instructions.size());
      CHECK((before.empty() || before.back().end != times.back().end));
      before = times;
      std::size_t at = 0;
      for (int d = 0; d < p.device_count(); ++d) {
        std::vector<std::int64_t> free(static_cast<std::size_t>(p.view().lane_count), 0);
        for (instruction const& i : p.view().stream(d)) {
          instruction_time const own = times[at++];
          std::int64_t& lane = free[static_cast<std::size_t>(i.lane)];
          constexpr std::int64_t resolution = 1000;  // ns, of a GPU's events
          CHECK(own.begin + resolution >= lane);
          CHECK(own.end >= own.begin);
          lane = own.end;
        }
      }
    }
  }
}
