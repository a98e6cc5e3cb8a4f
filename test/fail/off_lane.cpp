// expect: breaks<[^']*every_instruction_is_on_its_lane[^']*device_<1>
// Device 1 receives on the lane that computes: it would keep its passes waiting.
#include "../mutate.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>

using namespace ashlar;

constexpr program made() {
  program p = catalog::find("1f1b")->make({devices{3}, micro_batches{2}}) | lower();
#ifndef OK
  mutate::at(p, 1, mutate::find(p, 1, opcode::receive, {pass_kind::forward, 0, 1})).lane = compute_lane;
#endif
  return p;
}

static_assert(valid<made>());
