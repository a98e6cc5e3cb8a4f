// A schedule from scratch: one micro-batch's passes, repeated, squeezed, checked while compiling, drawn.
#include <ashlar/ashlar.hpp>
#include <ashlar/render/text.hpp>

#include <cstdio>

using namespace ashlar;

// Four devices with a stage each and a split backward, every pass one tick. Forwards go down a device a
// tick, input gradients come up in two, and the weight passes stand where a device has its third tick
// free. A new micro-batch follows every three ticks, so that in each interval a device does just the
// work of one.
constexpr block my_block() {
  using enum pass_kind;
  return make_block(linear(devices{4}), costs{}, /*interval=*/3, {forward, backward_input},
                    [](pass_kind kind, int stage) { return kind == forward ? stage : 10 - 2 * stage; })
         | weights_in_first_gaps();
}

// Repeated as it is, every micro-batch runs like the first; squeezed, idle time goes where order and
// dependencies allow.
constexpr schedule loose() { return my_block() | repeat(micro_batches{8}); }
constexpr schedule tight() { return loose() | squeeze(); }

static_assert(valid<my_block>());  // no collisions, no pass before its input
static_assert(valid<tight>());     // every micro-batch forward and backward once
static_assert(makespan(loose()) == 33 && makespan(tight()) < makespan(loose()));
static_assert(peak_activations(tight())[0] <= activation_bound(my_block(), device_id{0}));

int main() {
  std::printf("The block:\n%s\n", text(my_block()).c_str());
  std::printf("Eight micro-batches, squeezed:\n%s\n", text(tight()).c_str());
  std::printf("%d ticks, squeezed %d; a device computes for %d of them.\n",
              static_cast<int>(makespan(loose())), static_cast<int>(makespan(tight())),
              static_cast<int>(busy(tight())[0]));
  std::printf("activations held by each device:");
  for (int peak : peak_activations(tight())) std::printf(" %d", peak);
  std::printf("\n");
}
