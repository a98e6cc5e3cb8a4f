#include <ashlar/schedule/turns.hpp>
// The header above comes first: it needs nothing before it.

#include "shapes.hpp"
#include <ashlar/catalog/seq1f1b.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <utility>
#include <vector>

using namespace shapes;

namespace {

TEST_CASE("turns: each pass once, after what it waits for, whatever the times") {
  schedule s = one_f_one_b(3, 4);
  for (auto& order : s.order)
    for (time_slot& t : order) t.start = 0;
  std::vector<std::vector<int>> turn(3);
  int now = 0;
  CHECK(take_turns(s, [&](std::size_t d, std::size_t index) {
          CHECK(turn[d].size() == index);
          turn[d].push_back(now++);
        }).ok());
  CHECK(now == 3 * 4 * 2);
  CHECK((turn[0][0] < turn[1][0] && turn[1][0] < turn[2][0]));              // the first forward
  CHECK((turn[2][1] < turn[1].back() && turn[1].back() < turn[0].back()));  // the last backward
}

TEST_CASE("turns: orders that wait for each other are named") {
  schedule s = one_f_one_b(2, 1);
  std::swap(s.order[1][0], s.order[1][1]);
  diagnosis const d = take_turns(s, [](std::size_t, std::size_t) {});
  CHECK((d.broken == rule::order_has_no_cycle && d.first.device >= 0));
  CHECK(d.first.what.kind == pass_kind::backward);
}

TEST_CASE("turns: inputs that no pass gives count as present") {
  schedule s = one_f_one_b(2, 1);
  s.order[0].clear();
  int count = 0;
  CHECK(take_turns(s, [&](std::size_t, std::size_t) { ++count; }).ok());
  CHECK(count == 2);
}

TEST_CASE("turns: a sequence without its last chunk is refused, since a backward waits for that") {
  schedule s = catalog::seq1f1b(devices{2}, 2) | repeat(micro_batches{4});
  s.route.pop_back();
  for (auto& order : s.order)
    std::erase_if(order, [](time_slot const& t) { return t.what.micro_batch == 3; });
  int count = 0;
  diagnosis const d = take_turns(s, [&](std::size_t, std::size_t) { ++count; });
  CHECK((d.broken == rule::micro_batches_fill_blocks && d.number == 2 && count == 0));
}

}  // namespace
