// expect: breaks_rule.*rule::every_receive_has_its_send
// A frozen program is proved: one without one of its sends cannot be made static data.
#include "../mutate.hpp"
#include <ashlar/catalog/published.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/freeze.hpp>

using namespace ashlar;

constexpr program made() {
  program p = catalog::one_f_one_b(devices{2}) | repeat(micro_batches{2}) | squeeze() | lower();
#ifndef OK
  mutate::drop(p, 0, mutate::find(p, 0, opcode::send, {pass_kind::forward, 0, 0}));
#endif
  return p;
}

static_assert(freeze<made>.view().device_count == 2);
