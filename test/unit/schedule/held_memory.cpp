#include <ashlar/schedule/held_memory.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>

using namespace shapes;

namespace {

TEST_CASE("bytes that work reads are held until then") {
  schedule s = one_f_one_b(1, 1);
  memory_model const m{.stages = {{.stash = 10, .weight_stash = 4}}};
  CHECK(peak_memory(s, m)[0] == 14);
  // X0 reads the stash, X1 what the backward keeps; the forward of another micro-batch follows each.
  s.route = {0, 0, 0};
  s.order[0] = {{{F, 0, 0}, 0}, {{B, 0, 0}, 1}, {{F, 0, 1}, 4}, {{X, 0, 0}, 5},
                {{F, 0, 2}, 6}, {{X, 1, 0}, 7}, {{B, 0, 1}, 8}, {{B, 0, 2}, 11}};
  s.work = work_graph({{.parts = {{0, 1}}}, {.parts = {{0, 1}}}},
                      {{{F, 0, 0}, {X, 0, 0}}, {{B, 0, 0}, {X, 1, 0}}});
  CHECK(check(s).ok());
  CHECK(peak_memory(s, m)[0] == 10 + 10 + 4);  // F1 beside both, F2 and B1 beside what is left
  held_memory passes(s, m, s.mode);
  CHECK((passes.taken_by({F, 0, 0}) == 10 && passes.taken_by({B, 0, 0}) == 4));
  CHECK((passes.given_back_by({F, 0, 0}) == 0 && passes.given_back_by({B, 0, 0}) == 0));
  CHECK((passes.taken_by({X, 0, 0}) == 0 && passes.given_back_by({X, 0, 0}) == 10));
  CHECK(passes.given_back_by({X, 1, 0}) == 4);
  CHECK(passes.given_back_by({B, 0, 1}) == 14);
}

TEST_CASE("a stash that a recompute makes is held until work has read it") {
  schedule s = recomputed(1) | repeat(micro_batches{1});
  s.order[0] = {{{F, 0, 0}, 0}, {{R, 0, 0}, 2}, {{B, 0, 0}, 3}, {{X, 0, 0}, 7}};
  s.work = work_graph({{.parts = {{0, 1}}}}, {{{R, 0, 0}, {X, 0, 0}}});
  CHECK(check(s).ok());
  memory_model const m{.stages = {{.checkpoint = 2, .stash = 10}}};
  held_memory passes(s, m, s.mode);
  CHECK((passes.taken_by({F, 0, 0}) == 2 && passes.given_back_by({F, 0, 0}) == 0));
  CHECK((passes.taken_by({R, 0, 0}) == 8 && passes.given_back_by({R, 0, 0}) == 0));
  CHECK((passes.given_back_by({B, 0, 0}) == 0 && passes.given_back_by({X, 0, 0}) == 10));
}

TEST_CASE("what work hands on is held until it has been read") {
  schedule s = one_f_one_b(1, 1);
  s.order[0] = {{{F, 0, 0}, 0}, {{X, 0, 0}, 1}, {{X, 1, 0}, 2}, {{B, 0, 0}, 3}};
  s.work = work_graph({{.parts = {{0, 1}}, .does = compute_job{.state = own_state{}}},
                       {.parts = {{0, 1}}, .does = compute_job{.state = own_state{}}}},
                      {{{X, 0, 0}, {X, 1, 0}}, {{X, 0, 0}, {B, 0, 0}}});
  CHECK(check(s).ok());
  std::vector<job_bytes> const bytes{{.output = 5, .state = 100}, {.output = 7}};
  // Nobody reads what X1 would hand on; the backward reads what X0 does.
  CHECK((peak_memory(s, {}, bytes)[0] == 105 && peak_memory(s, {})[0] == 0));
  CHECK(work_state_on(s.work.view(), view_of(bytes), 1) == 0);
  memory_model const nothing{};
  held_memory passes(s, nothing, s.mode, view_of(bytes));
  CHECK((passes.taken_by({X, 0, 0}) == 5 && passes.given_back_by({X, 0, 0}) == 0));
  CHECK((passes.taken_by({X, 1, 0}) == 0 && passes.given_back_by({X, 1, 0}) == 0));
  CHECK(passes.given_back_by({B, 0, 0}) == 5);
}

// A sum is made in place: it is there until its reader has ended.
TEST_CASE("and sums until they have been") {
  schedule s = one_f_one_b(1, 1);
  s.order[0] = {{{X, 0, 0}, 0}, {{F, 0, 0}, 1}, {{X, 2, 0}, 2}, {{B, 0, 0}, 3}};
  s.work = work_graph(
      {{.parts = {{0, 1}}}, {.parts = {{0, 0}}, .does = all_reduce_job{}}, {.parts = {{0, 1}}}},
      {{{X, 0, 0}, {X, 1, 0}}, {{X, 1, 0}, {X, 2, 0}}});
  CHECK(check(s).ok());
  memory_model const nothing{};
  std::vector<job_bytes> const bytes(3, {.output = 5});
  held_memory passes(s, nothing, s.mode, view_of(bytes));
  CHECK((passes.taken_by({X, 0, 0}) == 5 && passes.given_back_by({X, 0, 0}) == 0));
  CHECK(passes.given_back_by({X, 2, 0}) == 5);
}

}  // namespace
