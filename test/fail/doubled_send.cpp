// expect: breaks<[^']*no_transfer_is_doubled[^']*device_<1>[^']*stage_<1>[^']*device_<1>
// A program in which device 1 sends the same activation twice.
#include "../mutate.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>

using namespace ashlar;

constexpr program made() {
  program p = catalog::find("gpipe")->make({devices{3}, micro_batches{2}}) | lower();
#ifndef OK
  int const at = mutate::find(p, 1, opcode::send, {pass_kind::forward, 1, 0});
  mutate::insert(p, 1, at, mutate::at(p, 1, at));
#endif
  return p;
}

static_assert(valid<made>());
