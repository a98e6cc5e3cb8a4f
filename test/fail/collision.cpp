// expect: breaks<[^']*passes_do_not_collide>[^']*device_<2>[^']*stage_<2>
// A block whose passes meet when it repeats: on device 2 the backward's second tick is the next
// forward's.
#include <ashlar/check/valid.hpp>

using namespace ashlar;

#ifdef OK
constexpr tick pause = 0;
#else
constexpr tick pause = 1;
#endif

constexpr block hand_made() {
  return make_block(linear(devices{3}), {}, 3, {pass_kind::forward, pass_kind::backward},
                    [](pass_kind kind, int stage) {
                      if (kind == pass_kind::forward) return tick{stage};
                      return tick{7 - 2 * stage + (stage == 2 ? pause : 3)};
                    });
}

static_assert(valid<hand_made>());
