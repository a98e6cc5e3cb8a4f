#include <ashlar/program/event_table.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "random_cases.hpp"
#include "shapes.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

using namespace shapes;

namespace {

TEST_CASE("a table has events for what is awaited and for the end") {
  program const p = one_f_one_b(2, 1) | lower();
  event_table const t(p.view(), 0);  // clear, F, send, receive, B, all-reduce
  CHECK((t.waits_of(2).size() == 1 && t.waits_of(2)[0] == 1));
  CHECK((t.waits_of(4).size() == 1 && t.waits_of(4)[0] == 3));
  CHECK((t.waits_of(0).empty() && t.waits_of(1).empty() && t.waits_of(3).empty()));
  CHECK(t.waits_of(5).empty());
  CHECK((t.event_of(1) == 0 && t.event_of(2) < 0 && t.event_of(3) == 1 && t.event_of(4) < 0));
  CHECK((t.last().size() == 1 && t.last()[0] == 5));
  CHECK((t.event_of(5) == 2 && t.count() == 3));
}

TEST_CASE("a step ends with one instruction of a lane at most, also of a lane with pairs") {
  program const p = catalog::find("dualpipev")->make({devices{2}, micro_batches{4}}) | lower();
  for (int d = 0; d < 2; ++d) {
    std::vector<int> ended(static_cast<std::size_t>(p.lane_count()), 0);
    event_table const t(p.view(), d);
    for (int const i : t.last())
      ++ended[static_cast<std::size_t>(p.view().stream(d)[static_cast<std::size_t>(i)].lane)];
    CHECK(std::all_of(ended.begin(), ended.end(), [](int count) { return count <= 1; }));
  }
}

// It holds also for a stream that begins with a pair.
TEST_CASE("the first of a pair waits for both, and is awaited for both, whatever the order of passes") {
  program p = catalog::find("dualpipev")->make({devices{2}, micro_batches{4}}) | lower();
  auto const is_first = [](instruction const& i) { return i.overlaps_next; };
  p.stream_begin[0] = static_cast<int>(
      std::find_if(p.instructions.begin(), p.instructions.end(), is_first) - p.instructions.begin());
  REQUIRE(p.stream_begin[0] < p.stream_begin[1]);
  for (wait_detail detail : {wait_detail::last_of_a_lane, wait_detail::all, wait_detail::any_pass_order})
    for (int d = 0; d < 2; ++d) {
      auto const stream = p.view().stream(d);
      event_table const t(p.view(), d, detail);
      for (int i = 1; i < static_cast<int>(stream.size()); ++i)
        if (is_first(stream[static_cast<std::size_t>(i) - 1]))
          CHECK((t.waits_of(i).empty() && t.event_of(i) < 0));
    }
}

using order_relation = std::vector<std::vector<bool>>;  // [i][j]: j is done before i begins

// Whether an instruction that has surely begun has surely ended: a release only waits.
bool ends(instruction const& i, bool in_order) { return in_order || i.code == opcode::release; }

// The order that edges(i) and the order of lanes imply.
template <class Edges>
order_relation before(list_view<instruction> stream, bool in_order, Edges edges) {
  order_relation known(stream.size(), std::vector<bool>(stream.size(), false));
  for (std::size_t i = 0; i < stream.size(); ++i) {
    auto const learn = [&](std::size_t j) {
      for (std::size_t k = 0; k < j; ++k)
        if (known[j][k]) known[i][k] = true;
    };
    for (int const j : edges(static_cast<int>(i))) {
      known[i][static_cast<std::size_t>(j)] = true;
      learn(static_cast<std::size_t>(j));
    }
    for (std::size_t j = i; j-- > 0;)
      if (stream[j].lane == stream[i].lane) {
        if (ends(stream[j], in_order)) known[i][j] = true;
        learn(j);
        break;
      }
  }
  return known;
}

void events_of(program const& p) {
  for (wait_detail detail : {wait_detail::last_of_a_lane, wait_detail::all})
    for (int d = 0; d < p.device_count(); ++d) {
      bool const in_order = detail == wait_detail::last_of_a_lane;
      auto const stream = p.view().stream(d);
      wait_table const hazards = waits(p.view(), d, detail);
      event_table const events(p.view(), d, detail);
      bool const pairs =
          std::any_of(stream.begin(), stream.end(), [](auto& i) { return i.overlaps_next; });
      auto const of_table = [&](int i) {
        auto const list = events.waits_of(i);
        return std::vector<int>(list.begin(), list.end());
      };
      order_relation const right = before(stream, in_order, [&](int i) {
        auto const list = hazards.of(i);
        return std::vector<int>(list.begin(), list.end());
      });
      order_relation const found = before(stream, in_order, of_table);
      if (!pairs) CHECK(found == right);

      std::vector<char> awaited(stream.size(), 0), followed(stream.size(), 0);
      std::vector<int> last(static_cast<std::size_t>(p.view().lane_count), -1);
      for (std::size_t i = 0; i < stream.size(); ++i) {
        std::vector<int> const all = of_table(static_cast<int>(i));
        for (int const j : all) {
          awaited[static_cast<std::size_t>(j)] = followed[static_cast<std::size_t>(j)] = 1;
          CHECK(events.event_of(j) >= 0);
          // The relation would not be known without this one.
          order_relation const less = pairs ? order_relation{} : before(stream, in_order, [&](int k) {
            std::vector<int> list = of_table(k);
            if (k == static_cast<int>(i)) std::erase(list, j);
            return list;
          });
          if (!pairs) CHECK_FALSE(less[i][static_cast<std::size_t>(j)]);
        }
        int& before_it = last[static_cast<std::size_t>(stream[i].lane)];
        if (before_it >= 0 && ends(stream[static_cast<std::size_t>(before_it)], in_order))
          followed[static_cast<std::size_t>(before_it)] = 1;
        before_it = static_cast<int>(i);
      }
      int count = 0;
      for (std::size_t i = 0; i < stream.size(); ++i) {
        if (i > 0 && stream[i - 1].overlaps_next) {  // the first of the pair waits for both
          CHECK((of_table(static_cast<int>(i)).empty() && events.event_of(static_cast<int>(i)) < 0));
          continue;
        }
        auto const& last_ones = events.last();
        bool const ends_step =
            std::find(last_ones.begin(), last_ones.end(), static_cast<int>(i)) != last_ones.end();
        if (!pairs) CHECK(ends_step == (followed[i] == 0));
        bool const told = notifies_when_done(stream[i]);
        CHECK((events.event_of(static_cast<int>(i)) >= 0) == (awaited[i] != 0 || ends_step || told));
        count += events.event_of(static_cast<int>(i)) >= 0;
      }
      CHECK(count == events.count());
    }
}

TEST_CASE("events order what hazards order, and none is one too many") {
  for (transfer_lanes lanes : {transfer_lanes::one, transfer_lanes::one_a_peer,
                               transfer_lanes::one_a_direction, transfer_lanes::one_a_kind})
    for (catalog_case const& c : catalog_cases(listed_cases(std::vector<int>{2, 3}), {4}))
      events_of(c.schedule() | lower({.lanes = lanes}));
  for (sharding_level level : {sharding_level::optimizer, sharding_level::full})
    events_of(lower(catalog::find("v-half")->make({devices{2}, micro_batches{3}}),
                    {.data_ranks = 2, .sharding = level, .step = optimizer_step::after_norm}));
  events_of(fork_join() | repeat(micro_batches{3}) | lower());
  events_of(two_ways(3) | repeat(micro_batches{4}) | squeeze() | lower());
}

}  // namespace
