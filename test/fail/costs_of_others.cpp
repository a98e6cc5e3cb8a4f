// expect: has_wrong_size.*table::stage_costs
// The error at run time names the table that has the wrong size, too.
#include <ashlar/ashlar.hpp>

using namespace ashlar;

#ifdef OK
constexpr int count = 2;
#else
constexpr int count = 3;
#endif

static_assert(valid<[] {
  std::vector<stage_cost> const each(count, stage_cost{});
  return catalog::one_f_one_b(devices{2}) | repeat(micro_batches{2}) | retime(costs(each));
}>());
