// A block as a user would write one, checked while compiling: one micro-batch down three devices and up
// again, the weight passes where there is room.
#include <ashlar/ashlar.hpp>

using namespace ashlar;

constexpr block my_block() {
  return make_block(linear(devices{3}), costs{}, 3,
                    {pass_kind::forward, pass_kind::backward_input, pass_kind::backward_weight},
                    [](pass_kind kind, int stage) {
                      if (kind == pass_kind::forward) return tick{stage};
                      if (kind == pass_kind::backward_input) return tick{3 + 2 * (2 - stage)};
                      return tick{8 + stage};
                    });
}

constexpr schedule my_schedule() { return my_block() | repeat(micro_batches{8}) | squeeze(); }
constexpr program my_program() { return my_schedule() | lower(); }

static_assert(valid<my_block>());
static_assert(valid<my_schedule>());
static_assert(valid<my_program>());

// A lambda will do if no CUDA compiler translates the file.
#ifndef __CUDACC__
static_assert(valid<[] { return my_block() | mirror(); }>());
#endif

static_assert(lifespan(my_block(), stage_id{0}) == 9);
static_assert(activation_bound(my_block(), device_id{2}) == 3);
static_assert(makespan(my_schedule()) == 3 * 8 + 2);

// Micro-batches of different lengths, of which some passes take no time.
constexpr schedule uneven() {
  return my_schedule()
         | retime(costs(pass_costs::by_class({{1, 1, 0}, {3, 4, 0}}, 2, {0, 1, 0, 0, 1, 0, 0, 1}), 1));
}
constexpr program uneven_program() { return uneven() | take(micro_batches{3}) | squeeze() | lower(); }
static_assert(valid<uneven>());
static_assert(valid<uneven_program>());
static_assert(uneven().cost.of({pass_kind::backward, 2, 4}, 2) == 4);
