#include <ashlar/search/paged_order.hpp>
// The header above comes first: it needs nothing before it.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/search/offload.hpp>

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

memory_limit paged_places(byte_count count) {
  memory_limit limit{.memory = {}, .budget = {count}};
  limit.memory.stages[0].stash = 1;
  return limit;
}

schedule paged_case(char const* name, int p, int m) {
  return retime(catalog::find(name)->make({.p = devices{p}, .m = micro_batches{m}}),
                costs(stage_cost{.forward = 10, .backward_input = 10, .backward_weight = 10}));
}

TEST_CASE("passes wait for their places and for what is away, and the choice of copies agrees") {
  for (char const* name : {"gpipe", "1f1b", "zb-h1", "zb-h2", "v-half", "interleaved-zb"})
    for (byte_count room : {2, 3, 4, 6})
      for (tick copy : {0, 3, 10, 25}) {
        schedule s = paged_case(name, 3, 6);
        host_link const host{.speed = {.latency = copy}};
        paged_order const paging(s, paged_places(room), host);
        CAPTURE(name);
        CAPTURE(room);
        CAPTURE(copy);
        REQUIRE(paging.is_possible());
        tick const before = makespan(s);
        std::vector<pass> away;
        if (!paging.time(s, away)) continue;
        CHECK(check(s).ok());
        CHECK(makespan(s) >= before);
        offload_choice const choice = offload_exactly(s, paged_places(room), host, away);
        for (byte_count peak : choice.peak) CHECK(peak <= room);
        if (copy == 0) CHECK(makespan(s) == before);
      }
}

TEST_CASE("where there is room for all nothing leaves and nobody waits") {
  schedule s = paged_case("zb-h2", 3, 6);
  schedule const before = s;
  paged_order const paging(s, paged_places(6), {.speed = {.latency = 50}});
  std::vector<pass> away;
  CHECK(paging.time(s, away));
  CHECK(away.empty());
  CHECK(makespan(s) == makespan(before));
}

TEST_CASE("one place: a stash leaves before the next is made, and a cycle is found") {
  schedule s = paged_case("gpipe", 2, 2);
  paged_order const paging(s, paged_places(1), {.speed = {.latency = 5}});
  std::vector<pass> away;
  REQUIRE(paging.time(s, away));
  CHECK(away.size() >= 2);
  CHECK(s.order[0][1].start == 15);                  // the first stash has left then
  std::swap(s.order[1].front(), s.order[1].back());  // the last backward first
  CHECK(!paging.time(s, away));
}

TEST_CASE("moves of passes only make it shorter, by the same steps each time") {
  schedule const first = paged_case("1f1b", 3, 4);
  paged_order const paging(first, paged_places(1), {.speed = {.latency = 5}});
  std::vector<pass> away;
  auto const length = [](schedule const& s) { return makespan(s); };
  schedule a = first, b = first, none = first;
  CHECK(improve_paged(paging, none, away, 0, 1, length));
  CHECK(improve_paged(paging, a, away, 500, 1, length));
  CHECK(improve_paged(paging, b, away, 500, 1, length));
  CHECK(a == b);
  CHECK((check(a).ok() && makespan(a) < makespan(none)));
}

TEST_CASE("what the rule does not know it refuses") {
  schedule const s = paged_case("1f1b", 2, 2);
  memory_limit limit = paged_places(2);
  limit.memory.stages[0].weight_stash = 1;
  CHECK(!paged_order(s, limit, {}).is_possible());
  limit = paged_places(2);
  limit.memory.stages[0].checkpoint = 0;
  CHECK(!paged_order(s, limit, {}).is_possible());
  CHECK(!paged_order(s, paged_places(0), {}).is_possible());
  CHECK(!paged_order(paged_case("dualpipev", 2, 4), paged_places(2), {}).is_possible());
}

}  // namespace
