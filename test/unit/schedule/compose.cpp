#include <ashlar/schedule/compose.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/schedule/check.hpp>

using namespace shapes;

namespace {

TEST_CASE("merging the parts of a repetition") {
  block const b = catalog::zb_h1(devices{3});
  schedule const five = repeat(b, micro_batches{5});
  CHECK(five == merge(repeat(b, micro_batches{2}), shift(repeat(b, micro_batches{3}), 2 * 3)));
  CHECK(five == (repeat(b, micro_batches{4}) | merge(shift(repeat(b, micro_batches{1}), 4 * 3))));
}

TEST_CASE("both passes of a pair are renumbered") {
  schedule const one = catalog::find("dualpipe")->make({devices{2}, micro_batches{4}}),
                 both = merge(one, shift(one, makespan(one)));
  int pairs = 0;
  for (std::size_t d = 0; d < one.order.size(); ++d)
    for (std::size_t i = 0; i < one.order[d].size(); ++i) {
      time_slot const &first = one.order[d][i], &again = both.order[d][one.order[d].size() + i];
      if (!first.is_pair()) continue;
      ++pairs;
      CHECK(again.what.micro_batch == first.what.micro_batch + 4);
      CHECK(again.beside.micro_batch == first.beside.micro_batch + 4);
    }
  CHECK((pairs > 0 && check(both).ok()));
}

TEST_CASE("one after another, with a flush between") {
  schedule const a = one_f_one_b(3, 2), b = one_f_one_b(3, 4), c = then(a, b);
  CHECK((check(c).ok() && c.micro_batch_count() == 6));
  CHECK(makespan(c) == makespan(a) + makespan(b));
  CHECK((a | then(b)) == c);
  schedule const turned = then(a, mirror(b));
  CHECK(makespan(squeeze(turned)) < makespan(turned));  // the last device need not wait for the first
}

TEST_CASE("another placement becomes another route") {
  schedule const down = one_f_one_b(3, 2), up = mirror(down), both = then(down, up);
  CHECK((both.where.route_count() == 2 && both.route == std::vector<int>{0, 0, 1, 1}));
  CHECK(check(both).ok());
  CHECK(then(down, down).where.route_count() == 1);
  schedule const three = then(both, down);
  CHECK((three.route == std::vector<int>{0, 0, 1, 1, 2, 2} && check(three).ok()));
  schedule const behind = then(down, both);
  CHECK((behind.route == std::vector<int>{0, 0, 1, 1, 2, 2} && check(behind).ok()));
  CHECK(mirror(mirror(both)) == both);
}

TEST_CASE("only the first micro-batches") {
  schedule const s = one_f_one_b(3, 5), two = s | take(micro_batches{2});
  CHECK((check(two).ok() && two.micro_batch_count() == 2));
  CHECK(squeeze(two) == one_f_one_b(3, 2));
  CHECK(take(s, micro_batches{5}) == s);
}

TEST_CASE("a pass whose partner is not taken is alone") {
  schedule const s =
      catalog::dualpipev(devices{2}, micro_batches{8}) | squeeze() | take(micro_batches{5});
  int pairs = 0, forwards = 0;
  for (auto const& order : s.order) {
    for (time_slot const& t : order) pairs += t.is_pair();
    for (timed_pass const t : each_pass(order)) forwards += t.what.kind == F;
  }
  CHECK((pairs > 0 && forwards == 4 * 5 && check(squeeze(s)).ok()));
}

TEST_CASE("shifted") {
  schedule const s = one_f_one_b(2, 2);
  CHECK((shift(shift(s, 9), -9) == s && makespan(s | shift(9)) == makespan(s) + 9));
}

TEST_CASE("fused backwards of a schedule split in two") {
  schedule const s = retime(one_f_one_b(3, 4), costs(stage_cost{3, 5, 2}, 1)), t = split_backward(s);
  CHECK((check(t).ok() && makespan(t) == makespan(s) && busy(t) == busy(s)));
  CHECK((peak_activations(t) == peak_activations(s) && split_backward(t) == t));
  std::vector<time_slot> const& order = t.order[2];  // F I W F I W ...
  CHECK((order.size() == 12 && order[1].what == pass{I, 2, 0} && order[2].what == pass{W, 2, 0}));
  CHECK((order[1].start == order[0].start + 3 && order[2].start == order[1].start + 5));
  CHECK(makespan(squeeze(t)) < makespan(t));  // gradients are ready before the weights are through
}

TEST_CASE("the forwards of some stages once more") {
  schedule const s = split_backward(one_f_one_b(2, 2)), t = recompute(s, {0});
  CHECK((check(t).ok() && t.order[1].size() == s.order[1].size()));
  CHECK((t.order[0].size() == 8 && t.order[0][2].what == pass{R, 0, 0}));
  CHECK((t.order[0][3].what == pass{I, 0, 0} && t.order[0][5].what == pass{R, 0, 1}));
  CHECK((recompute(t, {1}) == recompute(s, {0, 1}) && recompute(s, {}) == squeeze(s)));
  CHECK(squeeze(t) == t);  // its starts are right as they are
  CHECK(retime(recompute(one_f_one_b(3, 4), {0, 1, 2}), {})
        == retime(catalog::one_f_one_b_recompute(devices{3}) | repeat(micro_batches{4}), {}));
}

TEST_CASE("a recompute comes before the whole of an overlapped pair, and once") {
  schedule s = catalog::dualpipev(devices{2}, micro_batches{8});
  std::vector<int> const every{0, 1, 2, 3};
  schedule const t = squeeze(recompute(s, every));
  CHECK(check(t).ok());
  CHECK_BREAKS(no_pass_is_doubled, recompute(t, {2}));
}

TEST_CASE("splitting keeps every schedule of the catalog valid, as long and as large") {
  for (catalog_case const& c : catalog_cases({4}, {4, 12})) {
    int const count = c.schedule().stage_count();
    std::vector<stage_cost> each;
    for (int stage = 0; stage < count; ++stage) each.push_back({2 + stage % 3, 3, 1 + stage % 2});
    catalog::shape shape = c.shape;
    shape.cost = costs(each, 1);
    schedule const s = c.entry->make(shape), t = split_backward(s);
    CAPTURE(c);
    CHECK(check(t).ok());
    CHECK(makespan(t) == makespan(s));
    CHECK(span(t) == span(s));
    CHECK(peak_activations(t) == peak_activations(s));
  }
}

TEST_CASE("schedules that do not fit each other") {
  schedule const s = one_f_one_b(3, 2);
  CHECK_BREAKS(tables_agree, merge(s, one_f_one_b(2, 2)));
  schedule const on_one = catalog::depth_first_accumulation(chunks{3}) | repeat(micro_batches{2});
  CHECK((on_one.device_count() == 1 && on_one.stage_count() == 3));
  CHECK_BREAKS(tables_agree, merge(s, on_one));
  CHECK_BREAKS(parts_are_alike, merge(s, retime(s, costs(stage_cost{2, 2, 2}))));
  CHECK_BREAKS(tables_agree, then(s, catalog::find("v-half")->make({devices{3}, micro_batches{1}})));
  CHECK_BREAKS(counts_are_positive, take(s, micro_batches{0}));
  CHECK_BREAKS(counts_are_positive, take(s, micro_batches{-1}));
  CHECK_BREAKS(counts_are_positive, take(s, micro_batches{3}));
  schedule unknown = s;
  unknown.order[0][0].what.micro_batch = 1'000'000;
  CHECK_BREAKS(every_pass_is_known, take(unknown, micro_batches{1}));
}

TEST_CASE("passes that start together keep the order of what is merged") {
  schedule const one = one_f_one_b(1, 1), both = merge(one, one);
  CHECK(both.order[0][0].start == both.order[0][1].start);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(both.order[0][i].what.micro_batch == static_cast<int>(i % 2));
}

TEST_CASE("a device takes its speed with it") {
  schedule s = one_f_one_b(3, 2);
  s.cost.on.speeds = {100, 50, 80};
  s = squeeze(s);
  CHECK((mirror(s).cost.on.speeds == std::vector<int>{80, 50, 100} && check(mirror(s)).ok()));
  CHECK((mirror(mirror(s)) == s && makespan(mirror(s)) == makespan(s)));
  block b = spread(catalog::one_f_one_b(devices{3}), 4);
  b.cost.on.speeds = {100, 50, 80};
  CHECK(repeat(mirror(b), micro_batches{2}) == mirror(repeat(b, micro_batches{2})));
}

TEST_CASE("work goes with its schedule") {
  schedule const s = with_norm(one_f_one_b(2, 2));
  schedule const twice = then(s, s);
  CHECK((check(twice).ok() && twice.work.job_count() == 6));
  CHECK(twice.work.view().inputs({X, 5, 1})[0].from == pass{B, 1, 2});
  CHECK(check(merge(s, shift(one_f_one_b(2, 2), makespan(s)))).ok());
  CHECK(check(then(one_f_one_b(2, 2), s)).ok());
  CHECK((check(mirror(s)).ok() && mirror(mirror(s)) == s && mirror(s) != s));
  CHECK((take(s, micro_batches{2}) == s && check(take(s, micro_batches{1})).ok()));
  // A reader of the backward reads its input pass; the recompute keeps what the forward kept.
  schedule const split = split_backward(s);
  CHECK(split.work.view().readers({I, 0, 0}).size() == 2);
  CHECK((split.work.view().readers({B, 0, 0}).empty() && check(squeeze(split)).ok()));
  schedule reads = one_f_one_b(2, 1);
  reads.order[0].push_back({{X, 0, 0}, 0});
  reads.work = work_graph({{.parts = {{0, 1}}}}, {{{F, 0, 0}, {X, 0, 0}}});
  schedule const again = recompute(reads, {0});
  CHECK((again.work.edges()[0].from == pass{R, 0, 0} && check(again).ok()));
}

TEST_CASE("a micro-batch that work reads cannot be taken away") {
  schedule s = one_f_one_b(2, 2);
  s.order[0].push_back({{X, 0, 0}, 0});
  s.work = work_graph({{.parts = {{0, 1}}}}, {{{F, 0, 1}, {X, 0, 0}}});
  CHECK_BREAKS(every_pass_is_present, take(squeeze(s), micro_batches{1}));
}

}  // namespace
