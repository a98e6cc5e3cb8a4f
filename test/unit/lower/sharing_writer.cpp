#include <ashlar/lower/lower.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "random_cases.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/prove/prove.hpp>
#include <ashlar/schedule/from_orders.hpp>

#include <limits>
#include <string_view>
#include <utility>
#include <vector>

using namespace shapes;

namespace {

// Passes are their kind's letter, the others a letter too: gather, release (x), Scatter, reduce (A for
// all-reduce), Norm, Optimize; transfers and clears are left out.
constexpr bool reads(program const& p, int device, std::string_view expected) {
  std::size_t at = 0;
  for (instruction const& i : p.view().stream(device)) {
    if (i.code == opcode::send || i.code == opcode::receive || i.code == opcode::clear) continue;
    char const letter = i.code == opcode::compute ? "FRBIW"[static_cast<int>(i.what.kind)]
                                                  : "   AgxS NO"[static_cast<int>(i.code)];
    if (at == expected.size() || letter != expected[at++]) return false;
  }
  return at == expected.size();
}

TEST_CASE("one chunk a device") {
  schedule const s = one_f_one_b(2, 2);
  lower_options o{.data_ranks = 2};
  CHECK(reads(lower(s, o), 1, "FBFBA"));
  o.step = optimizer_step::at_end;
  CHECK(reads(lower(s, o), 1, "FBFBAO"));
  o.step = optimizer_step::after_norm;
  CHECK(reads(lower(s, o), 1, "FBFBANAO"));
  for (sharding_level level : {sharding_level::optimizer, sharding_level::gradients,
                               sharding_level::weights, sharding_level::full}) {
    o.sharding = level;
    CHECK(reads(lower(s, o), 1, "gFBFBxSANAO"));
    CHECK(check(lower(s, o)).ok());
  }
}

// Two chunks on the one device, each of two micro-batches: F F of chunk 0, F F of chunk 1, B B, B B.
constexpr schedule two_chunks() {
  return squeeze(schedule_from_orders(
      looped(devices{1}, chunks{2}), {0, 0}, {},
      {{{F, 0, 0}, {F, 0, 1}, {F, 1, 0}, {F, 1, 1}, {B, 1, 0}, {B, 1, 1}, {B, 0, 0}, {B, 0, 1}}}));
}

TEST_CASE("buffers, prefetch and the time of reduction") {
  auto const made = [](sharding_level level, int buffers, int prefetch,
                       gradient_reduction when = gradient_reduction::eager) {
    return lower(two_chunks(), {.data_ranks = 2,
                                .reduction = when,
                                .sharding = level,
                                .weight_buffers = buffers,
                                .prefetch = prefetch});
  };
  constexpr auto full = sharding_level::full;
  CHECK(reads(made(full, 1, 0), 0, "gFFxgFFBBxSAgBBxSA"));
  CHECK(lower(two_chunks(), {.data_ranks = 2, .sharding = full, .weight_buffers = 2})
        == made(full, 2, 1));
  CHECK(made(full, 1, 3) == made(full, 1, 0));  // the only buffer is never free ahead of time
  CHECK(reads(made(full, 2, 0), 0, "gFFgFFBBxSABBxSA"));
  CHECK(reads(made(full, 2, 1), 0, "gFgFFFBBxSABBxSA"));
  CHECK(reads(made(full, 2, 9), 0, "ggFFFFBBxSABBxSA"));
  CHECK(made(full, 9, 1) == made(full, 2, 1));  // more buffers than chunks are of no use
  CHECK(made(full, 2, std::numeric_limits<int>::max()) == made(full, 2, 9));
  CHECK(reads(made(sharding_level::gradients, 1, 0), 0, "gFFgFFBBxSABBxSA"));
  CHECK(count_slots(made(full, 1, 0).view(), 0, slot_kind::weight) == 1);
  CHECK(count_slots(made(full, 1, 0).view(), 0, slot_kind::weight_gradient) == 1);
  CHECK(count_slots(made(full, 1, 0).view(), 0, slot_kind::gradient_shard) == 2);
  CHECK(count_slots(made(sharding_level::gradients, 1, 0).view(), 0, slot_kind::weight) == 2);
  CHECK(count_slots(made(sharding_level::gradients, 1, 0).view(), 0, slot_kind::weight_gradient) == 1);
  CHECK(count_slots(made(sharding_level::optimizer, 1, 0).view(), 0, slot_kind::weight_gradient) == 2);
  // Reductions come at the end, unless a buffer must be given up before.
  constexpr auto late = gradient_reduction::at_end;
  CHECK(reads(made(full, 1, 0, late), 0, "gFFxgFFBBxSgBBxSAA"));
  CHECK(reads(made(full, 2, 0, late), 0, "gFFgFFBBxBBxSSAA"));
  CHECK(reads(made(sharding_level::none, 1, 0, late), 0, "FFFFBBBBAA"));
  CHECK(reads(made(sharding_level::none, 1, 0), 0, "FFFFBBABBA"));
}

// Weights are gathered as often as at the level that shares all buffers, but gradients scattered once.
TEST_CASE("weights come and go, gradients stay until they are whole") {
  schedule const s =
      catalog::depth_first(devices{2}, chunks{2}, 2) | repeat(micro_batches{4}) | squeeze();
  for (int buffers : {1, 2, 3}) {
    auto const lowered = [&](sharding_level level) {
      return lower(s, {.data_ranks = 2, .sharding = level, .weight_buffers = buffers});
    };
    program const whole = lowered(sharding_level::weights), shared = lowered(sharding_level::full);
    auto const count = [](program const& p, int d, opcode code) {
      int found = 0;
      for (instruction const& i : p.view().stream(d)) found += i.code == code;
      return found;
    };
    CHECK(check(whole).ok());
    for (int d = 0; d < 2; ++d) {
      CHECK(count(whole, d, opcode::all_gather) == count(shared, d, opcode::all_gather));
      CHECK(count(whole, d, opcode::release) == count(shared, d, opcode::release));
      CHECK(count(whole, d, opcode::reduce_scatter) == 2);
      if (buffers == 1) CHECK(count(shared, d, opcode::reduce_scatter) > 2);
      CHECK(count_slots(whole.view(), d, slot_kind::weight) == (buffers == 1 ? 1 : 2));
      CHECK(count_slots(whole.view(), d, slot_kind::weight_gradient) == 2);
    }
  }
}

// A buffer is cleared whenever a run of weight passes begins in it, a shard once.
TEST_CASE("gradients are cleared before they are summed up") {
  for (int buffers : {1, 2}) {
    program const p = lower(
        two_chunks(), {.data_ranks = 2, .sharding = sharding_level::full, .weight_buffers = buffers});
    int shards = 0, wholes = 0, scatters = 0;
    for (instruction const& i : p.instructions) {
      bool const clears = i.code == opcode::clear;
      shards += clears && i.subject == slot_kind::gradient_shard;
      wholes += clears && i.subject == slot_kind::weight_gradient;
      scatters += i.code == opcode::reduce_scatter;
    }
    CHECK((shards == 2 && wholes == 2 && scatters == 2));
  }
}

TEST_CASE("the middle stages reduce last") {
  schedule const s = catalog::find("v-half")->make({devices{3}, micro_batches{3}});
  program const p = lower(s, {.reduction = gradient_reduction::eager_middle_last});
  for (int d = 0; d < 3; ++d) {
    bool computes_follow = false;
    list_view<instruction> const stream = p.view().stream(d);
    for (std::size_t i = stream.size(); i-- > 0;) {
      computes_follow = computes_follow || stream[i].code == opcode::compute;
      if (stream[i].code == opcode::all_reduce && is_middle(stream[i].what.stage, 6))
        CHECK(!computes_follow);
    }
  }
  CHECK(check(p).ok());
}

// With one rank, weights come and gradients go at the same time: nobody else has to be met.
TEST_CASE("gathers and scatters of one rank have a lane each") {
  for (sharding_level level : {sharding_level::weights, sharding_level::full}) {
    program const p = lower(two_ways(3) | repeat(micro_batches{2}) | squeeze(),
                            {.data_ranks = 1, .sharding = level, .step = optimizer_step::after_norm});
    CHECK(p.scatter_lane() == p.collective_lane() + 1);
    CHECK(p.lane_count() == p.scatter_lane() + 1);
    int gathers = 0, scatters = 0;
    for (instruction const& i : p.instructions) {
      bool const shard = i.code == opcode::clear && i.subject == slot_kind::gradient_shard;
      if (i.code == opcode::all_gather || i.code == opcode::release) {
        CHECK(i.lane == p.collective_lane());
        ++gathers;
      }
      if (i.code == opcode::reduce_scatter || shard) {
        CHECK(i.lane == p.scatter_lane());
        ++scatters;
      }
    }
    CHECK((gathers > 0 && scatters > 0));
    CHECK(check(p).ok());
  }
}

TEST_CASE("lanes and groups") {
  program p =
      lower(two_ways(3) | repeat(micro_batches{2}) | squeeze(),
            {.data_ranks = 2, .sharding = sharding_level::full, .step = optimizer_step::after_norm});
  for (int d = 0; d < 3; ++d)
    for (instruction const& i : p.view().stream(d)) {
      if (i.code == opcode::send || i.code == opcode::receive) continue;
      bool const clears_whole = i.code == opcode::clear && i.subject == slot_kind::weight_gradient;
      bool const computes = i.code == opcode::compute || i.code == opcode::measure
                            || i.code == opcode::optimize || clears_whole;
      CHECK(i.lane == (computes ? compute_lane : p.collective_lane()));
      if (i.code != opcode::compute) CHECK(p.groups.member_of(i.group, d) >= 0);
    }
  CHECK(check(p).ok());
}

// A forward and a backward of two stages overlap and want the one buffer.
TEST_CASE("a pair whose weights do not fit runs one after the other") {
  schedule s = schedule_from_orders(
      looped(devices{1}, chunks{2}), {0, 0}, {},
      {{{F, 0, 0}, {F, 1, 0}, {F, 0, 1}, {B, 1, 0}, {F, 1, 1}, {B, 0, 0}, {B, 1, 1}, {B, 0, 1}}});
  for (std::size_t i : {2U, 3U}) pair_up(s, 0, i);
  s = squeeze(s);
  auto const pairs = [&](int buffers) {
    program const p =
        lower(s, {.data_ranks = 2, .sharding = sharding_level::full, .weight_buffers = buffers});
    int found = check(p).ok() ? 0 : 99;
    for (instruction const& i : p.instructions) found += i.overlaps_next;
    return found;
  };
  CHECK(pairs(2) == 2);
  CHECK(pairs(1) == 0);
}

// Three chunks and two buffers: after a pair, the third stage takes the place of the one whose forward
// opened the pair.
TEST_CASE("a collective does not stand between the passes of a pair") {
  schedule s = schedule_from_orders(looped(devices{1}, chunks{3}), {0, 0}, {},
                                    {{{F, 0, 0},
                                      {F, 1, 0},
                                      {F, 2, 0},
                                      {B, 2, 0},
                                      {F, 0, 1},
                                      {B, 1, 0},
                                      {F, 1, 1},
                                      {F, 2, 1},
                                      {B, 2, 1},
                                      {B, 1, 1},
                                      {B, 0, 0},
                                      {B, 0, 1}}});
  pair_up(s, 0, 4);
  program const p =
      lower(squeeze(s),
            {.data_ranks = 2, .sharding = sharding_level::full, .weight_buffers = 2, .prefetch = 0});
  CHECK(check(p).ok());
  list_view<instruction> const stream = p.view().stream(0);
  int pairs = 0;
  for (std::size_t i = 0; i < stream.size(); ++i) {
    if (!stream[i].overlaps_next) continue;
    ++pairs;
    CHECK(stream[i + 1].code == opcode::compute);
    CHECK((stream[i + 2].code == opcode::release && stream[i + 2].what.stage == 0));
  }
  CHECK(pairs == 1);
}

TEST_CASE("inference only gathers") {
  schedule s = schedule_from_orders(linear(devices{2}), {0, 0}, {},
                                    {{{F, 0, 0}, {F, 0, 1}}, {{F, 1, 0}, {F, 1, 1}}});
  s.mode = execution_mode::inference;
  program const p =
      lower(squeeze(s),
            {.data_ranks = 2, .sharding = sharding_level::full, .step = optimizer_step::after_norm});
  CHECK((reads(p, 0, "gFFx") && reads(p, 1, "gFFx")));
  CHECK(count_slots(p.view(), 0, slot_kind::gradient_shard) == 0);
  CHECK(check(p).ok());
}

TEST_CASE("options that cannot be are refused") {
  schedule const s = one_f_one_b(2, 2);
  CHECK_BREAKS(parameter_is_at_least, lower(s, {.data_ranks = 0}));
  CHECK_BREAKS(parameter_is_at_least, lower(s, {.weight_buffers = 0}));
  CHECK_BREAKS(parameter_is_at_least, lower(s, {.prefetch = -1}));
}

TEST_CASE("every program of every option is proved") {
  std::vector<schedule> all;
  for (int p : {1, 2, 3, 4})
    for (catalog_case const& c : catalog_cases({p}, {2 * p})) {
      all.push_back(c.schedule());
      all.push_back(retime(all.back(), costs({.forward = 3, .backward_input = 2}, 2)));
    }
  all.push_back(with_work(recomputed(3) | repeat(micro_batches{4})));
  all.push_back(two_ways(3) | repeat(micro_batches{6}) | squeeze());
  all.push_back(fork_join() | repeat(micro_batches{3}));
  for (schedule const& s : listed_cases(std::move(all)))
    for (int level = 0; level < 5; ++level)
      for (int when = 0; when < 3; ++when)
        for (int buffers : {1, 2, 3})
          for (int prefetch : {0, 1, 4}) {
            program const p = lower(s, {.data_ranks = 2,
                                        .reduction = static_cast<gradient_reduction>(when),
                                        .sharding = static_cast<sharding_level>(level),
                                        .weight_buffers = buffers,
                                        .prefetch = prefetch,
                                        .step = optimizer_step::after_norm});
            REQUIRE(check(p).broken == rule::none);
          }
}

}  // namespace
