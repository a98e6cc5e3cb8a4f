// Laws of the operations on blocks.
#include "random.hpp"
#include <ashlar/block/measures.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <doctest/doctest.h>

#include <tuple>

using namespace random_case;

namespace {

#define CASE(b)  \
  CAPTURE(seed); \
  INFO(words(b))

TEST_CASE("random blocks are valid") {
  FOR_SEEDS(600) {
    block const b = random_block(d);
    CASE(b);
    REQUIRE(check(b).ok());
  }
}

TEST_CASE("mirror undoes itself") {
  FOR_SEEDS(300) {
    block const b = random_block(d);
    CASE(b);
    CHECK(mirror(mirror(b.where)) == b.where);
    CHECK(mirror(mirror(b)) == b);
    CHECK(check(mirror(b)).ok());
    schedule const s = repeat(b, random_count(d, b));
    CHECK(mirror(mirror(s)) == s);
  }
}

TEST_CASE("repeat commutes with mirror") {
  FOR_SEEDS(300) {
    block const b = random_block(d);
    CASE(b);
    micro_batches const m = random_count(d, b);
    CHECK(repeat(mirror(b), m) == mirror(repeat(b, m)));
  }
}

TEST_CASE("a repetition is its parts, side by side") {
  FOR_SEEDS(300) {
    block const b = random_block(d);
    CASE(b);
    micro_batches const n = random_count(d, b), k = random_count(d, b);
    tick const intervals = n.value / b.micro_batch_count();
    CHECK(repeat(b, micro_batches{n.value + k.value})
          == merge(repeat(b, n), shift(repeat(b, k), intervals * b.interval)));
  }
}

TEST_CASE("what does not collide modulo the interval repeats without overlap") {
  FOR_SEEDS(150) {
    block const b = random_block(d);
    CASE(b);
    for (int n = 1; n <= 9; ++n) CHECK(check(repeat(b, micro_batches{n * b.micro_batch_count()})).ok());
  }
}

TEST_CASE("peak activations stay within lifespan / interval") {
  FOR_SEEDS(300) {
    block const b = random_block(d);
    CASE(b);
    schedule const s = repeat(b, random_count(d, b, 12));
    std::vector<int> const peaks = peak_activations(s);
    for (int device = 0; device < s.device_count(); ++device)
      CHECK(peaks[static_cast<std::size_t>(device)] <= activation_bound(b, device_id{device}));
  }
}

// A cell with everything named but the numbers of micro-batch and route, which are made `offset` less.
using named = std::tuple<int, int, int, tick, int>;  // device, kind, stage, offset, micro-batch

std::vector<named> named_cells(block const& b, std::vector<int> const& number) {
  std::vector<named> all;
  for (cell const& c : b.cells)
    all.emplace_back(b.device_of(c.what), static_cast<int>(c.what.kind), c.what.stage, c.offset,
                     number[static_cast<std::size_t>(c.what.micro_batch)]);
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<int> numbers(int first, int first_count, int second, int second_count) {
  std::vector<int> all;
  for (int i = 0; i < first_count; ++i) all.push_back(first + i);
  for (int i = 0; i < second_count; ++i) all.push_back(second + i);
  return all;
}

TEST_CASE("overlay is commutative up to the numbering of routes and micro-batches, and associative") {
  FOR_SEEDS(300) {
    world const w = random_world(d);
    block const a = random_block(d, w), b = with_interval(random_block(d, w), a.interval),
                c = with_interval(random_block(d, w), a.interval);
    CASE(a);
    INFO(words(b));
    int const of_a = a.micro_batch_count(), of_b = b.micro_batch_count();
    block const ab = overlay(a, b), ba = overlay(b, a);
    CHECK(named_cells(ab, numbers(0, of_a, of_a, of_b))
          == named_cells(ba, numbers(of_a, of_b, 0, of_a)));
    for (int s = 0; s < a.where.stage_count(); ++s)
      for (int r = 0; r < a.where.route_count(); ++r)
        CHECK(ab.where.device_of(r, s) == ba.where.device_of(b.where.route_count() + r, s));
    CHECK(overlay(ab, c) == overlay(a, overlay(b, c)));
    CHECK(mirror(ab) == overlay(mirror(a), mirror(b)));
    // Collisions between the two go when squeezed.
    CHECK(check(squeeze(repeat(ab, random_count(d, ab)))).ok());
  }
}

TEST_CASE("fusing undoes splitting") {
  FOR_SEEDS(300) {
    block const b = random_block(d, {.split = false});
    CASE(b);
    CHECK(check(split_backward(b)).ok());
    CHECK(fuse_backward(split_backward(b)) == b);
  }
}

TEST_CASE("what is fused or split is valid") {
  int made = 0;
  FOR_SEEDS(400) {
    block const b = random_block(d);
    CASE(b);
    CHECK(check(split_backward(b)).ok());
    CHECK(split_backward(split_backward(b)) == split_backward(b));
    block fused = b;
    try {
      fused = fuse_backward(b);
    } catch (violation const& v) {
      CHECK((v.why.broken == rule::spread_passes_take_time && b.length_of(v.why.first.what) == 0));
      continue;
    }
    ++made;
    CHECK(check(fused).ok());
    CHECK(fuse_backward(fused) == fused);
    for (cell const& c : fused.cells) CHECK(c.what.kind != pass_kind::backward_weight);
  }
  CHECK(made > 300);
}

TEST_CASE("what is recomputed is valid") {
  int made = 0;
  FOR_SEEDS(300) {
    block const b = random_block(d, {.again = false});
    CASE(b);
    try {
      block const again = recompute(b);
      CHECK(check(again).ok());
      CHECK(recompute(mirror(b)) == mirror(again));
      ++made;
    } catch (violation const& v) {
      CHECK(v.why.broken == rule::spread_passes_take_time);
      CHECK((v.why.first.what.kind != pass_kind::backward_weight && b.length_of(v.why.first.what) == 0));
    }
  }
  CHECK(made > 200);
}

TEST_CASE("weight passes find gaps or none is there") {
  FOR_SEEDS(300) {
    block b = random_block(d, {.fused = false});
    CASE(b);
    std::erase_if(b.cells, [](cell const& c) { return c.what.kind == pass_kind::backward_weight; });
    auto const inputs =
        static_cast<std::size_t>(std::count_if(b.cells.begin(), b.cells.end(), [](cell const& c) {
          return c.what.kind == pass_kind::backward_input;
        }));
    try {
      block const full = weights_in_first_gaps(b);
      CHECK(check(full).ok());
    } catch (violation const& v) {
      CHECK(v.why.broken == rule::passes_do_not_collide);
    }
    // With enough time after every pass there is room for all.
    if (b.cost.passes.has_instants()) continue;  // which spreading makes no room for
    block const roomy = weights_in_first_gaps(spread(b, 9));
    CHECK(check(roomy).ok());
    CHECK(roomy.cells.size() == b.cells.size() + inputs);
  }
}

// Long intervals take other paths (sorting instead of counting) to the same result.
TEST_CASE("scale commutes with check, repeat, squeeze and lower") {
  FOR_SEEDS(250) {
    block const b = random_block(d);
    if (!b.cost.on.speeds.empty()) continue;  // which round up
    CASE(b);
    tick const factor = 1'000'003;
    micro_batches const m = random_count(d, b);
    auto const slower = [&](schedule s) {
      s.cost = scale(b, factor).cost;
      for (auto& order : s.order)
        for (time_slot& t : order) t.start *= factor;
      return s;
    };
    schedule const near = repeat(b, m), far = repeat(scale(b, factor), m);
    CHECK(far == slower(near));
    CHECK(squeeze(far) == slower(squeeze(near)));
    CHECK(lower(far) == lower(near));
    CHECK(lower(squeeze(far)) == lower(squeeze(near)));
    block const wrong = delay(b, b.cells[0].what, d.between(-6, 6));
    diagnosis x = check(wrong), y = check(scale(wrong, factor));
    x.number = y.number = 0;
    CHECK(x == y);
  }
}

}  // namespace
