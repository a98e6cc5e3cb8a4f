#include <ashlar/optimize/reorder.hpp>
// First, so that it needs nothing before it.
#include "shapes.hpp"
#include "static_check.hpp"
#include <ashlar/schedule/check.hpp>

#include <algorithm>

using namespace shapes;

namespace {

constexpr bool is_forward(timed_pass const& t) { return t.what.kind == F; }

constexpr bool test_shorter() {
  schedule const s = catalog::v_min(devices{3}) | repeat(micro_batches{3}) | squeeze();
  schedule const r = s | reorder();
  HOLDS(check(r).ok());
  HOLDS(makespan(r) <= makespan(s) && span(r) <= span(s) && peak_of_all(r) <= peak_of_all(s));
  return true;
}
BOTH_TIMES("never longer, never more memory", test_shorter)

TEST_CASE("only warm-up and cool-down change, and where they can be better they are") {
  int better = 0;
  for (auto of : {catalog::v_min, catalog::v_half, catalog::v_zb, catalog::one_f_one_b_v, catalog::zb_h1,
                  catalog::one_f_one_b})
    for (int p = 2; p <= 8; ++p)
      for (costs const& c : {costs{}, costs(stage_cost{10, 13, 7}, 1), costs(stage_cost{2, 5, 3})}) {
        CAPTURE(p);
        schedule const s = of(devices{p}) | repeat(micro_batches{3 * p}) | retime(c);
        schedule const r = reorder(s);
        CHECK(check(r).ok());
        CHECK(makespan(r) <= makespan(s));
        CHECK(span(r) <= span(s));
        CHECK(peak_of_all(r) <= peak_of_all(s));
        better += span(r) < span(s) ? 1 : 0;
        for (std::size_t d = 0; d < s.order.size(); ++d) {
          auto const& x = s.order[d];
          auto const first = std::find_if_not(x.begin(), x.end(), is_forward) - x.begin();
          auto const last = x.rend() - std::find_if(x.rbegin(), x.rend(), is_forward);
          for (auto i = first; i < last; ++i)
            CHECK(r.order[d][static_cast<std::size_t>(i)].what == x[static_cast<std::size_t>(i)].what);
        }
      }
  CHECK(better > 10);
}

}  // namespace
