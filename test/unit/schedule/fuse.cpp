#include <ashlar/schedule/fuse.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/from_orders.hpp>

using namespace shapes;

namespace {

int weight_count(schedule const& s) {
  int count = 0;
  for (auto const& order : s.order) count += static_cast<int>(weight_passes(order).size());
  return count;
}

TEST_CASE("a weight pass goes up to its input pass") {
  schedule const s = squeeze(
      schedule_from_orders(linear(devices{1}), {0, 0}, {},
                           {{{F, 0, 0}, {I, 0, 0}, {F, 0, 1}, {I, 0, 1}, {W, 0, 1}, {W, 0, 0}}}));
  schedule const fused = fuse_backward(s);
  CHECK((check(fused).ok() && fused.order[0].size() == 4));
  CHECK((fused.order[0][1].what == pass{B, 0, 0} && fused.order[0][3].what == pass{B, 0, 1}));
  CHECK(fused.order[0][2].start == 3);  // squeezed
  CHECK((fuse_where_free(s) == fused && (s | fuse_backward()) == fused
         && (s | fuse_where_free()) == fused));
}

TEST_CASE("all are fused, or those that make nothing longer") {
  schedule const s = catalog::zb_h1(devices{4}) | repeat(micro_batches{8}) | squeeze();
  schedule const free = fuse_where_free(s), all = fuse_backward(s);
  CHECK((check(free).ok() && check(all).ok()));
  CHECK((makespan(free) == makespan(s) && span(free) == span(s) && makespan(all) > makespan(s)));
  CHECK((weight_count(all) == 0 && 0 < weight_count(free) && weight_count(free) < weight_count(s)));
  static_assert(
      weight_passes(fuse_backward(catalog::zb_h1(devices{2}) | repeat(micro_batches{2})).order[0])
          .empty());
}

TEST_CASE("fusing undoes splitting, and takes every schedule of the catalog") {
  for (catalog_case const& c : catalog_cases({4}, {4, 8})) {
    schedule const s = c.schedule(), free = fuse_where_free(s);
    CAPTURE(c);
    CHECK((check(free).ok() && check(fuse_backward(s)).ok()));
    if (ready_to_fuse(s) == s) CHECK((makespan(free) <= makespan(s) && span(free) <= span(s)));
    if (weight_count(s) == 0) CHECK(fuse_backward(split_backward(s)) == squeeze(s));
  }
}

TEST_CASE("pairs with an input or weight pass are taken apart, others stay") {
  schedule const s = catalog::find("stp")->make({devices{2}, micro_batches{8}}),
                 fused = fuse_backward(s);
  int before = 0, after = 0, whole = 0;
  for (auto const& order : s.order)
    for (time_slot const& t : order) {
      before += t.is_pair();
      whole += t.is_pair() && t.beside.kind == pass_kind::backward;
    }
  for (auto const& order : fused.order)
    for (time_slot const& t : order) after += t.is_pair();
  CHECK((0 < whole && whole < before && after == whole && check(fused).ok()));
}

TEST_CASE("what cannot be fused") {
  schedule const s = split_backward(one_f_one_b(2, 2));
  schedule missing = s, worked = s;
  missing.order[1][1].what.kind = pass_kind::recompute;  // an input pass
  CHECK_BREAKS(every_pass_is_present, fuse_backward(missing));
  CHECK_BREAKS(every_pass_is_present, fuse_where_free(missing));
  worked.order[0].push_back({{X, 0, 0}, 0});
  worked.work = work_graph({{.parts = {{0, 1}}}}, {});
  CHECK_BREAKS(tables_agree, fuse_backward(worked));
  CHECK_BREAKS(tables_agree, fuse_where_free(worked));
}

}  // namespace
