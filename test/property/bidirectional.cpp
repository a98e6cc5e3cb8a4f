// The laws of schedules in two directions: they are their own mirror image, and fold in the middle.
#include "random.hpp"
#include "shapes.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/fold.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace random_case;

namespace {

// A shape of p devices that every entry in two directions takes.
catalog::shape random_shape(dice& d, int stages_a_device) {
  int const p = 2 * d.between(1, 4);
  catalog::shape s{devices{p}, micro_batches{2 * p * d.between(1, 3)},
                   random_costs(d, p * stages_a_device)};
  if (d.percent(50)) s.cost.passes.overlapped = 12;
  if (d.percent(50)) s.junction = catalog::unit_junction::figure;
  return s;
}

TEST_CASE("routes mirror each other, and so do the devices at all times") {
  FOR_SEEDS(60) {
    for (char const* name :
         {"chimera", "chimera-forward-doubling", "chimera-backward-halving", "bitpipe", "dualpipe"}) {
      CAPTURE(seed);
      CAPTURE(name);
      schedule const s = catalog::find(name)->make(random_shape(d, name[0] == 'b' ? 2 : 1));
      REQUIRE(s.where.route_count() == 2);
      for (int stage = 0; stage < s.stage_count(); ++stage)
        CHECK(s.where.device_of(1, stage) == s.device_count() - 1 - s.where.device_of(0, stage));
      CHECK(is_mirror_symmetric(s));
      CHECK(is_mirror_symmetric(mirror(s)));
      // With one pass elsewhere it is no more.
      schedule bent = s;
      ++bent.order.front().back().start;
      CHECK(!is_mirror_symmetric(bent));
    }
  }
}

TEST_CASE("Chimera's route r + F mirrors route r, which starts p/F devices after route r - 1") {
  for (int p = 2; p <= 16; p += 2)
    for (int F = 1; 2 * F <= p; ++F) {
      if (p % (2 * F) != 0) continue;
      placement const where = catalog::chimera(devices{p}, 2 * F).where;
      for (int r = 0; r < F; ++r)
        for (int stage = 0; stage < p; ++stage) {
          CHECK(where.device_of(r, stage) == (stage + r * p / F) % p);
          CHECK(where.device_of(r + F, stage) == p - 1 - where.device_of(r, stage));
        }
    }
}

TEST_CASE("a device of Chimera over 2F routes holds 2F stages, each on a route of its own") {
  FOR_SEEDS(40) {
    int const F = d.between(1, 3), p = 2 * F * d.between(1, 3);
    catalog::shape shape{devices{p}, micro_batches{p * d.between(1, 2)}, random_costs(d, p)};
    shape.routes = 2 * F;
    schedule const s = catalog::find("chimera")->make(shape);
    CHECK(check(s).ok());
    std::vector<int> taken(static_cast<std::size_t>(2 * F), 0);
    for (int route : s.route) ++taken[static_cast<std::size_t>(route)];
    for (int n : taken) CHECK(n == s.micro_batch_count() / (2 * F));
  }
}

TEST_CASE("folded DualPipe is DualPipeV") {
  FOR_SEEDS(100) {
    CAPTURE(seed);
    int const p = d.between(1, 5), m = d.between(2 * p, 4 * p);
    costs cost = random_costs(d, 2 * p);
    if (d.percent(50)) cost.passes.overlapped = 12;
    schedule const two = catalog::find("dualpipe")->make({devices{2 * p}, micro_batches{2 * m}, cost});
    schedule const v = catalog::find("dualpipev")->make({devices{p}, micro_batches{m}, cost});
    schedule const folded = fold_in_half(two);
    CHECK((folded | retime(cost)) == v);
    if (cost.transfer(0, 1) == 0) CHECK(folded == v);  // else the turn has become a hand-over
  }
}

TEST_CASE("folding keeps times, work and what is held") {
  FOR_SEEDS(100) {
    CAPTURE(seed);
    bool const bitpipe = d.percent(50);
    schedule const s =
        catalog::find(bitpipe ? "bitpipe" : "chimera")->make(random_shape(d, bitpipe ? 2 : 1));
    schedule const folded = fold_in_half(s);
    CHECK(check(folded).ok());
    CHECK(folded.where == wave(devices{s.device_count() / 2}, waves{bitpipe ? 2 : 1}));
    CHECK(makespan(folded) == makespan(s));
    std::vector<tick> work = busy(s);
    work.resize(work.size() / 2);
    CHECK(busy(folded) == work);
    std::vector<int> held = peak_activations(s);
    held.resize(held.size() / 2);
    CHECK(peak_activations(folded) == held);
  }
}

TEST_CASE("repeating n blocks as one is repeating the block") {
  FOR_SEEDS(150) {
    block const b = random_block(d);
    CAPTURE(seed);
    INFO(words(b));
    int const n = d.between(1, 4), k = d.between(1, 3);
    block const whole = unroll(b, n);
    CHECK(check(whole).ok());
    micro_batches const m{b.micro_batch_count() * n * k};
    CHECK(repeat(whole, m) == repeat(b, m));
    CHECK(unroll(mirror(b), n) == mirror(whole));
    CHECK(unroll(unroll(b, n), k) == unroll(b, n * k));
  }
}

// Schedules of the catalog in which some forwards are overlapped with the backwards after them.
TEST_CASE("overlapped pairs, anywhere: squeezed or refused") {
  int paired = 0, circles = 0;
  FOR_SEEDS(300) {
    CAPTURE(seed);
    char const* const name = d.percent(50) ? "chimera" : "1f1b";
    int const chance = d.between(1, 20);
    schedule s = catalog::find(name)->make(random_shape(d, 1));
    s.cost.passes.overlapped = d.percent(50) ? pass_costs::one_after_the_other : 12;
    for (std::size_t e = 0; e < s.order.size(); ++e)
      for (std::size_t i = 0; i + 1 < s.order[e].size(); ++i)
        if (s.order[e][i].what.kind == pass_kind::forward
            && s.order[e][i + 1].what.kind == pass_kind::backward && d.percent(chance))
          shapes::pair_up(s, e, i);
    schedule q = s;
    diagnosis const found = order_walk(q).run();
    if (!found.ok()) {
      CHECK(found.broken == rule::order_has_no_cycle);
      ++circles;
      continue;
    }
    ++paired;
    CHECK(check(q).ok());
    CHECK(squeeze(q) == q);
    CHECK(squeeze(mirror(q)) == mirror(q));
    for (std::size_t i = 0; i < q.order.size(); ++i)
      for (std::size_t j = 0; j < q.order[i].size(); ++j)
        CHECK(
            (q.order[i][j].what == s.order[i][j].what && q.order[i][j].beside == s.order[i][j].beside));
    schedule const less = take(q, micro_batches{d.between(1, q.micro_batch_count())});
    CHECK(check_passes(less).ok());
    CHECK(check(squeeze(less)).ok());
  }
  CHECK(paired > 20);
  CHECK(circles > 20);
}

}  // namespace
