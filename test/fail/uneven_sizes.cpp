// expect: breaks<[^']*micro_batches_fill_blocks[^']*number_<2>
// Three micro-batches do not fill stages that take two at once.
#include <ashlar/catalog/graphs.hpp>
#include <ashlar/check/valid.hpp>

using namespace ashlar;

static_assert(valid<[] {
  schedule s = catalog::one_f_one_b(in_micro_batches(chain(stages{2}), {1, 2}), linear(devices{2}),
                                    micro_batches{4});
#ifndef OK
  s.route.pop_back();
#endif
  return s;
}>());
