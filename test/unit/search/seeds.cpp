#include <ashlar/search/seeds.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/schedule/check.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

using namespace shapes;

namespace {

TEST_CASE("one after another holds one micro-batch") {
  for (placement const& where :
       {linear(devices{3}), v_shape(devices{2}), looped(devices{2}, chunks{3})}) {
    schedule const s = one_after_another(where, micro_batches{3}, costs(stage_cost{3, 4, 2}, 2));
    CHECK((check(s).ok() && s.micro_batch_count() == 3));
    int const v = where.stage_count() / where.device_count();
    CHECK(peak_activations(s) == std::vector<int>(static_cast<std::size_t>(where.device_count()), v));
    CHECK(squeeze(s) == s);
  }
}

TEST_CASE("sequences in chunks, one after another") {
  schedule const s =
      one_after_another(v_shape(devices{2}), micro_batches{2}, costs(stage_cost{3, 4, 2}, 2), 3);
  CHECK((check(s).ok() && s.micro_batch_count() == 6 && s.graph.sequence_chunks() == 3));
  CHECK(peak_activations(s) == std::vector<int>{6, 6});
  // A device is through with its last stage before it goes back over an earlier one.
  CHECK((s.order[0][5].what == pass{F, 3, 2} && s.order[0][6].what == pass{I, 3, 2}));
  CHECK((s.order[0][10].what == pass{I, 3, 0} && s.order[0][12].what == pass{I, 0, 2}));
}

TEST_CASE("what is published on a placement") {
  auto const names = [](placement const& where) {
    std::set<std::string> found;
    for (published_schedule const& known : published_on(where, micro_batches{12}, {}))
      found.insert(known.entry->name);
    return found;
  };
  for (char const* name : {"gpipe", "1f1b", "eager-1f1b", "zb-h1", "zb-h2"})
    CHECK(names(linear(devices{4})).count(name) == 1);
  for (char const* name : {"v-half", "v-min", "v-zb", "1f1b-v", "zbv"})
    CHECK(names(v_shape(devices{4})).count(name) == 1);
  for (char const* name : {"depth-first", "breadth-first", "grouped-interleaved", "interleaved-zb"})
    CHECK(names(looped(devices{4}, chunks{3})).count(name) == 1);
  CHECK(names(wave(devices{4}, waves{2})).count("hanayo") == 1);
  for (published_schedule const& known :
       published_on(v_shape(devices{4}), micro_batches{12}, {}, 1, searched_entries::left_out))
    CHECK(!known.entry->is_searched);
  auto const paired = [](placement const& where) {
    std::set<std::string> found;
    for (published_schedule const& known : published_on(
             where, micro_batches{12}, {}, 1, searched_entries::left_out, paired_entries::alone))
      found.insert(known.entry->name);
    return found;
  };
  CHECK(paired(v_shape(devices{4})) == std::set<std::string>{"dualpipev", "stp"});
  CHECK(paired(looped(devices{4}, chunks{2})) == std::set<std::string>{"combined-1f1b"});
  // Schedules with two routes, pairs, recomputation, inference or sequence chunks are not among the
  // names.
  for (placement const& where : {linear(devices{4}), v_shape(devices{4}), looped(devices{4}, chunks{2})})
    for (char const* name : {"chimera", "bitpipe", "gems", "dualpipe", "dualpipev", "stp", "inference",
                             "1f1b-recompute", "seq1f1b"})
      CHECK(names(where).count(name) == 0);
  CHECK(names(placement(devices{4}, {{0, 1, 2}})).empty());     // not as many chunks each
  CHECK(names(placement(devices{2}, {{0, 0, 1, 1}})).empty());  // nobody lays it out so
  CHECK(names(mirror(linear(devices{4}))).empty());
  CHECK(names(placement(devices{4}, {{0, 1, 2, 3}, {3, 2, 1, 0}})).empty());  // two routes
}

TEST_CASE("what is published of sequences in chunks") {
  auto const found =
      published_on(linear(devices{4}), micro_batches{3}, costs(stage_cost{3, 4, 2}, 1), 4);
  REQUIRE(found.size() == 1);
  CHECK(found[0].entry->name == std::string("seq1f1b"));
  CHECK(found[0].made.micro_batch_count() == 12);
  CHECK(found[0].made.graph.sequence_chunks() == 4);
  CHECK(check(found[0].made).ok());
  CHECK(published_on(v_shape(devices{4}), micro_batches{3}, {}, 4).empty());
}

TEST_CASE("published schedules are made for the costs, valid and split") {
  int count = 0;
  for (placement const& where : {linear(devices{4}), v_shape(devices{3}), looped(devices{3}, chunks{2}),
                                 wave(devices{2}, waves{2}), linear(devices{1})})
    for (int m : {1, 3, 6, 12}) {
      std::vector<stage_cost> each;
      for (int stage = 0; stage < where.stage_count(); ++stage)
        each.push_back({3 + stage, 4, 2 + stage});
      costs const cost(each, 2);
      for (published_schedule const& known : published_on(where, micro_batches{m}, cost)) {
        CAPTURE(known.entry->name);
        schedule const& s = known.made;
        CHECK(check(s).ok());
        CHECK(s.cost == cost);
        CHECK(s.where == where);
        CHECK(s.micro_batch_count() == m);
        CHECK(s.graph == chain(stages{where.stage_count()}));
        for (auto const& order : s.order)
          for (timed_pass const t : each_pass(order))
            CHECK((t.what.kind == F || t.what.kind == I || t.what.kind == W));
        ++count;
      }
    }
  CHECK(count > 60);
}

}  // namespace
