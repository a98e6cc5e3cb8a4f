#include <ashlar/values/clip.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "mutate.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

using namespace shapes;

namespace {

// Passes next to which work takes no time.
constexpr schedule slow(int p, int m) {
  return retime(one_f_one_b(p, m), costs(stage_cost{1000, 1000, 1000}));
}

constexpr std::vector<int> pending(program const& p) {
  std::vector<int> counts;
  for (int d = 0; d < p.device_count(); ++d)
    counts.push_back(count_slots(p.view(), d, slot_kind::micro_gradient));
  return counts;
}

TEST_CASE("a clipped step is proved") {
  program const p = lower(clip_micro_batches(slow(2, 2)), {.data_ranks = 2});
  CHECK(check(p).ok());
  CHECK(pending(p) == std::vector<int>{1, 1});
  // The jobs are take, norm, scale, least norm and give: one for each stage, and for each micro-batch.
  CHECK(p.work.job_count() == 2 + 2 + 2 + 2 + 2);
  CHECK(count_slots(p.view(), 0, slot_kind::work_state) == 1);
}

TEST_CASE("stages of a device have one norm") {
  schedule const s = catalog::v_half(devices{2}) | repeat(micro_batches{2}) | clip_micro_batches();
  CHECK(check(s).ok());
  // There is one job more: it adds up what the stages of a device hand on.
  CHECK((s.work.job_count() == 4 + 1 + 2 + 4 + 4 + 4 && s.work.part_count(4) == 2 * 2));
  CHECK(check(lower(s)).ok());
}

// The work of a schedule with clipping is put after what was there.
TEST_CASE("clipping stands beside other work") {
  schedule const s = clip_micro_batches(with_work(one_f_one_b(2, 2)));
  CHECK((s.work.job_count() == 1 + 10 && s.work.view().gradient_of(1) == take_gradient{0}));
  CHECK((s.work.view().state_of(9) == 5 && s.work.view().state_of(10) == 6));
  CHECK(check(lower(s)).ok());
}

}  // namespace

TEST_CASE("clip: as many gradients wait as the colouring has slots for") {
  CHECK(pending(lower(clip_micro_batches(slow(4, 8)))) == std::vector<int>{1, 1, 2, 3});
  CHECK(pending(lower(clip_micro_batches(slow(8, 16)))) == std::vector<int>{1, 1, 2, 3, 3, 4, 5, 5});
}

TEST_CASE("clip: every schedule on one route, with split backwards, too, is proved") {
  for (catalog_case const& c : catalog_cases({4}, {8})) {
    CAPTURE(c);
    schedule const s = c.schedule();
    if (s.mode == execution_mode::inference) {
      CHECK_BREAKS(every_pass_is_present, clip_micro_batches(s));
    } else if (s.where.route_count() > 1) {
      CHECK_BREAKS(parameter_is_at_most, clip_micro_batches(s));
    } else {
      CHECK(check(lower(clip_micro_batches(s), {.step = optimizer_step::after_norm})).ok());
    }
  }
}

TEST_CASE("clip: a gradient that is added to before it is taken is refused") {
  // It is as if the accumulation were fused into the weight pass, and nobody took what each has added.
  schedule s = clip_micro_batches(one_f_one_b(2, 3));
  auto& order = s.order[1];
  std::size_t first = 0, second = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i].what == pass{pass_kind::work, 1, 0}) first = i;
    if (order[i].what == pass{pass_kind::backward, 1, 1}) second = i;
  }
  REQUIRE(first < second);
  std::rotate(order.begin() + static_cast<std::ptrdiff_t>(first),
              order.begin() + static_cast<std::ptrdiff_t>(first) + 1,
              order.begin() + static_cast<std::ptrdiff_t>(second) + 1);
  diagnosis const d = check_taken_gradients(s);
  CHECK(d.broken == rule::gradient_is_taken_before_more_is_added);
  CHECK(d.first.device == 1);
  CHECK(d.first.what == pass{pass_kind::backward, 1, 1});
  CHECK(d.second.what == pass{pass_kind::backward, 1, 0});
}

TEST_CASE("clip: sums of several stages and shards are refused") {
  schedule const s = clip_micro_batches(one_f_one_b(2, 2));
  CHECK_BREAKS(taken_gradient_is_whole, lower(s, {.sharding = sharding_level::optimizer}));
  CHECK_BREAKS(taken_gradient_is_whole, lower(s, {.shared_parameters = {{0, 1}}}));
  // Stage 0 takes two micro-batches of stage 1 at once: their gradients are one.
  schedule larger = one_f_one_b(2, 2);
  larger.graph = in_micro_batches(larger.graph, {2, 1});
  std::erase_if(larger.order[0], [](time_slot const& t) { return t.what.micro_batch == 1; });
  CHECK_BREAKS(taken_gradient_is_whole, clip_micro_batches(squeeze(larger)));
}

TEST_CASE("clip: an all-reduce of the plain gradient, early and so overlapped, is refused") {
  program const good = lower(clip_micro_batches(one_f_one_b(2, 2)), {.data_ranks = 2});
  program p = good;
  // It comes after the last weight pass, where it would stand without clipping.
  pass const last{pass_kind::backward, 1, 1}, given{pass_kind::work, good.work.job_count() - 1, 0};
  mutate::move(p, 1, mutate::find(p, 1, opcode::all_reduce, {pass_kind::backward_weight, 1, 0}),
               mutate::find(p, 1, opcode::compute, last) + 1);
  diagnosis const d = check(p);
  CHECK(d.broken == rule::taken_gradient_is_given_back);
  CHECK(d.first.code == opcode::all_reduce);
  CHECK(mutate::find(good, 1, opcode::all_reduce, {pass_kind::backward_weight, 1, 0})
        > mutate::find(good, 1, opcode::compute, given));
}

TEST_CASE("clip: a state that is cleared early, twice or never is refused") {
  program const good = lower(clip_micro_batches(one_f_one_b(2, 2)));
  int clear = -1;
  list_view<instruction> const stream = good.view().stream(0);
  for (std::size_t i = 0; i < stream.size(); ++i)
    if (stream[i].code == opcode::clear && stream[i].subject == slot_kind::work_state)
      clear = static_cast<int>(i);
  REQUIRE(clear == static_cast<int>(stream.size()) - 1);  // after the optimizer's
  program early = good;
  mutate::move(early, 0, clear, 1);
  CHECK(check(early).broken == rule::state_is_cleared_after_its_last_use);
  program never = good;
  mutate::drop(never, 0, clear);
  CHECK(check(never).broken == rule::state_is_cleared_after_its_last_use);
}
