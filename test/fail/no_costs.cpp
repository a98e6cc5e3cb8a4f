// expect: has_wrong_size.*table::stage_costs
// Costs of no stage cannot be made.
#include <ashlar/ashlar.hpp>

using namespace ashlar;

#ifdef OK
constexpr int count = 1;
#else
constexpr int count = 0;
#endif

static_assert(costs(std::vector<stage_cost>(count, stage_cost{})).passes.are_alike());
