// expect: breaks<[^']*gradient_is_reduced_after_its_last_weight_pass[^']*device_<2>[^']*reduce
// Device 2 reduces the gradient of its stage before the last micro-batch has been added.
#include "../mutate.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>

using namespace ashlar;

constexpr program made() {
  program p = catalog::find("gpipe")->make({devices{3}, micro_batches{2}}) | lower();
#ifndef OK
  mutate::move(p, 2, mutate::find_reduction(p, 2, 2),
               mutate::find(p, 2, opcode::compute, {pass_kind::backward, 2, 1}));
#endif
  return p;
}

static_assert(valid<made>());
