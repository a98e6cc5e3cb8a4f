// expect: breaks<[^']*taken_gradient_is_given_back[^']*device_<1>[^']*reduce
// Device 1 reduces its gradient right after its last backward, before the clipped one is given back.
#include "../mutate.hpp"
#include <ashlar/catalog/one_f_one_b.hpp>
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/values/clip.hpp>

using namespace ashlar;

constexpr program made() {
  program p = lower(catalog::one_f_one_b(devices{2}) | repeat(micro_batches{2}) | clip_micro_batches());
#ifndef OK
  mutate::move(p, 1, mutate::find(p, 1, opcode::all_reduce, {pass_kind::backward_weight, 1, 0}),
               mutate::find(p, 1, opcode::compute, {pass_kind::backward, 1, 1}) + 1);
#endif
  return p;
}

static_assert(valid<made>());
