// Compares RoundPipe's tasks and their devices with those that its authors' code cuts and dispatches
// (data/gold/round_pipe.json names repository, revision and functions).
#include <ashlar/catalog/round_pipe.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

using namespace ashlar;
using nlohmann::json;

namespace {

// The passes of a device, in the order of the tasks that went to it, of rounds of m micro-batches.
std::vector<pass> dispatched_to(int device, json const& tasks, int m) {
  std::vector<pass> all;
  int round = -1;
  for (json const& t : tasks) {
    std::string const kind = t[1];
    int const first = t[2], count = t[3];
    // A round begins with the first layer's forward.
    if (kind != "B" && first == 0) ++round;
    if (t[0].get<int>() != device) continue;
    for (int k = round * m; k < (round + 1) * m; ++k) {
      for (int layer = first; layer < first + count && kind != "B"; ++layer)
        all.push_back({pass_kind::forward, layer, k});
      for (int layer = first + count; layer-- > first && kind != "F";) {
        if (kind == "B") all.push_back({pass_kind::recompute, layer, k});
        all.push_back({pass_kind::backward, layer, k});
      }
    }
  }
  return all;
}

TEST_CASE("RoundPipe's tasks, and the devices that they go to") {
  constexpr int m = 3, rounds = 2;
  json const gold = json::parse(std::ifstream(ASHLAR_TEST_DATA "/gold/round_pipe.json"));
  int compared = 0;
  for (json const& g : gold["cases"]) {
    CAPTURE(g.dump());
    int const p = g["devices"];
    catalog::round_pipe_layers const layers{.forwards = g["forwards"],
                                            .backwards = g["backwards"],
                                            .weights = g["sizes"],
                                            .in_training = g["sizes"],
                                            .limit = g["limit"]};
    catalog::round_pipe_cut const cut = catalog::plan_round_pipe(layers, p);
    CHECK(cut.forwards == g["forward_tasks"].get<std::vector<int>>());
    CHECK(cut.backwards == g["backward_tasks"].get<std::vector<int>>());
    schedule const s = catalog::round_pipe(devices{p}, micro_batches{m}, cut, {}, rounds);
    for (int d = 0; d < p; ++d) {
      std::vector<pass> passes;
      for (timed_pass const t : each_pass(s.order[static_cast<std::size_t>(d)]))
        passes.push_back(t.what);
      CHECK(passes == dispatched_to(d, g["dispatched"], m));
    }
    ++compared;
  }
  CHECK(compared == 40);
}

}  // namespace
