// expect: breaks<[^']*no_slot_is_overwritten_before_its_last_read[^']*device_<1>[^']*stage_<1>
// On device 1 the forward of micro-batch 1 keeps its activations where those of micro-batch 0 still are.
#include "../mutate.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>

using namespace ashlar;

constexpr program made() {
  program p = catalog::find("gpipe")->make({devices{3}, micro_batches{2}}) | lower();
#ifndef OK
  int const first = mutate::find(p, 1, opcode::compute, {pass_kind::forward, 1, 0});
  int const second = mutate::find(p, 1, opcode::compute, {pass_kind::forward, 1, 1});
  int const stash = mutate::at(p, 1, first).operand_count - 1;
  mutate::operand_of(p, 1, second, stash) = mutate::operand_of(p, 1, first, stash);
#endif
  return p;
}

static_assert(valid<made>());
