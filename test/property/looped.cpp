// Laws between schedules of the looped and wave placements: special cases of each other, and orders that
// equal their own time reversal.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/schedule/compose.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

using namespace ashlar;

namespace {

template <class Look>
void for_each_shape(Look look) {
  for (int p : {1, 2, 3, 4, 5, 8})
    for (int m : {1, 2, 3, 4, 5, 7, 8, 12, 16}) {
      CAPTURE(p);
      CAPTURE(m);
      look(catalog::shape{devices{p}, micro_batches{m}, costs(stage_cost{3, 2, 4}, 1)});
    }
}

schedule make(std::string_view name, catalog::shape s, int v = 1) {
  s.v = chunks{v};
  return catalog::find(name)->make(s);
}

TEST_CASE("law: with one chunk, interleaving is the schedule that it interleaves") {
  for_each_shape([](catalog::shape s) {
    CHECK(make("depth-first", s) == make("1f1b", s));
    CHECK(make("breadth-first", s) == make("gpipe", s));
    CHECK(make("interleaved-zb", s) == make("zb-h1", s));
    if (s.m.value < s.p.value) return;
    s.group = s.m.value;
    CHECK(make("depth-first", s) == make("1f1b", s));
  });
}

TEST_CASE("law: with one sequence chunk, Seq1F1B is 1F1B") {
  for_each_shape([](catalog::shape s) {
    s.sequence_chunks = 1;
    CHECK(make("seq1f1b", s) == make("1f1b", s));
  });
}

TEST_CASE("law: with one sequence chunk, interleaved Seq1F1B is depth-first in groups of p") {
  int cases = 0;
  for_each_shape([&](catalog::shape s) {
    s.sequence_chunks = 1;
    s.group = s.p.value;
    for (int v : {2, 3}) {
      if (s.m.value % s.p.value != 0) continue;
      CHECK(make("seq1f1b-interleaved", s, v) == make("depth-first", s, v));
      ++cases;
    }
  });
  CHECK(cases > 0);
}

TEST_CASE(
    "law: one round is breadth-first, on one device accumulation; m rounds are depth-first there") {
  for_each_shape([](catalog::shape s) {
    for (int v = 1; v <= 3; ++v) {
      CHECK(make("breadth-first-hybrid", s, v) == make("breadth-first", s, v));
      if (s.p.value > 1) continue;
      CHECK(make("breadth-first", s, v) == make("breadth-first-accumulation", s, v));
      catalog::shape each = s;
      each.rounds = s.m.value;
      CHECK(make("breadth-first-hybrid", each, v) == make("depth-first-accumulation", s, v));
    }
  });
}

TEST_CASE("law: looped-bfs is breadth-first with the micro-batches of its backwards in reverse") {
  for_each_shape([](catalog::shape const& s) {
    for (int v = 1; v <= 3; ++v) {
      schedule reversed = make("looped-bfs", s, v);
      for (auto& order : reversed.order)
        for (time_slot& t : order)
          if (t.what.kind != pass_kind::forward) t.what.micro_batch = s.m.value - 1 - t.what.micro_batch;
      CHECK(reversed == make("breadth-first", s, v));
    }
  });
}

TEST_CASE("law: rounds are breadth-first schedules one after another, squeezed") {
  for_each_shape([](catalog::shape s) {
    s.rounds = 2;
    if (s.m.value % 2 != 0) return;
    for (int v = 1; v <= 3; ++v) {
      catalog::shape half = s;
      half.m = micro_batches{s.m.value / 2};
      schedule const round = make("breadth-first", half, v);
      CHECK(squeeze(then(round, round)) == make("breadth-first-hybrid", s, v));
    }
  });
}

TEST_CASE("law: a schedule of any shape has pairs, or splits backwards, only if a small one does") {
  auto const has_pairs = [](schedule const& s) {
    for (auto const& order : s.order)
      for (time_slot const& t : order)
        if (t.is_pair()) return true;
    return false;
  };
  auto const is_split = [](schedule const& s) {
    for (auto const& order : s.order)
      for (timed_pass const t : each_pass(order))
        if (t.what.kind == pass_kind::backward_weight) return true;
    return false;
  };
  int of_pairs = 0, split = 0;
  for (catalog::entry const& e : catalog::entries) {
    CAPTURE(e.name);
    catalog::shape const few{devices{2}, micro_batches{8}, {}, chunks{2}};
    if (!e.check(few).ok()) continue;
    schedule const small = e.make(few);
    bool const pairs = has_pairs(small), splits = is_split(small);
    of_pairs += pairs ? 1 : 0;
    split += splits ? 1 : 0;
    for (int p : {3, 4, 6, 8})
      for (int m : {1, 2, 8, 12, 24})
        for (int v : {1, 2, 3, 4}) {
          catalog::shape const other{devices{p}, micro_batches{m}, {}, chunks{v}};
          if (!e.check(other).ok()) continue;
          schedule const s = e.make(other);
          CHECK((pairs || !has_pairs(s)));
          CHECK((splits || !is_split(s)));
        }
  }
  CHECK(of_pairs > 2);
  CHECK(split > 5);
}

TEST_CASE("law: inference is the forward half of GPipe") {
  for_each_shape([](catalog::shape const& s) {
    schedule half = make("gpipe", s);
    half.mode = execution_mode::inference;
    for (auto& order : half.order) order.erase(order.begin() + s.m.value, order.end());
    CHECK(half == make("inference", s));
  });
}

TEST_CASE("law: without its recomputations, recomputed 1F1B has the order of 1F1B") {
  for_each_shape([](catalog::shape const& s) {
    schedule kept = make("1f1b-recompute", s);
    for (auto& order : kept.order)
      std::erase_if(order, [](time_slot const& t) { return t.what.kind == pass_kind::recompute; });
    CHECK(squeeze(kept) == make("1f1b", s));
  });
}

// The orders run backwards, forward for backward and the last micro-batch for the first.
std::vector<std::vector<pass>> reversed_orders(schedule const& s) {
  std::vector<std::vector<pass>> orders;
  for (auto const& order : s.order) {
    orders.emplace_back();
    for (auto t = order.rbegin(); t != order.rend(); ++t) {
      bool const forward = t->what.kind == pass_kind::forward;
      orders.back().push_back({forward ? pass_kind::backward : pass_kind::forward, t->what.stage,
                               s.micro_batch_count() - 1 - t->what.micro_batch});
    }
  }
  return orders;
}

TEST_CASE("grouped interleaving is valid for every last group, within its memory") {
  catalog::entry const& e = *catalog::find("grouped-interleaved");
  for (int p = 1; p <= 12; ++p)
    for (int m = 1; m <= 30; ++m)
      for (int v = 1; v <= 4; ++v)
        for (int group = (p + 1) / 2; group <= p; ++group) {
          catalog::shape s{.p = devices{p}, .m = micro_batches{m}, .v = chunks{v}};
          s.group = group;
          if (!e.check(s).ok()) continue;
          CAPTURE(p);
          CAPTURE(m);
          CAPTURE(v);
          CAPTURE(group);
          schedule const made = e.make(s);
          REQUIRE(check(made).ok());
          std::vector<int> const peaks = peak_activations(made);
          for (int d = 0; d < p; ++d) {
            int const most = std::min(m * v, (v - 1) * group + p - d);
            CHECK(peaks[static_cast<std::size_t>(d)] <= most);
            if (m % group == 0) CHECK(peaks[static_cast<std::size_t>(d)] == most);
          }
          s.cost = costs(stage_cost{.forward = 3, .backward_input = 4, .backward_weight = 2});
          if (group == p && m % p == 0) CHECK(makespan(e.make(s)) == m * v * 9 + (p - 1) * 7);
        }
}

TEST_CASE("law: time reversed, schedules with a whole backward keep their order") {
  for_each_shape([](catalog::shape s) {
    for (int v = 1; v <= 3; ++v) {
      s.v = chunks{v};
      s.w = waves{v};
      for (char const* name : {"depth-first-accumulation", "breadth-first-accumulation", "depth-first",
                               "breadth-first", "hanayo"}) {
        if (std::string_view(name) == "depth-first" && s.m.value % s.p.value != 0) continue;
        CAPTURE(name);
        CAPTURE(v);
        schedule const made = catalog::find(name)->make(s);
        std::vector<std::vector<pass>> const back = reversed_orders(made);
        for (std::size_t d = 0; d < back.size(); ++d) {
          std::vector<pass> order;
          for (timed_pass const t : each_pass(made.order[d])) order.push_back(t.what);
          CHECK(order == back[d]);
        }
      }
    }
  });
}

TEST_CASE("law: repetition and mirror commute for every block of the catalog") {
  for_each_shape([](catalog::shape const& s) {
    for (catalog::entry const& e : catalog::entries) {
      if (e.block_of == nullptr || !e.check(s).ok()) continue;
      CAPTURE(e.name);
      block const b = e.block_of(s);
      CHECK(check(b).ok());
      micro_batches const m{b.micro_batch_count() * 2};
      CHECK(mirror(repeat(b, m)) == repeat(mirror(b), m));
      CHECK(check(mirror(repeat(b, m) | squeeze())).ok());
    }
  });
}

}  // namespace
