#include <ashlar/schedule/metrics.hpp>
// The header above comes first: it needs nothing before it.
#include "limits.hpp"
#include "shapes.hpp"
#include <ashlar/schedule/from_orders.hpp>

#include <doctest/doctest.h>

using namespace shapes;

namespace {

TEST_CASE("1F1B on two devices") {
  schedule const s = one_f_one_b(2, 2);
  CHECK(makespan(s) == 9);
  CHECK(span(s) == 9);
  CHECK(span(squeeze(one_f_one_b(2, 1))) == 6);
  CHECK(busy(s) == std::vector<tick>{6, 6});
  CHECK(bubble_rate(s) == 1.0 - 6.0 / 9.0);
  CHECK(peak_activations(s) == std::vector<int>{2, 1});
  CHECK((makespan(shift(s, 100)) == 109 && span(shift(s, 100)) == 9));
}

TEST_CASE("the span does not count what comes before the first pass") {
  schedule const s = shift(one_f_one_b(3, 4), 6);
  CHECK(span(s) == makespan(s) - 6);
  CHECK(bubble_rate_span(s) < bubble_rate(s));
}

TEST_CASE("activations are freed by the weight pass") {
  schedule const s = catalog::find("zb-h1")->make({devices{4}, micro_batches{8}});
  CHECK(peak_activations(s) == std::vector<int>(4, 4));  // freed by the weight pass
  CHECK(peak_activations(with_work(s)) == peak_activations(s));
  CHECK(busy(with_work(s))[0] == busy(s)[0] + 1);
}

TEST_CASE("the busiest device counts") {
  schedule const s = retime(one_f_one_b(2, 3), costs({{1, 1, 1}, {4, 4, 4}}));
  CHECK(busy(s) == std::vector<tick>{9, 36});
  CHECK(bubble_rate(s) == 1.0 - 36.0 / static_cast<double>(makespan(s)));
}

TEST_CASE("a pair keeps its device busy once") {
  for (tick together : {tick{-1}, tick{2}}) {
    schedule s = catalog::dualpipev(devices{2}, micro_batches{8});
    if (together > 0) s.cost.passes.overlapped = together;
    s = squeeze(s);
    tick const alone = s.cost.of({F, 0, 0}, 0) + s.cost.of({B, 0, 0}, 0);
    for (std::size_t d = 0; d < 2; ++d) {
      tick sum = 0;
      for (time_slot const& t : s.order[d])
        sum += !t.is_pair() ? s.cost.of(t.what, static_cast<int>(d)) : together > 0 ? together : alone;
      CHECK(busy(s)[d] == sum);
    }
  }
}

TEST_CASE("overhead is what the busiest device does not do for the model") {
  schedule const s = one_f_one_b(2, 2);
  CHECK(overhead_within(s, makespan(s)) == 1.0 - 6.0 / 9.0);
  CHECK(overhead_within(with_work(s), 12) == 1.0 - 6.0 / 12.0);
  CHECK(overhead_within(recomputed(1) | repeat(micro_batches{1}) | squeeze(), 7) == 1.0 - 6.0 / 7.0);
  CHECK(overhead_within(s, 0) == 0.0);
}

TEST_CASE("of nothing") {
  schedule const none = schedule_without_passes(linear(devices{2}), {});
  CHECK((makespan(none) == 0 && span(none) == 0 && bubble_rate(none) == 0.0));
  CHECK(peak_activations(none) == std::vector<int>{0, 0});
  CHECK((makespan(schedule{}) == 0 && busy(schedule{}).empty()));
  CHECK((idle_time{}.length() == 0 && idle_time{} == idle_time{.start = 0, .end = 0}));
}

TEST_CASE("inference keeps nothing after a pass") {
  schedule s = schedule_from_orders(linear(devices{1}), {0, 0}, {}, {{{F, 0, 0}, {F, 0, 1}}});
  memory_model memory;
  memory.stages[0] = {.weights = 7, .stash = 10};
  CHECK(peak_memory(s, memory) == std::vector<byte_count>{27});
  s.mode = execution_mode::inference;
  CHECK(peak_memory(s, memory) == std::vector<byte_count>{17});
}

TEST_CASE("the most that lies on a device") {
  schedule const s = catalog::find("zb-h1")->make({devices{2}, micro_batches{4}});
  memory_model const m{.stages = {{.weights = 100, .stash = 10, .stash_left = 4, .weight_stash = 3},
                                  {.optimizer_state = 7, .stash = 1}}};
  CHECK(peak_memory(s, m).size() == 2);
  // Device 1 holds one stash from its forward to its weight pass.
  CHECK(peak_memory(s, m)[1] == 7 + peak_activations(s)[1]);
  schedule one = s;
  one.order[0] = {{{F, 0, 0}, 0}, {{F, 0, 1}, 1}, {{I, 0, 0}, 2}, {{W, 0, 0}, 3}};
  CHECK(peak_memory(one, m)[0] == 100 + 20 + 3);
  one.order[0].pop_back();
  one.order[0].push_back({{F, 0, 2}, 3});
  CHECK(peak_memory(one, m)[0] == 100 + 10 + (4 + 3) + 10);
  // A checkpoint is held until the recompute.
  schedule const again = recomputed(2) | repeat(micro_batches{3}) | squeeze();
  memory_model const kept{.stages = {{.checkpoint = 0, .stash = 5}}};
  CHECK(peak_memory(again, kept) == std::vector<byte_count>{5, 5});
  CHECK(peak_memory(again, {.stages = {{.checkpoint = 5, .stash = 5}}})[0]
        == 5 * peak_activations(again)[0]);
}

TEST_CASE("what work reads is held until then") {
  schedule s = one_f_one_b(1, 3);
  CHECK(peak_activations(s) == std::vector<int>{1});
  s.order[0].push_back({{X, 0, 0}, 0});
  s.work = work_graph({{.parts = {{0, 1}}}}, {{{F, 0, 0}, {X, 0, 0}}, {{B, 0, 1}, {X, 0, 0}}});
  s = squeeze(s);
  CHECK(peak_activations(s) == std::vector<int>{2});  // that of micro-batch 0, to the end
  s.work = work_graph({{.parts = {{0, 1}}}}, {{{F, 0, 0}, {X, 0, 0}}, {{F, 0, 1}, {X, 0, 0}}});
  CHECK(peak_activations(s) == std::vector<int>{3});
  s.mode = execution_mode::inference;
  for (int k = 0; k < 3; ++k) s.order[0].erase(s.order[0].begin() + k + 1);
  CHECK(peak_activations(s) == std::vector<int>{3});
}

// Leaves out a stage's passes of one micro-batch, or those of one kind.
constexpr void drop_passes(schedule& s, int stage, int micro_batch, auto which) {
  for (auto& order : s.order)
    std::erase_if(order, [&](time_slot const& t) {
      return t.what.stage == stage && t.what.micro_batch == micro_batch && which(t.what.kind);
    });
}

TEST_CASE("stages that run every forward again, also those of larger micro-batches") {
  schedule s = recomputed(2) | repeat(micro_batches{2}) | squeeze();
  CHECK(recomputed_stages(s) == std::vector<int>{0, 1});
  s.graph = in_micro_batches(chain(stages{2}), {1, 2});
  drop_passes(s, 1, 1, [](pass_kind) { return true; });
  CHECK(recomputed_stages(s) == std::vector<int>{0, 1});  // stage 1 has one micro-batch of two
  drop_passes(s, 0, 1, [](pass_kind kind) { return kind == pass_kind::recompute; });
  CHECK(recomputed_stages(s) == std::vector<int>{1});
}

}  // namespace
