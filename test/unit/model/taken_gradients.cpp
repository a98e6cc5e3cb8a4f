#include <ashlar/model/taken_gradients.hpp>
// The header above comes first: it needs nothing before it.
#include "violations.hpp"

#include <initializer_list>

using namespace ashlar;

namespace {

constexpr pass_kind taken_b = pass_kind::backward, taken_x = pass_kind::work;

// Jobs 0, 1 and 2 take, read and give the gradient of stage 0; two micro-batches.
constexpr work_graph three_uses() {
  return work_graph(
      {{.parts = {{0, 1}, {0, 1}}, .does = compute_job{.gradient = take_gradient{0}}},
       {.parts = {{0, 1}, {0, 1}, {0, 1}}, .does = compute_job{.gradient = read_gradient{0}}},
       {.parts = {{0, 1}}, .does = compute_job{.gradient = give_gradient{0}}}},
      {});
}

constexpr pass take(int k) { return {taken_x, 0, k}; }
constexpr pass read(int k) { return {taken_x, 1, k}; }
constexpr pass give{taken_x, 2, 0};

// The rule that an order of passes on a device breaks; reduced at the end.
constexpr rule broken_by(std::initializer_list<pass> order) {
  work_graph const work = three_uses();
  taken_gradients taken(work.view(), 2, 2);
  taken.begin_device();
  int index = 0;
  for (pass what : order)
    if (diagnosis const d = taken.visit({.device = 0, .index = index++, .what = what}); !d.ok())
      return d.broken;
  return taken.end_device().broken;
}

constexpr pass back(int k) { return {taken_b, 0, k}; }

TEST_CASE("a gradient is taken one micro-batch at a time") {
  // Part 2 of the job that reads has no micro-batch.
  CHECK(broken_by({back(1), take(1), back(0), take(0), read(0), read(1), read(2), give}) == rule::none);
  CHECK(broken_by({back(0), {taken_b, 1, 0}, {taken_b, 1, 1}, take(0), back(1), take(1), give})
        == rule::none);  // stage 1 is nobody's business
  pass const forward{pass_kind::forward, 0, 1}, input{pass_kind::backward_input, 0, 1};
  CHECK(broken_by({back(0), forward, input, take(0), give}) == rule::none);  // adds nothing
  rule const added = rule::gradient_is_taken_before_more_is_added;
  CHECK(broken_by({back(0)}) == added);
  CHECK(broken_by({back(0), back(1), take(1), give}) == added);
  CHECK(broken_by({back(0), take(1)}) == added);
  CHECK(broken_by({take(0)}) == added);
  CHECK(broken_by({back(0), take(0), back(1)}) == added);
  rule const given = rule::taken_gradient_is_given_back;
  CHECK(broken_by({back(0), read(0)}) == given);
  CHECK(broken_by({back(0), take(0), read(1)}) == given);
  CHECK(broken_by({back(0), give}) == given);
  CHECK(broken_by({give}) == given);
  CHECK(broken_by({back(0), take(0), give, give}) == given);
  CHECK(broken_by({back(0), take(0), give, back(1)}) == given);
  CHECK(broken_by({back(0), take(0)}) == given);
}

// Jobs 1 and 3 read copies; job 2 gives back the state that job 1 adds to.
TEST_CASE("what is read into a state is read before the state is given") {
  work_graph const work(
      {{.parts = {{0, 1}, {0, 1}}, .does = compute_job{.gradient = take_gradient{0}}},
       {.parts = {{0, 1}, {0, 1}},
        .does = compute_job{.state = own_state{}, .gradient = read_gradient{0}}},
       {.parts = {{0, 1}}, .does = compute_job{.state = shared_state{1}, .gradient = give_gradient{0}}},
       {.parts = {{0, 1}, {0, 1}},
        .does = compute_job{.state = own_state{}, .gradient = read_gradient{0}}}},
      {});
  taken_gradients taken(work.view(), 1, 2);
  taken.begin_device();
  for (pass what : {back(0), take(0), read(0), back(1), take(1), give})
    CHECK(taken.visit({.what = what}).ok());
  CHECK(taken.visit({.what = {taken_x, 3, 1}}).ok());
  diagnosis const late = taken.visit({.what = read(1)});
  CHECK(late.broken == rule::taken_gradient_is_given_back);
  CHECK((late.first.what == read(1) && late.second.what == give));
  CHECK(taken.end_device().ok());
}

TEST_CASE("a gradient is given back before it is reduced") {
  work_graph const work = three_uses();
  taken_gradients taken(work.view(), 2, 2);
  taken.begin_device();
  site const end{.device = 0, .index = 9, .code = opcode::all_reduce};
  CHECK(taken.reduce(end, 0).ok());  // where nothing is added, nothing is wrong
  CHECK(taken.visit({.what = back(0)}).ok());
  CHECK(taken.reduce(end, 0).broken == rule::taken_gradient_is_given_back);
  CHECK(taken.reduce(end, 1).ok());
  CHECK((taken.visit({.what = take(0)}).ok() && taken.visit({.what = give}).ok()));
  CHECK(taken.reduce(end, 0).ok());
}

TEST_CASE("the gradient of a stage that there is not") {
  work_graph const work({{.parts = {{0, 1}}, .does = compute_job{.gradient = take_gradient{7}}}}, {});
  taken_gradients taken(work.view(), 2, 2);
  taken.begin_device();
  CHECK(taken.visit({.what = take(0)}).broken == rule::work_uses_what_exists);
  CHECK(taken_gradients(work_view{}, 2, 2).empty());
}

TEST_CASE("what is taken is all of a stage's") {
  placement const where = linear(devices{2});
  work_graph const work = three_uses();
  parameter_groups const own(where), all(where, {{0, 1}}), other(where, {{1}});
  CHECK(check_taken_gradients(work.view(), sharding_level::none, own).ok());
  CHECK(check_taken_gradients(work_view{}, sharding_level::full, all).ok());
  rule const whole = rule::taken_gradient_is_whole;
  CHECK(check_taken_gradients(work.view(), sharding_level::optimizer, own).broken == whole);
  CHECK(check_taken_gradients(work.view(), sharding_level::none, all).broken == whole);
  CHECK(check_taken_gradients(work.view(), sharding_level::none, other).ok());
}

}  // namespace
