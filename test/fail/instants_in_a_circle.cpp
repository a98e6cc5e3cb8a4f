// expect: breaks<[^']*order_has_no_cycle
// Two passes that take no time, at one time: the order of their device says which comes first, and here
// the backward does.
#include <ashlar/ashlar.hpp>

using namespace ashlar;

#ifdef OK
constexpr bool turned = false;
#else
constexpr bool turned = true;
#endif

static_assert(valid<[] {
  schedule s =
      catalog::one_f_one_b(devices{1}) | repeat(micro_batches{1}) | retime(costs(stage_cost{0, 0, 0}));
  if (turned) std::swap(s.order[0][0], s.order[0][1]);
  return s;
}>());
