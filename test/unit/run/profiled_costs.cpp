#include <ashlar/run/profiled_costs.hpp>
// The header above comes first: it needs nothing before it.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace ashlar;

namespace {

// A pass by a clock that all ranks share.
struct seen_pass {
  int rank;
  pass what;
  std::int64_t begin, start, end;
};

std::vector<profiled_rank> seen(std::vector<seen_pass> const& passes, std::vector<std::int64_t> ahead) {
  std::vector<profiled_rank> ranks(ahead.size());
  for (std::size_t r = 0; r < ahead.size(); ++r) ranks[r].rank = static_cast<int>(r);
  for (seen_pass const& p : passes) {
    auto const r = static_cast<std::size_t>(p.rank);
    int step = 0;
    for (profiled_pass const& before : ranks[r].passes) step += before.what == p.what;
    ranks[r].passes.push_back({p.what, step, p.begin + ahead[r], p.start + ahead[r], p.end + ahead[r]});
  }
  return ranks;
}

// Two stages, two micro-batches. Before its first operator a forward works for 5, an input pass for 10.
// Messages take 30.
std::vector<seen_pass> step_of_two(std::int64_t from) {
  using enum pass_kind;
  return {{0, {forward, 0, 0}, from + 0, from + 5, from + 100},
          {0, {forward, 0, 1}, from + 100, from + 105, from + 200},
          {1, {forward, 1, 0}, from + 0, from + 135, from + 330},
          {1, {backward_input, 1, 0}, from + 330, from + 340, from + 430},
          {1, {forward, 1, 1}, from + 430, from + 435, from + 630},
          {1, {backward_input, 1, 1}, from + 630, from + 640, from + 730},
          {1, {backward_weight, 1, 0}, from + 730, from + 730, from + 780},
          {1, {backward_weight, 1, 1}, from + 780, from + 780, from + 830},
          {0, {backward, 0, 0}, from + 200, from + 460, from + 800},
          {0, {backward, 0, 1}, from + 800, from + 800, from + 1140}};
}

std::vector<seen_pass> two_steps() {
  std::vector<seen_pass> all = step_of_two(0);
  for (seen_pass const& p : step_of_two(2000)) all.push_back(p);
  return all;
}

bool tells(profiled_costs const& c, std::string const& part) {
  for (std::string const& sentence : c.warnings)
    if (sentence.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE(
    "a pass takes what it took without the wait for its input, a transfer what its receiver waited") {
  profiled_costs const c = costs_of(seen(two_steps(), {0, 1'000'000}));
  REQUIRE(c.measured.stages.size() == 2);
  auto const& [first, second] = std::pair(c.measured.stages[0], c.measured.stages[1]);
  CHECK(first[0] == measured_time{100, 100, 100, 4});
  CHECK(second[0] == measured_time{200, 200, 200, 4});
  CHECK(second[1] == measured_time{100, 100, 100, 4});
  CHECK(second[2] == measured_time{50, 50, 50, 4});
  // All of the first stage's fused backward is the weight pass's.
  CHECK(first[1].median == 0);
  CHECK(first[2].samples == 4);
  REQUIRE(c.measured.inside);
  CHECK(c.measured.inside->latency.median == 30);
  CHECK(c.clocks_ahead_ns == std::vector<double>{0, 1'000'000});
  CHECK(!tells(c, "clock"));
}

TEST_CASE("a typical step is by one clock, and begins with its first pass") {
  using enum pass_kind;
  std::vector<profiled_rank> const step = typical_step(seen(two_steps(), {500, -7'000}));
  REQUIRE(step.size() == 2);
  CHECK(step[0].passes.size() == 4);
  CHECK(step[1].passes.size() == 6);
  CHECK(step[0].passes[0].start == 0);
  CHECK(step[1].passes[0] == profiled_pass{{forward, 1, 0}, 0, 0, 130, 330});
  CHECK(step[1].passes.back().end == 830);
}

TEST_CASE("what is guessed is told") {
  using enum pass_kind;
  std::vector<profiled_rank> one{seen(two_steps(), {0, 0})[1]};
  profiled_costs const c = costs_of(one);
  CHECK(tells(c, "no pass of stage 0 was seen"));
  CHECK(c.measured.stages[0][0].median == c.measured.stages[1][0].median);
  CHECK(!c.measured.inside);

  std::vector<profiled_rank> fused =
      seen({{0, {forward, 1, 0}, 0, 0, 10}, {0, {backward, 1, 0}, 10, 10, 50}}, {0});
  CHECK(costs_of(fused).measured.stages[1][1].median == 20);
  CHECK(tells(costs_of(fused), "the backwards of stage 1 are fused"));

  // A stage whose fused backward takes far less than its halves, beside those.
  std::vector<seen_pass> const halves{{0, {forward, 1, 0}, 0, 0, 10},
                                      {0, {backward_input, 1, 0}, 10, 10, 40},
                                      {0, {backward_weight, 1, 0}, 40, 40, 70}};
  for (std::int64_t fused_end : {110, 130}) {
    std::vector<seen_pass> both = halves;
    both.push_back({0, {backward, 1, 1}, 70, 70, fused_end});
    CHECK(tells(costs_of(seen(both, {0})), "stage 1 has fused backwards") == (fused_end == 110));
  }

  std::vector<profiled_rank> cut = seen(two_steps(), {0, 0});
  cut[1].passes.pop_back();
  CHECK(whole_steps(cut) == 0);
  CHECK(tells(costs_of(cut), "begins or ends within a step"));
  CHECK(typical_step(cut).empty());
  std::vector<profiled_rank> later = seen(two_steps(), {0, 0}), endless = later;
  REQUIRE_FALSE(typical_step(later).empty());
  later[0].passes[0].step = 2;
  CHECK(typical_step(later).empty());
  endless[1].passes[0].end = max_tick;
  CHECK(typical_step(endless).empty());

  std::vector<profiled_rank> uneven = seen(two_steps(), {0, 0});
  uneven[0].passes[0].end += 95;
  uneven[0].passes[1].end += 95;
  CHECK(tells(costs_of(uneven), "most those of 0F: 0.1 us"));

  std::vector<profiled_rank> impossible = seen(two_steps(), {0, 0});
  for (profiled_pass& p : impossible[1].passes)
    if (p.what.kind == forward) p.start = p.begin = p.begin - 500;
  CHECK(tells(costs_of(impossible), "before it was sent"));
}

TEST_CASE("of data-parallel ranks, one stands for all, and all count as samples") {
  std::vector<profiled_rank> all = seen(two_steps(), {0, 0});
  for (profiled_rank one : seen(two_steps(), {40, 90})) {
    one.rank += 2;
    all.push_back(one);
  }
  std::vector<profiled_rank> backwards(all.rbegin(), all.rend());
  for (auto const* ranks : {&all, &backwards}) {
    std::vector<profiled_rank> const chosen = one_of_each(*ranks);
    REQUIRE(chosen.size() == 2);
    CHECK(chosen[0].rank + 1 == chosen[1].rank);
  }
  CHECK(costs_of(all).measured.stages[0][0].samples == 8);
  CHECK(typical_step(all).size() == 2);
}

TEST_CASE("before a GPU's first kernel nothing counts") {
  std::vector<profiled_rank> all = seen(two_steps(), {0, 0});
  for (profiled_rank& one : all) one.on_gpu = true;
  profiled_costs const c = costs_of(all);
  CHECK(c.measured.stages[0][0].median == 95);
  CHECK(c.measured.stages[1][1].median == 90);
}

// The host is far ahead of the GPU: annotations lie before the messages that the kernels wait for.
TEST_CASE("on a GPU, the weight pass waits for a gradient that the input pass has no use for") {
  using enum pass_kind;
  std::vector<seen_pass> const step{{0, {forward, 0, 0}, 0, 5, 100},
                                    {0, {backward_input, 0, 0}, 10, 100, 100},
                                    {0, {backward_weight, 0, 0}, 20, 330, 430},
                                    {1, {forward, 1, 0}, 0, 130, 200},
                                    {1, {backward_input, 1, 0}, 10, 200, 300},
                                    {1, {backward_weight, 1, 0}, 20, 300, 400}};
  std::vector<profiled_rank> all = seen(step, {0, 700});
  for (profiled_rank& one : all) one.on_gpu = true;
  profiled_costs const c = costs_of(all);
  CHECK(!tells(c, "before it was sent"));
  CHECK(c.clocks_ahead_ns == std::vector<double>{0, 700});
  REQUIRE(c.measured.inside);
  CHECK(c.measured.inside->latency == measured_time{30, 30, 30, 2});
  CHECK(c.measured.stages[0][1].median == 0);
}
