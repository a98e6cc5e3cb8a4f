// What a program that offloads holds when it runs: as much as is proved, on the device and on the host.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/conformance/network.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

using namespace ashlar;

namespace {

struct held_bytes {
  std::int64_t on_device = 0, on_host = 0;

  friend bool operator==(held_bytes const&, held_bytes const&) = default;
};

// By the proof: every slot as large as the largest value in it.
held_bytes proved_bytes(program const& p, conformance::network const& w) {
  held_bytes sum;
  program_view const view = p.view();
  for (int d = 0; d < p.device_count(); ++d) {
    auto const sizes = slot_sizes(view, d, [&](value_key key) {
      return layout_on(view, 0, key, [&](value_key k) { return w.layout(k); }).bytes;
    });
    for (std::size_t slot = 0; slot < sizes.size(); ++slot)
      (is_on_host(view.slots_of(d)[slot]) ? sum.on_host : sum.on_device) += (sizes[slot] + 63) / 64 * 64;
  }
  return sum;
}

}  // namespace

TEST_CASE("host: what is allocated is what is proved, and what leaves makes it less on the device") {
  schedule const s = catalog::find("gpipe")->make({devices{3}, micro_batches{6}});
  offload_options away{.forwards = {}, .copy = {1}};
  for (int stage : {0, 1, 2})
    for (int k : {1, 2, 3, 4}) away.forwards.push_back({pass_kind::forward, stage, k});
  program const stays = lower(s), goes = lower(s, {.offload = away});
  auto const allocated = [](program const& p) {
    conformance::network w(p);
    host::runtime runtime(p, w);
    runtime.run();
    held_bytes const found{static_cast<std::int64_t>(runtime.slot_bytes()),
                           static_cast<std::int64_t>(runtime.host_slot_bytes())};
    held_bytes const proved = proved_bytes(p, w);
    // The last slot of each device is not rounded up.
    CHECK((found.on_host <= proved.on_host && found.on_host >= proved.on_host - 3 * 63));
    CHECK((found.on_device <= proved.on_device && found.on_device >= proved.on_device - 3 * 63));
    return found;
  };
  held_bytes const before = allocated(stays), after = allocated(goes);
  CHECK((before.on_host == 0 && after.on_host > 0));
  CHECK(after.on_device < before.on_device);
}

TEST_CASE("host: by the times of a run no device holds more than is proved") {
  schedule const s = catalog::find("gpipe")->make({devices{3}, micro_batches{6}});
  offload_options away{.forwards = {}, .copy = {1}};
  for (int k : {1, 2, 3, 4}) away.forwards.push_back({pass_kind::forward, 0, k});
  program const p = lower(s, {.offload = away});
  conformance::network w(p);
  w.delays = 3;
  host::runtime runtime(p, w, {.record = true});
  simulation_options o;
  o.memory.stages = {{.stash = 1}};
  for (int step = 0; step < 5; ++step) {
    runtime.run();
    timeline line;
    for (instruction_time const& t : runtime.times()) {
      line.timed.push_back({.start = t.begin, .end = t.end});
      line.makespan = std::max(line.makespan, t.end);
    }
    std::vector<device_memory> const measured = memory_over_time(p, line, o);
    CHECK((measured[0].peak <= measured[0].reserved && measured[0].reserved < 6));
    CHECK((measured[0].host_peak <= measured[0].host_reserved && measured[0].host_peak > 0));
    CHECK(measured[0].host_reserved <= 4);
    CHECK((measured[1].peak == 6 && measured[1].host_peak == 0));
    w.take();
  }
}
