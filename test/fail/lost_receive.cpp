// expect: breaks<[^']*every_send_has_its_receive[^']*device_<1>[^']*send[^']*stage_<1>[^']*device_<2>
// Device 2 does not take what device 1 sends.
#include "../mutate.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>

using namespace ashlar;

constexpr program made() {
  program p = catalog::find("gpipe")->make({devices{3}, micro_batches{2}}) | lower();
#ifndef OK
  mutate::drop(p, 2, mutate::find(p, 2, opcode::receive, {pass_kind::forward, 1, 1}));
#endif
  return p;
}

static_assert(valid<made>());
