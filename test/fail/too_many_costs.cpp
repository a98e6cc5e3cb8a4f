// expect: breaks<[^']*tables_agree[^']*number_<3>[^']*needs_<[^']*stage_costs, 2>
// Costs of three stages for a block of two.
#include <ashlar/ashlar.hpp>

using namespace ashlar;

#ifdef OK
constexpr int count = 2;
#else
constexpr int count = 3;
#endif

static_assert(valid<[] {
  block b = catalog::one_f_one_b(devices{2});
  b.cost.passes = std::vector<stage_cost>(count);
  return b;
}>());
