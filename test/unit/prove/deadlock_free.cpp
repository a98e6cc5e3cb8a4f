#include <ashlar/prove/deadlock_free.hpp>
// The header above comes first: it needs nothing before it.
#include "mutate.hpp"
#include "shapes.hpp"
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/prove.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace shapes;
using namespace mutate;

namespace {

// Device 0 sends micro-batch 1 before it takes the gradient, device 1 sends the gradient before it takes
// micro-batch 1.
constexpr program head_on() {
  program p = one_f_one_b(2, 2) | lower();
  int const send = find(p, 1, opcode::send, {B, 1, 0});
  move(p, 1, find(p, 1, opcode::receive, {F, 0, 1}), send);
  return p;
}

TEST_CASE("two sends that wait for each other") {
  CHECK(check(one_f_one_b(2, 2) | lower()).ok());
  program const p = head_on();
  message_index index(p);
  CHECK((check_complete(p, index).ok() && check_ordered(p, index).ok()));
  diagnosis const d = check_deadlock_free(p, index);
  CHECK((d.broken == rule::no_cycle_of_waits && d.number == 4 && d.second.device >= 0));
  CHECK(check(p).broken == rule::no_cycle_of_waits);
}

TEST_CASE("sums of work in one order on all devices") {
  schedule t = one_f_one_b(2, 1);
  work_job measured{.parts = {{0, 1}, {1, 1}}}, sum = measured;
  sum.does = all_reduce_job{};
  std::vector<work_edge> edges;
  for (int d = 0; d < 2; ++d)
    for (int job : {0, 1}) {
      t.order[static_cast<std::size_t>(d)].push_back({{X, job, d}, 0});
      edges.push_back({{X, job, d}, {X, job + 2, d}});
    }
  t.work = work_graph({measured, measured, sum, sum}, edges);
  program p = squeeze(t) | lower();
  CHECK(check(p).ok());
  int const a = find(p, 0, opcode::all_reduce, {X, 2, 0}), b = find(p, 0, opcode::all_reduce, {X, 3, 0});
  exchange(p, 0, a, b);
  CHECK(check(p).broken == rule::no_cycle_of_waits);
}

}  // namespace
