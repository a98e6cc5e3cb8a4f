// Laws of the operations on schedules.
#include "random.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/conformance/random_work.hpp>
#include <ashlar/model/work_lists.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/fuse.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <doctest/doctest.h>

#include <map>
#include <tuple>

using namespace random_case;

namespace {

tick first_start(schedule const& s) {
  tick first = max_tick;
  for (auto const& order : s.order)
    if (!order.empty()) first = std::min(first, order.front().start);
  return first;
}

std::vector<std::vector<pass>> passes_of(schedule const& s) {
  std::vector<std::vector<pass>> all;
  for (auto const& order : s.order) {
    all.emplace_back();
    for (timed_pass const t : each_pass(order)) all.back().push_back(t.what);
  }
  return all;
}

// Whether stage 0 can be run again, and no work stands where it would not be there yet.
bool can_recompute(schedule const& s) {
  for (auto const& order : s.order)
    for (timed_pass const t : each_pass(order))
      if (t.what.kind == pass_kind::recompute) return false;
  for (work_edge const& e : s.work.edges())
    if (e.from.kind == pass_kind::forward && e.from.stage == 0) return false;
  return true;
}

// A random block repeated, beginning at 0.
schedule random_loose_schedule(dice& d, block const& b) {
  schedule const s = repeat(b, random_count(d, b));
  return shift(s, -first_start(s));
}

TEST_CASE("squeeze is idempotent, keeps the order, is never longer and holds no more") {
  FOR_SEEDS(400) {
    block const b = random_block(d);
    CAPTURE(seed);
    INFO(words(b));
    schedule const s = random_loose_schedule(d, b), q = squeeze(s);
    CHECK(check(q).ok());
    CHECK(squeeze(q) == q);
    CHECK(passes_of(q) == passes_of(s));
    CHECK(makespan(q) <= makespan(s));
    std::vector<int> const before = peak_activations(s), after = peak_activations(q);
    for (std::size_t i = 0; i < before.size(); ++i) CHECK(after[i] <= before[i]);
    for (std::size_t i = 0; i < q.order.size(); ++i)
      for (std::size_t j = 0; j < q.order[i].size(); ++j)
        CHECK(q.order[i][j].start <= s.order[i][j].start);
    CHECK(retime(q, q.cost) == q);
    CHECK(squeeze(mirror(s)) == mirror(q));
    CHECK(squeeze(shift(s, 17)) == q);
  }
}

TEST_CASE("nothing can start earlier in a squeezed schedule") {
  FOR_SEEDS(250) {
    block const b = random_block(d);
    CAPTURE(seed);
    INFO(words(b));
    schedule const q = squeeze(random_loose_schedule(d, b));
    std::map<std::tuple<int, int, result>, tick> end;
    for (int e = 0; e < q.device_count(); ++e)
      for (timed_pass const t : each_pass(q.order[static_cast<std::size_t>(e)]))
        end[{t.what.micro_batch, t.what.stage, result_of(t.what.kind)}] = q.end_of(t, e);
    for (int e = 0; e < q.device_count(); ++e) {
      tick free = 0;
      for (timed_pass const t : each_pass(q.order[static_cast<std::size_t>(e)])) {
        tick earliest = free;
        for_each_input(q.graph, t.what, [&](result r, int stage, int) {
          auto const found = end.find({t.what.micro_batch, stage, r});
          if (found == end.end()) return;
          int const from = q.device_of({t.what.kind, stage, t.what.micro_batch});
          earliest = std::max(earliest, found->second + q.cost.transfer(from, e));
        });
        CHECK(t.start == earliest);
        free = q.end_of(t, e);
      }
    }
  }
}

TEST_CASE("other costs keep the order, dearer ones are never shorter") {
  FOR_SEEDS(250) {
    block const b = random_block(d);
    CAPTURE(seed);
    INFO(words(b));
    schedule const q = squeeze(random_loose_schedule(d, b));
    costs dearer = q.cost;
    dearer.passes.change_each([&](stage_cost& c) { c.forward += d.between(0, 3); });
    for_each_link(dearer.on.links, [&](link_speed& l) { l.latency += d.between(0, 3); });
    for (int& percent : dearer.on.speeds) percent -= d.between(0, 30);
    schedule const r = retime(q, dearer);
    CHECK(check(r).ok());
    CHECK(passes_of(r) == passes_of(q));
    CHECK(makespan(r) >= makespan(q));
    CHECK(retime(r, q.cost) == q);
  }
}

TEST_CASE("work goes anywhere, and operations that keep orders keep it") {
  FOR_SEEDS(250) {
    block const b = random_block(d);
    CAPTURE(seed);
    INFO(words(b));
    schedule const s = squeeze(random_loose_schedule(d, b));
    CHECK(conformance::with_random_work(s, seed, 0) == s);
    schedule const w = conformance::with_random_work(s, seed, d.between(1, 6));
    CHECK(check(w).ok());
    CHECK(squeeze(w) == w);
    CHECK(makespan(w) >= makespan(s));
    CHECK(passes_of(shift(w, 7)) == passes_of(w));
    CHECK(check(mirror(w)).ok());
    CHECK(mirror(mirror(w)) == w);
    CHECK(mirror(squeeze(shift(w, 3))) == squeeze(mirror(shift(w, 3))));
    schedule const r = retime(w, random_costs(d, s.stage_count()));
    CHECK(check(r).ok());
    CHECK(passes_of(r) == passes_of(w));
    CHECK(retime(r, w.cost) == w);
    CHECK(check(then(w, w)).ok());
    CHECK(check(squeeze(then(w, s))).ok());
    CHECK(check(squeeze(merge(s, w))).ok());
    // Without the edges nothing is later, and the work is still there.
    schedule loose = w;
    std::vector<work_edge> edges = edges_of(w.work);
    std::erase_if(edges, [&](work_edge const& e) { return !w.work.view().is_collective(e.to); });
    loose.work = work_graph(jobs_of(w.work), edges);
    CHECK(makespan(squeeze(loose)) <= makespan(w));
    for (int device = 0; device < s.device_count(); ++device)
      CHECK(peak_activations(w)[static_cast<std::size_t>(device)]
            >= peak_activations(s)[static_cast<std::size_t>(device)]);
    if (s.mode == execution_mode::training) {
      CHECK(check(squeeze(split_backward(w))).ok());
      if (can_recompute(w)) CHECK(check(recompute(w, {0})).ok());
    }
  }
}

// The passes that fusing leaves where they are, by device.
std::vector<std::vector<pass>> passes_that_stay(schedule const& s) {
  std::vector<std::vector<pass>> all = passes_of(s);
  for (auto& order : all)
    std::erase_if(order, [](pass const& what) {
      return what.kind == pass_kind::backward || what.kind == pass_kind::backward_input
             || what.kind == pass_kind::backward_weight;
    });
  return all;
}

TEST_CASE("fused backwards hold no more, and free ones make nothing longer") {
  FOR_SEEDS(250) {
    block const b = random_block(d);
    CAPTURE(seed);
    INFO(words(b));
    schedule const s = random_loose_schedule(d, b), q = squeeze(s);
    schedule const all = fuse_backward(s), free = fuse_where_free(s);
    CHECK((makespan(free) <= makespan(q) && span(free) <= span(q)));
    for (schedule const* fused : {&all, &free}) {
      CHECK((check(*fused).ok() && squeeze(*fused) == *fused));
      CHECK(passes_that_stay(*fused) == passes_that_stay(q));
      std::vector<int> const before = peak_activations(q), after = peak_activations(*fused);
      for (std::size_t i = 0; i < before.size(); ++i) CHECK(after[i] <= before[i]);
    }
    for (auto const& order : all.order) CHECK(weight_passes(order).empty());
    CHECK(fuse_backward(free) == all);
    CHECK(fuse_backward(split_backward(all)) == all);
  }
}

TEST_CASE("take leaves the first micro-batches as they were") {
  FOR_SEEDS(250) {
    block const b = random_block(d);
    CAPTURE(seed);
    INFO(words(b));
    schedule const s = random_loose_schedule(d, b);
    int const m = s.micro_batch_count(), n = d.between(1, m), k = d.between(1, n);
    schedule const t = take(s, micro_batches{n});
    CHECK(check(t).ok());
    CHECK(check(squeeze(t)).ok());
    CHECK(t.micro_batch_count() == n);
    CHECK(take(s, micro_batches{m}) == s);
    CHECK(take(t, micro_batches{k}) == take(s, micro_batches{k}));
    for (std::size_t i = 0; i < s.order.size(); ++i)
      for (time_slot const& x : s.order[i]) {
        auto const& kept = t.order[i];
        CHECK((std::find(kept.begin(), kept.end(), x) != kept.end()) == (x.what.micro_batch < n));
      }
  }
}

TEST_CASE("then and merge keep all passes of both") {
  FOR_SEEDS(250) {
    world const w = random_world(d);
    block const x = random_block(d, w), y = d.percent(50) ? x : random_block(d, w);
    CAPTURE(seed);
    INFO(words(x));
    INFO(words(y));
    schedule const a = random_loose_schedule(d, x), b = random_loose_schedule(d, y);
    schedule const c = then(a, b);
    CHECK(check(c).ok());
    CHECK(makespan(c) == makespan(a) + makespan(b));
    CHECK(makespan(squeeze(c)) <= makespan(c));
    CHECK(c.micro_batch_count() == a.micro_batch_count() + b.micro_batch_count());
    CHECK(take(c, micro_batches{a.micro_batch_count()}).order == a.order);

    schedule const m = merge(a, b);
    CHECK(check_passes(m).ok());
    CHECK(take(m, micro_batches{a.micro_batch_count()}).order == a.order);
    CHECK(mirror(m) == merge(mirror(a), mirror(b)));
    for (std::size_t i = 0; i < m.order.size(); ++i) {
      CHECK(m.order[i].size() == a.order[i].size() + b.order[i].size());
      CHECK(std::is_sorted(m.order[i].begin(), m.order[i].end(),
                           [](time_slot const& u, time_slot const& v) { return u.start < v.start; }));
      std::vector<time_slot> second;
      for (time_slot t : m.order[i])
        if ((t.what.micro_batch -= a.micro_batch_count()) >= 0) second.push_back(t);
      CHECK(second == b.order[i]);
    }
  }
}

}  // namespace
