// expect: breaks<[^']*overlapped_passes_are_a_pair[^']*device_<0>
// A slot of time with two backwards: only a forward runs beside one.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>

using namespace ashlar;

constexpr schedule made() {
  schedule s = catalog::find("1f1b")->make({devices{2}, micro_batches{3}});
  // Device 0: 0F0 0F1 0B0 0F2 0B1 0B2.
#ifndef OK
  s.order[0][4].beside = s.order[0][5].what;
  s.order[0].pop_back();
#endif
  return s;
}

static_assert(valid<made>());
