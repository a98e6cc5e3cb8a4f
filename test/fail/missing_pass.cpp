// expect: breaks<[^']*every_pass_is_present[^']*device_<1>[^']*weight[^']*stage_<1>
// A block without the weight pass of stage 1.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>

using namespace ashlar;

constexpr block made() {
  block b = catalog::zb_h1(devices{2});
#ifndef OK
  b.cells.pop_back();
#endif
  return b;
}

static_assert(valid<made>());
