// expect: breaks<[^']*no_cycle_of_waits>[^']*device_<[01]>[^']*stage_<[01]>[^']*device_<[01]>
// Two devices with one transfer lane each send to each other before they receive: device 0 the
// activation of micro-batch 1, device 1 the gradient of micro-batch 0.
#include "../mutate.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>

using namespace ashlar;

constexpr program made() {
  program p = catalog::find("1f1b")->make({devices{2}, micro_batches{2}}) | lower();
#ifndef OK
  int const send = mutate::find(p, 1, opcode::send, {pass_kind::backward, 1, 0});
  mutate::move(p, 1, mutate::find(p, 1, opcode::receive, {pass_kind::forward, 0, 1}), send);
#endif
  return p;
}

static_assert(valid<made>());
