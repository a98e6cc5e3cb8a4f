#include <ashlar/run/pass_times.hpp>
// The header above comes first: it needs nothing before it.
#include <ashlar/catalog/one_f_one_b.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

using namespace ashlar;

TEST_CASE("passes take what their instructions took, by stage and kind") {
  program const p = catalog::one_f_one_b(devices{2}) | repeat(micro_batches{3}) | squeeze() | lower();
  // A forward takes 100 ns a stage, counted from 1, a backward as much again, a transfer too long.
  std::vector<instruction_time> times;
  for (int d = 0; d < 2; ++d)
    for (instruction const& i : p.view().stream(d)) {
      std::int64_t const unit = 100 * (i.what.stage + 1);
      times.push_back({.begin = 7,
                       .end = 7
                              + (i.code != opcode::compute           ? 1'000'000
                                 : i.what.kind == pass_kind::forward ? unit
                                                                     : 2 * unit)});
    }
  pass_timing timing(2);
  timing.add(p.view(), {}, [](int, int) { return true; });
  CHECK_FALSE(timing.times().any());
  timing.add(p.view(), times, [](int, int device) { return device == 1; });
  CHECK(timing.times().of(pass_kind::forward, 0).samples == 0);
  timing.add(p.view(), times, [](int, int) { return true; });
  pass_times const all = timing.times();
  CHECK(all.any());
  CHECK((all.of(pass_kind::forward, 0).samples == 3 && all.of(pass_kind::forward, 1).samples == 6));
  CHECK((all.of(pass_kind::forward, 1).median == 200 && all.of(pass_kind::backward, 1).median == 400));
  // Each part has half of a fused backward; a pass that was not measured takes a tick.
  CHECK(all.costs(10) == std::vector{stage_cost{10, 10, 10, 1}, stage_cost{20, 20, 20, 1}});
}

TEST_CASE("a fused backward is shared as its parts are") {
  auto const at = [](pass_kind kind) { return pass_times::index_of(kind, 0); };
  std::vector<std::vector<double>> own(pass_kinds), split(pass_kinds);
  own[at(pass_kind::forward)] = {10};
  own[at(pass_kind::backward)] = {80};
  split[at(pass_kind::forward)] = {11};
  split[at(pass_kind::backward_input)] = {75};
  split[at(pass_kind::backward_weight)] = {25};
  auto const fused = stage_times(pass_times(own), pass_times(split), 0);
  CHECK((fused[0].median == 10 && fused[1].median == 60 && fused[2].median == 20));
  CHECK(fused[3].samples == 0);
  auto const parts = stage_times(pass_times(split), pass_times(split), 0);
  CHECK((parts[0].median == 11 && parts[1].median == 75 && parts[2].median == 25));
}
