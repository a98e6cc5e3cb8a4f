// expect: breaks<[^']*stages_are_convex[^']*position_<1>[^']*position_<6>[^']*number_<1>
// A path from operator 1 through stage 1 comes back to operator 6: these two cannot be in one stage.
#include <ashlar/check/valid.hpp>
#include <ashlar/model/operator_partition.hpp>

#include <vector>

using namespace ashlar;

struct cut {
  stage_graph operators;
  std::vector<int> stage_of;

  friend constexpr diagnosis check(cut const& c) { return check_partition(c.operators, c.stage_of); }
};

#ifdef OK
constexpr int last = 2;
#else
constexpr int last = 0;
#endif

static_assert(valid<[] {
  return cut{{stages{7}, {{0, 1}, {1, 2}, {2, 6}, {3, 4}, {4, 5}, {5, 6}}}, {0, 0, 1, 1, 1, 1, last}};
}>());
