// expect: breaks<[^']*pass_is_on_its_device[^']*device_<1>[^']*stage_<2>[^']*device_<2>
// A schedule with a forward of stage 2 on device 1.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>

using namespace ashlar;

constexpr schedule made() {
  schedule s = catalog::find("gpipe")->make({devices{3}, micro_batches{2}});
#ifndef OK
  s.order[1].push_back(s.order[2].front());
  s.order[2].erase(s.order[2].begin());
#endif
  return s;
}

static_assert(valid<made>());
