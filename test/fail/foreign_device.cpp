// expect: breaks_rule.*every_stage_has_a_device
// expect-clang: breaks_rule<ashlar::rule::every_stage_has_a_device>
// Two devices, and a stage on the sixth.
#include <ashlar/ashlar.hpp>

using namespace ashlar;

#ifdef OK
constexpr int last = 1;
#else
constexpr int last = 5;
#endif

static_assert(valid<[] {
  using enum pass_kind;
  return make_block(placement(devices{2}, {{0, last}}), costs{}, 3, {forward, backward},
                    [](pass_kind kind, int stage) { return kind == forward ? stage : 4 - 2 * stage; });
}>());
