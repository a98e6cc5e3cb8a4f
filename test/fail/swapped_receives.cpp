// expect: breaks<[^']*sends_and_receives_have_the_same_order[^']*device_<1>[^']*stage_<1>[^']*device_<2>
// Device 2 receives micro-batch 1 first, device 1 sends micro-batch 0 first.
#include "../mutate.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>

using namespace ashlar;

constexpr program made() {
  program p = catalog::find("gpipe")->make({devices{3}, micro_batches{2}}) | lower();
#ifndef OK
  mutate::exchange(p, 2, mutate::find(p, 2, opcode::receive, {pass_kind::forward, 1, 0}),
                   mutate::find(p, 2, opcode::receive, {pass_kind::forward, 1, 1}));
#endif
  return p;
}

static_assert(valid<made>());
