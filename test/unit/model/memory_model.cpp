#include <ashlar/model/memory_model.hpp>
// The header above comes first: it needs nothing before it.
#include "limits.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/optimize/improve.hpp>
#include <ashlar/render/diagnosis.hpp>

using namespace shapes;

namespace {

constexpr auto trains = execution_mode::training;
constexpr auto infers = execution_mode::inference;

byte_count all_but(int stage, stage_memory const& m) { return m.stash - stage; }

TEST_CASE("what passes take and give back") {
  memory_limit const counted = chunk_activations(3);
  CHECK((counted.budget_of(0) == 3 && counted.budget_of(7) == 3));
  stage_memory const one = counted.memory.of(2);
  CHECK(
      (one.taken_by(F) == 1 && one.given_back_by(F, trains) == 0 && one.given_back_by(B, trains) == 1));
  CHECK((one.taken_by(I) == 0 && one.given_back_by(I, trains) == 0));
  CHECK((one.taken_by(W) == 0 && one.given_back_by(W, trains) == 1));
  CHECK((one.taken_by(R) == 0 && one.given_back_by(R, trains) == 0));
  CHECK((one.taken_by(pass_kind::work) == 0 && one.given_back_by(pass_kind::work, trains) == 0));
  CHECK(one.given_back_by(F, infers) == 1);

  stage_memory const bytes{.checkpoint = 2, .stash = 10, .stash_left = 4, .weight_stash = 3};
  CHECK((bytes.taken_by(F) == 2 && bytes.taken_by(R) == 8 && bytes.taken_by(I) == 3));
  CHECK((bytes.given_back_by(I, trains) == 6 && bytes.given_back_by(W, trains) == 7));
  CHECK((bytes.given_back_by(B, trains) == 13 && bytes.taken_by(B) == 3));
  stage_memory const whole{.stash = 10};
  CHECK((whole.taken_by(F) == 10 && whole.given_back_by(I, trains) == 0));
  CHECK((whole.given_back_by(W, trains) == 10 && !whole.recomputes() && bytes.recomputes()));
  CHECK((whole == whole && !(whole == bytes)));
}

TEST_CASE("the first device that has too little, and the least that it needs") {
  placement const v = v_shape(devices{3});  // stages 0 5, 1 4, 2 3
  CHECK(check(chunk_activations(2), v, 4).ok());
  diagnosis const d = check(chunk_activations(1), v, 4);
  CHECK((d.broken == rule::parameter_is_at_least && d.which == parameter::memory_budget));
  CHECK((d.first.device == 0 && d.number == 2 && d.given == 1));

  memory_limit bytes = limits::sized({26, 27, 28}, {1, 2, 4, 8, 16, 32}, {0});
  for (int device = 0; device < 3; ++device)
    CHECK(smallest_budget(v, bytes.memory, device) == (device == 0 ? 33 : device == 1 ? 18 : 12));
  diagnosis const e = check(bytes, v, 1);
  CHECK((e.first.device == 0 && e.number == 33 && e.given == 26));
  bytes.budget = {33, 17, 12};
  CHECK((check(bytes, v, 1).first.device == 1 && check(bytes, v, 1).number == 18));
  bytes.budget = {33, 18, 12};
  CHECK(check(bytes, v, 1).ok());
  bytes.memory.stages[3].weight_stash = 5;  // beside all that is held by then
  CHECK((smallest_budget(v, bytes.memory, 2) == 17 && check(bytes, v, 1).first.device == 2));
  // The larger need of two routes counts.
  CHECK(smallest_budget(overlay(linear(devices{2}), mirror(linear(devices{2}))),
                        limits::sized({3, 5}, {3, 5}), 0)
        == 5);
  CHECK(smallest_budget(v, chunk_activations(1).memory, 0, 4) == 8);
  CHECK(smallest_budget(v, chunk_activations(1).memory, 0, 4, infers) == 1);
}

TEST_CASE("what lies there all the time leaves the rest of a budget") {
  placement const v = v_shape(devices{2});  // stages 0 3, 1 2
  memory_limit limit{.memory = {.stages = {{.weights = 15,
                                            .optimizer_state = 12,
                                            .weight_gradient = 8,
                                            .stash = 7,
                                            .stash_left = 3}}},
                     .budget = {100, 84}};
  CHECK(
      (limit.memory.resident_on(v, 0) == 70 && limit.free_on(v, 0) == 30 && limit.free_on(v, 1) == 14));
  CHECK(check(limit, v, 4).ok());
  limit.budget = {100, 83};
  CHECK((check(limit, v, 4).first.device == 1 && check(limit, v, 4).number == 84
         && check(limit, v, 4).given == 83));

  limit.memory.stages.resize(4, limit.memory.stages[0]);
  limit.memory.stages[3].weights += 100;  // a vocabulary on device 0
  CHECK((limit.memory.resident_on(v, 0) == 170 && limit.memory.resident_on(v, 1) == 70));
  CHECK((limit.free_on(v, 0) == -70 && smallest_budget(v, limit.memory, 0) == 184));
  // Both stages live on both devices, each once.
  memory_model const each{.stages = {{.weights = 1}, {.weights = 10}}};
  placement const both = overlay(linear(devices{2}), mirror(linear(devices{2})));
  CHECK((each.resident_on(both, 0) == 11 && each.resident_on(overlay(both, both), 1) == 11));
  // Parameters that several stages use, after the stages' own.
  memory_model const tied{.stages = {{.weights = 1}}, .shared = {{.weights = 5}}};
  CHECK((tied.of_group(3, 4).weights == 1 && tied.of_group(4, 4).weights == 5));
  CHECK(tied.of_group(5, 4).weights == 0);
}

TEST_CASE("what recomputes keeps less until then") {
  placement const v = v_shape(devices{2});  // stages 0 3, 1 2
  memory_model const plain = limits::sized({10, 20, 10, 20}, {4});
  CHECK(recomputing(plain, 4, {}, all_but) == plain);
  CHECK(recomputing(plain, 4, {0, 2}, all_but).of(2).checkpoint == 8);
  memory_limit limit = limits::recomputing(limits::sized({24}, {10}, {4}), 4, {0, 2}, 3);
  memory_model const& m = limit.memory;
  CHECK(
      (m.of(0).recomputes() && !m.of(1).recomputes() && m.of(2).recomputes() && !m.of(3).recomputes()));
  CHECK((m.of(0).taken_by(F) == 3 && m.of(0).taken_by(R) == 7 && m.of(0).given_back_by(I, trains) == 6));
  CHECK((m.of(1).taken_by(F) == 10 && m.of(1).taken_by(R) == 0));
  // Device 0: both forwards take 13, the recompute comes when stage 3 is through; device 1: 1 and 2 of
  // which 2 is recomputed while 1 is held.
  CHECK((smallest_budget(v, m, 0) == 13 && smallest_budget(v, m, 1) == 20));
  CHECK((smallest_budget(v, m, 0, 3) == 39 && smallest_budget(v, m, 1, 3) == 3 * 13 + 7));
  CHECK((check(limit, v, 4).ok() && check(limit, v, 3, 3).number == 39));
  CHECK((m.of(0).least_held(F, W) == 3 && m.of(1).least_held(F, W) == 4));
  CHECK((m.of(1).least_held(F, I) == 10 && m.of(0).least_held(F, I) == 3));
  CHECK((m.of(0).least_held(R, I) == 10 && m.of(0).least_held(R, W) == 4));
}

TEST_CASE("micro-batches may differ in what passes keep and send") {
  placement const v = v_shape(devices{2});  // stages 0 3, 1 2
  memory_limit limit{.memory = {.stages = {{.weights = 5, .activation = 8, .stash = 3},
                                           {.weights = 5, .activation = 4, .stash = 9},
                                           {.weights = 5, .stash = 1}},
                                .micro_batches = 3},
                     .budget = {28}};
  memory_model& m = limit.memory;
  CHECK((m.of(3, 1).stash == 9 && m.of(0, 2).activation == 0 && m.of(2, 4).stash == 9));
  CHECK((m.resident_on(v, 0) == 10 && limit.free_on(v, 1) == 18));
  CHECK(smallest_budget(v, m, 0) == 28);  // two stashes of the largest
  CHECK(smallest_budget(v, m, 0, 1, infers) == 19);
  CHECK(smallest_budget(v, m, 0, 3) == 10 + 2 * (3 + 9 + 1));  // of one sequence
  CHECK((check(limit, v, 3).ok() && check(limit, v, 4) == wrong_size(table::micro_batch_memory, 3, 4)));
  memory_model const again = recomputing(m, 4, {1}, [](int, stage_memory const&) { return 1; });
  CHECK((again.stages.size() == 12 && again.of(1, 1).taken_by(R) == 8 && !again.of(2, 1).recomputes()));
  CHECK(check(again, 4, 3).ok());
  // Chunks of a sequence that have gone back keep nothing while the one before them is recomputed.
  CHECK(smallest_budget(linear(devices{4}), again, 1, 3) == 5 + 2 + 8);

  m.stages.push_back({});
  CHECK(check(m, 4) == wrong_size(table::stage_memory, 1, 4));
  CHECK(check(m, 1) == wrong_size(table::micro_batch_memory, 1, 3));
  m.stages.pop_back();
  for (auto const change : {+[](stage_memory& each) { each.weights = 4; },
                            +[](stage_memory& each) { each.optimizer_state = 4; },
                            +[](stage_memory& each) { each.weight_gradient = 4; },
                            +[](stage_memory& each) { each.checkpoint = 0; }}) {
    memory_model wrong = again;
    change(wrong.stages[8]);
    CHECK(check(wrong, 4).broken == rule::micro_batches_share_weights);
    CHECK(check(wrong, 4).first.what.stage == 2);
  }
  m.micro_batches = -1;
  CHECK(check(m, 4).broken == rule::counts_are_positive);
}

TEST_CASE("tables of other lengths and sizes that are none are refused") {
  placement const v = v_shape(devices{2});
  CHECK(check(chunk_activations({8, 8, 8}), v, 4).broken == rule::tables_agree);
  CHECK(check(chunk_activations({8, 8, 8}), v, 4).number == 3);
  CHECK(check(memory_limit{}, v, 4).broken == rule::tables_agree);  // no budget at all
  CHECK(check(limits::sized({8}, {1, 1}, {1}), v, 4).broken == rule::tables_agree);
  CHECK(check(limits::sized({8, 8}, {1, 1, 1, 1}, {1, 1, 1, 1}), v, 4).ok());
  diagnosis const more = check(limits::sized({90}, {5, 4, 5, 5}, {5}), v, 4);
  CHECK((more.broken == rule::sizes_fit && more.first.what.stage == 1 && more.number == 5));
  CHECK(check(limits::sized({90}, {5}, {-2}), v, 4).number == -2);
  CHECK(check(limits::recomputing(limits::sized({90}, {5}, {5}), 4, {2}, 6), v, 4).first.what.stage
        == 2);
  for (byte_count stage_memory::*const size :
       {&stage_memory::weights, &stage_memory::optimizer_state, &stage_memory::weight_gradient,
        &stage_memory::activation, &stage_memory::gradient, &stage_memory::stash,
        &stage_memory::weight_stash, &stage_memory::sequence_state, &stage_memory::sequence_gradient}) {
    memory_model one;
    one.stages[0].*size = -1;
    CHECK((check(one, 4).broken == rule::sizes_fit && check(one, 4).number == -1));
    one.stages[0].*size = max_tick;
    CHECK(check(one, 4).number == max_tick);
    CHECK(check(memory_model{.shared = one.stages}, 4).broken == rule::sizes_fit);
  }
}

TEST_CASE("errors of memory in words") {
  CHECK_BREAKS(every_pass_is_known, recomputing({}, 4, {0, 4}, all_but));
  CHECK_BREAKS(every_pass_is_known, recomputing({}, 4, {-1}, all_but));
  CHECK(explain(check(chunk_activations(1), v_shape(devices{2}), 4))
        == "the memory budget on device 0 must be at least 2, not 1");
  CHECK(
      explain(check(limits::sized({90}, {5, 4, 5, 5}, {5}), v_shape(devices{2}), 4))
      == "sizes must not be negative, larger than the whole or beyond the range of bytes, but one is 5");
}

// Once the input passes are through, there is room for the second micro-batch before the weight passes.
TEST_CASE("what an input pass gives back can be used at once") {
  schedule s = split_backward(one_f_one_b(1, 2));
  s.order[0] = {{{F, 0, 0}, 0}, {{I, 0, 0}, 1}, {{F, 0, 1}, 2},
                {{I, 0, 1}, 3}, {{W, 0, 0}, 4}, {{W, 0, 1}, 5}};
  memory_limit const part = limits::sized({5}, {4}, {1}), all = limits::sized({5}, {4}, {4});
  CHECK((is_within(s, part) && !is_within(s, all)));
  CHECK((is_within(s, limits::sized({8}, {4}, {4})) && !is_within(s, limits::sized({4}, {4}, {1}))));
  list_scheduler with_part(s, part), with_all(s, all);
  list_scheduler::solution t;
  CHECK((with_part.run(with_part.passes().orders, {}, {}, t) && timed(s, with_part.passes(), t) == s));
  CHECK((with_part.run_reversed(with_part.passes().orders, {}, {}, t)
         && timed(s, with_part.passes(), t) == s));
  CHECK(!with_all.run(with_all.passes().orders, {}, {}, t));
  CHECK(with_all.run(with_all.passes().orders, {.window = 6}, {}, t));
  CHECK((is_within(timed(s, with_all.passes(), t), all) && t.makespan == 6));

  // The bytes that an input pass adds for its weight pass count from its start.
  memory_limit more = limits::sized({7}, {4}, {1});
  more.memory.stages[0].weight_stash = 2;
  CHECK((peak_memory(s, more.memory)[0] == 3 + 4 + 2 && !is_within(s, more)));
  more.budget = {9};
  CHECK(is_within(s, more));
  list_scheduler with_more(s, more);
  CHECK((with_more.run(with_more.passes().orders, {}, {}, t) && timed(s, with_more.passes(), t) == s));
  CHECK(with_more.run_reversed(with_more.passes().orders, {}, {}, t));
  more.budget = {8};
  list_scheduler with_less(s, more);
  CHECK(with_less.run(with_less.passes().orders, {.window = 6}, {}, t));
  CHECK(is_within(timed(s, with_less.passes(), t), more));
}

TEST_CASE("what lies there all the time is the same for all micro-batches") {
  stage_memory const one{.weights = 5, .optimizer_state = 5, .weight_gradient = 5};
  auto const broken = [&](auto change) {
    memory_model m{.stages = {one, one}, .micro_batches = 2};
    change(m.stages[1]);
    return check(m, 1).broken;
  };
  CHECK(broken([](stage_memory&) {}) == rule::none);
  for (byte_count by : {-1, 1}) {
    CHECK(broken([by](stage_memory& m) { m.weights += by; }) == rule::micro_batches_share_weights);
    CHECK(broken([by](stage_memory& m) { m.optimizer_state += by; })
          == rule::micro_batches_share_weights);
    CHECK(broken([by](stage_memory& m) { m.weight_gradient += by; })
          == rule::micro_batches_share_weights);
  }
}

TEST_CASE("sizes of jobs are equal if both are") {
  CHECK((job_bytes{1, 2} == job_bytes{1, 2} && job_bytes{} == job_bytes{0, 0}));
  CHECK((job_bytes{1, 2} != job_bytes{2, 2} && job_bytes{1, 2} != job_bytes{1, 1}));
}

}  // namespace
