// expect: on_device::is<1>.*of_stage::is<1>.*in_micro_batch::is<2>.*rule::order_has_no_cycle
// expect-clang: breaks_rule<ashlar::rule::order_has_no_cycle>.*at_device_stage_micro_batch\(1, 1, 2, d\)
// A schedule whose orders wait for each other: squeeze() stops, and the message has the device, stage
// and micro-batch that wait.
#include <ashlar/catalog/one_f_one_b.hpp>
#include <ashlar/check/valid.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <utility>

using namespace ashlar;

constexpr schedule reordered() {
  schedule s = catalog::one_f_one_b(devices{2}) | repeat(micro_batches{4}) | squeeze();
#ifndef OK
  std::swap(s.order[1][4], s.order[1][5]);  // the backward of micro-batch 2 before its forward
#endif
  return squeeze(s);
}

static_assert(valid<reordered>());
