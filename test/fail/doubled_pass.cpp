// expect: breaks<[^']*no_pass_is_doubled[^']*device_<2>[^']*stage_<2>, ashlar::micro_batch_<1>
// A program that computes the forward of micro-batch 1 on stage 2 twice.
#include "../mutate.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>

using namespace ashlar;

constexpr program made() {
  program p = catalog::find("gpipe")->make({devices{3}, micro_batches{2}}) | lower();
#ifndef OK
  int const at = mutate::find(p, 2, opcode::compute, {pass_kind::forward, 2, 1});
  mutate::insert(p, 2, at, mutate::at(p, 2, at));
#endif
  return p;
}

static_assert(valid<made>());
