// expect: breaks<[^']*no_pass_starts_before_its_input[^']*device_<2>[^']*device_<1>[^']*stage_<1>
// The forward of stage 2 starts together with that of stage 1.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>

using namespace ashlar;

#ifdef OK
constexpr tick by = 3;
#else
constexpr tick by = -1;
#endif

static_assert(valid<[] {
  return with_interval(catalog::one_f_one_b(devices{3}), 9) | delay({pass_kind::backward, 2, 0}, 6)
         | delay({pass_kind::backward, 1, 0}, 6) | delay({pass_kind::backward, 0, 0}, 6)
         | delay({pass_kind::forward, 2, 0}, by);
}>());
