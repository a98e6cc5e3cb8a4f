#include <ashlar/schedule/repeat.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/schedule/check.hpp>

using namespace shapes;

namespace {

TEST_CASE("once: the block itself") {
  block const b = catalog::one_f_one_b(devices{2});
  schedule const s = b | repeat(micro_batches{1});
  CHECK(s.order[0] == std::vector<time_slot>{{{F, 0, 0}, 0}, {{B, 0, 0}, 4}});
  CHECK(s.order[1] == std::vector<time_slot>{{{F, 1, 0}, 1}, {{B, 1, 0}, 2}});
}

TEST_CASE("micro-batch i runs i intervals later") {
  schedule const s = repeat(shift(catalog::zb_h1(devices{3}), -7), micro_batches{4});
  CHECK((check(s).ok() && s.micro_batch_count() == 4));
  for (auto const& order : s.order) {
    CHECK(order.size() == 12);
    for (timed_pass const t : each_pass(order)) {
      tick first = 0;
      for (timed_pass const u : each_pass(order))
        if (u.what == pass{t.what.kind, t.what.stage, 0}) first = u.start;
      CHECK(t.start == first + 3 * t.what.micro_batch);
    }
  }
}

TEST_CASE("a group of micro-batches repeats together") {
  block const both = two_ways(3);
  schedule const s = repeat(both, micro_batches{6});
  CHECK(s.route == std::vector<int>{0, 1, 0, 1, 0, 1});
  CHECK(check(squeeze(s)).ok());
  CHECK(mirror(s) == repeat(mirror(both), micro_batches{6}));
}

TEST_CASE("a device without stages has nothing to do") {
  block const b = make_block(placement(devices{3}, {{0, 2}}), {}, 3, {F, B},
                             [](pass_kind kind, int s) { return tick{kind == F ? s : 4 - 2 * s}; });
  schedule const s = repeat(b, micro_batches{3});
  CHECK((s.order.size() == 3 && s.order[1].empty() && check(s).ok()));
}

TEST_CASE("offsets that lie far apart") {
  // The backward comes a million intervals after: order and times are those of the copies, shifted.
  block const b = make_block(linear(devices{2}), {}, 3, {F, B}, [](pass_kind kind, int s) {
    return kind == F ? tick{s} : 3'000'002 + 2 * tick{1 - s};
  });
  schedule const s = repeat(b, micro_batches{3});
  CHECK(check(s).ok());
  for (std::size_t d = 0; d < 2; ++d)
    for (int k = 0; k < 3; ++k) {
      auto const at = static_cast<std::size_t>(k);
      CHECK(s.order[d][at] == time_slot{{F, static_cast<int>(d), k}, b.cells[2 * d].offset + 3 * k});
      CHECK(s.order[d][at + 3]
            == time_slot{{B, static_cast<int>(d), k}, b.cells[2 * d + 1].offset + 3 * k});
    }
}

TEST_CASE("counts that cannot be") {
  block const b = catalog::one_f_one_b(devices{2});
  CHECK_BREAKS(counts_are_positive, repeat(b, micro_batches{0}));
  CHECK_BREAKS(counts_are_positive, repeat(b, micro_batches{-3}));
  CHECK_BREAKS(counts_are_positive, repeat(with_interval(b, 0), micro_batches{1}));
  CHECK_BREAKS(counts_are_positive, repeat(block{}, micro_batches{1}));
  block of_none = b;
  of_none.route.clear();
  CHECK_BREAKS(counts_are_positive, repeat(of_none, micro_batches{1}));
  CHECK_BREAKS(micro_batches_fill_blocks, repeat(two_ways(2), micro_batches{3}));
}

TEST_CASE("passes absurdly far apart take no longer than others") {
  block const b = catalog::find("1f1b")->block_of({devices{2}, micro_batches{2}});
  for (tick far : {tick{1} << 60, -(tick{1} << 60)}) {
    schedule const s = repeat(delay(b, {pass_kind::backward, 0, 0}, far), micro_batches{2});
    CHECK(s.order[0].size() == 4);
    CHECK(s.order[0][far > 0 ? 2 : 0].what.kind == pass_kind::backward);
  }
}

// These are more than a sort by insertion takes.
TEST_CASE("passes that start together, far apart from others") {
  constexpr int count = 40;
  block const b =
      make_block(make_placement(devices{1}, stages{count}, [](int) { return 0; }), {}, 3, {F, B},
                 [](pass_kind kind, int) { return tick{kind == F ? 0 : 3'000'000}; });
  schedule const s = repeat(b, micro_batches{2});
  for (int i = 0; i < 4 * count; ++i) {
    pass const what{i < 2 * count ? F : B, i % count, i / count % 2};
    CHECK(s.order[0][static_cast<std::size_t>(i)].what == what);
  }
}

}  // namespace
