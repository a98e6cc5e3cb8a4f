#include <ashlar/check/valid.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

using namespace shapes;

namespace {

constexpr block by_function() { return catalog::v_half(devices{3}); }

static_assert(valid<by_function>());
static_assert(valid<[] { return one_f_one_b(3, 3); }>());
static_assert(valid<[] { return one_f_one_b(2, 2) | lower(); }>());

// A broken rule is printed as these types.
using a_site =
    valid_detail::site_type<site{.device = 2, .index = 5, .code = opcode::send, .what = {F, 1, 3}}>;
static_assert(
    std::is_same_v<a_site::type,
                   at_<device_<2>, position_<5>, doing_<opcode::send, F>, stage_<1>, micro_batch_<3>>>);
static_assert(std::is_same_v<valid_detail::site_type<site{}>::type, nowhere_>);

TEST_CASE("valid is a constant") {
  constexpr bool answer = valid<by_function>();
  CHECK(answer);
}

}  // namespace
