#include <ashlar/fill/first_fit.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/fill/fill.hpp>
#include <ashlar/schedule/check.hpp>

#include <doctest/doctest.h>

using namespace shapes;

namespace {

// It is no constant, because it holds vectors.
fill_options greedy() { return {.policy = fill_policy::first_fit}; }

TEST_CASE("the published walk") {
  // A tick must be left: two ticks do not go into a gap of two. A step without success ends it.
  filling const f = fill_steps(one_f_one_b(2, 2), curvature(), greedy());
  CHECK((f.steps[0] == 2 && start_of(f.filled, {X, 0, 0}) == 18 && start_of(f.filled, {X, 1, 0}) == 22));
  CHECK((f.steps[1] == 1 && check(f.filled).ok()));
  // Three jobs of a tick in gaps of 4 ticks: the second waits until the third is placed.
  schedule const s = one_f_one_b(3, 1);  // device 0: F . . . . . . B B
  work_graph const three({{.parts = {{0, 1}}}, {.parts = {{0, 1}}}, {.parts = {{0, 1}}}}, {});
  schedule const g = fill(s, three, greedy());
  CHECK((start_of(g, {X, 0, 0}) == 1 && start_of(g, {X, 2, 0}) == 2 && start_of(g, {X, 1, 0}) == 3));
}

}  // namespace
