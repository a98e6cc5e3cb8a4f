// Bounds and memory limits while compiling, for one micro-batch after the other.
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <vector>

using namespace ashlar;

constexpr schedule one_by_one() {
  std::vector<std::vector<pass>> orders(2);
  for (int i = 0; i < 3; ++i)
    for (int stage = 0; stage < 2; ++stage)
      for (pass_kind kind : {pass_kind::forward, pass_kind::backward_input, pass_kind::backward_weight})
        orders[static_cast<std::size_t>(stage)].push_back({kind, stage, i});
  return schedule_from_orders(linear(devices{2}), {0, 0, 0}, costs(stage_cost{3, 4, 2}, 2), orders)
         | squeeze();
}
static_assert(check(one_by_one()).ok());
static_assert(makespan(one_by_one()) == 60);  // 3 + 2 + 3 + 4 + 2 + 4 + 2 a micro-batch
#if !defined(__CUDACC__)  // nvcc 13 loses the workload on its way through the optional
static_assert(schedule_bound(one_by_one(), 2)->makespan == 40);
#endif

// One device has half the speed; the weights of one leave half of its memory.
constexpr schedule on_a_slow_device() {
  schedule s = one_by_one();
  s.cost.on.speeds = {100, 50};
  return squeeze(s);
}
static_assert(makespan(on_a_slow_device()) == 60 + 3 * (3 + 4));  // weight passes have time
static_assert(memory_limit{.memory = {.stages = {{.stash = 10}, {.weights = 20, .stash = 10}}},
                           .budget = {40}}
                  .free_on(linear(devices{2}), 1)
              == 20);
