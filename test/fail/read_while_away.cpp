// expect: breaks<[^']*slot_holds_what_is_read[^']*device_<0>
// The backward of a micro-batch stands before what its forward kept is back from the host.
#include "../mutate.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>

using namespace ashlar;

constexpr program made() {
  program p = lower(catalog::find("1f1b")->make({devices{2}, micro_batches{2}}),
                    {.offload = {.forwards = {{pass_kind::forward, 0, 0}}}});
#ifndef OK
  mutate::move(p, 0, mutate::find(p, 0, opcode::compute, {pass_kind::backward, 0, 0}),
               mutate::find(p, 0, opcode::reload, {pass_kind::forward, 0, 0}));
#endif
  return p;
}

static_assert(valid<made>());
