// A diagnosis becomes one sentence that names the place, the rule and its numbers.
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/program/issue_order.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/prove/progress.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/render/diagnosis.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace ashlar;

schedule one_f_one_b() { return catalog::find("1f1b")->make({devices{4}, micro_batches{8}}); }

bool contains(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a pass is written as PyTorch writes it") {
  CHECK(to_string(pass{pass_kind::forward, 2, 0}) == "2F0");
  CHECK(to_string(pass{pass_kind::backward_input, 10, 3}) == "10I3");
  CHECK(to_string(pass{pass_kind::backward_weight, 0, 12}) == "0W12");
  CHECK(to_string(pass{pass_kind::backward, 1, 1}) == "1B1");
  CHECK(to_string(pass{pass_kind::recompute, 1, 1}) == "1R1");
  CHECK(to_string(
            instruction{.code = opcode::send, .what = {pass_kind::forward, 2, 0}, .to = 3, .peer = 3})
        == "send 2F0 to device 3");
}

TEST_CASE("a pass that starts too early is named with its input and the ticks") {
  schedule s = one_f_one_b();
  s.order[1][0].start = 0;
  CHECK(explain(check(s)) ==
        "no pass may start before its inputs have arrived, but 1F0 on device 1 at position 0 starts 1 tick before "
        "the result of 0F0 on device 0 is there");
}

TEST_CASE("the schedule adds what stands around the witnesses") {
  schedule s = one_f_one_b();
  s.order[2][5].start -= 2;
  std::string const words = explain(check(s), s);
  CHECK(contains(words,
                 "passes of one device must not overlap in time, but 2F3 on device 2 at position 5"));
  CHECK(contains(words, "by 2 ticks"));
  CHECK(contains(words, "\n  device 2: ... 2B0 2F2 2B1 [2F3] 2B2 2F4 2B3 ..."));
}

TEST_CASE("a missing pass is named with its device") {
  schedule s = one_f_one_b();
  s.order[3].pop_back();
  CHECK(explain(check(s))
        == "every stage must run every pass of every micro-batch, but 3B7 on device 3 is missing");
}

TEST_CASE("the block adds its interval") {
  block const b = with_interval(catalog::find("1f1b")->block_of({devices{2}, micro_batches{2}}), 2);
  std::string const words = explain(check(b), b);
  CHECK(contains(words, "overlaps"));
  CHECK(contains(words, "modulo the interval of 2"));
}

TEST_CASE("a program's witnesses are shown as instructions") {
  program p = lower(one_f_one_b());
  auto const first = static_cast<std::size_t>(p.stream_begin[1]) + 1;
  std::swap(p.instructions[first], p.instructions[first + 1]);
  diagnosis const d = check(p);
  REQUIRE(!d.ok());
  std::string const words = explain(d, p);
  CHECK(contains(words, "device 1"));
  CHECK(contains(words, "receive 0F0 from device 0"));
}

TEST_CASE("what chunks of a sequence hand over has a name") {
  program p = catalog::seq1f1b(devices{1}, 2) | repeat(micro_batches{2}) | squeeze() | lower();
  auto const first =
      std::find_if(p.instructions.begin(), p.instructions.end(), [](instruction const& i) {
        return i.what == pass{pass_kind::forward, 0, 0} && i.code == opcode::compute;
      });
  REQUIRE((first + 1)->what == pass{pass_kind::forward, 0, 1});
  std::swap(*first, *(first + 1));
  diagnosis const d = check(p);
  CHECK(contains(explain(d, p), "but 0F1 on device 0 at position"));
  CHECK(contains(explain(d, p), "finds something else in slot " + std::to_string(d.number) + "; slot "
                                    + std::to_string(d.number)
                                    + " is for values of the kind sequence state\n  device 0: "));
}

TEST_CASE("negative costs say whose they are") {
  auto const said = [](costs const& c) { return explain(check(c, 2, 2, 3, 1)); };
  std::string const rule =
      "a pass or a transfer must not take less than no time, and work at least one tick, but ";
  CHECK(said(costs(stage_cost{}, -2)) == rule + "a transfer takes -2");
  CHECK(said(costs(stage_cost{.forward = -1})) == rule + "the forward of stage 0 takes -1");
  costs overlapped;
  overlapped.passes.overlapped = -2;
  CHECK(said(overlapped) == rule + "an overlapped pair takes -2");
  costs host, sums;
  host.on.host.speed.latency = -3;
  CHECK(said(host) == rule + "a copy between a device and its host takes -3");
  sums.on.collective.latency = -4;
  CHECK(said(sums) == rule + "a step of a sum over ranks takes -4");
}

TEST_CASE("costs of other micro-batches and blocks without room say so") {
  costs const each(pass_costs::by_stage_and_micro_batch({{1}, {2}, {3}}, 3));
  CHECK(explain(check(each, 2, 2, 4, 1))
        == "tables must have an entry for each thing that they are about, but micro-batches that have "
           "costs of their own are 3, not 1 or 4");
  diagnosis const d{.broken = rule::spread_passes_take_time,
                    .first = {.device = 1, .what = {pass_kind::backward_input, 1, 0}}};
  CHECK(explain(d)
        == "where a block has to make room for a longer pass, the pass in its place must take time, but "
           "1I0 on device 1 takes none");
}

TEST_CASE("a parameter out of bounds is named with the nearest that are not") {
  using namespace catalog;
  CHECK(explain(at_least(parameter::chunk_count, 1, 2))
        == "the number of chunks must be at least 2, not 1");
  CHECK(explain(at_most(parameter::group_size, 9, 8))
        == "the number of micro-batches of a group must be at most 8, not 9");
  CHECK(explain(multiple_of(parameter::micro_batch_count, 13, 4))
        == "the number of micro-batches must be a multiple of 4, not 13; nearest: 12 and 16");
  CHECK(explain(multiple_of(parameter::device_count, 1, 2))
        == "the number of devices must be a multiple of 2, not 1; nearest: 2");
}

TEST_CASE("every rule has a sentence that ends in its quantities") {
  for (int r = 1; r <= static_cast<int>(rule::memory_is_within_budget); ++r) {
    if (std::string(sentence(static_cast<rule>(r))).starts_with("a schedule's parameter")) continue;
    diagnosis const d{
        .broken = static_cast<rule>(r), .first = {.device = 1, .index = 2}, .second = {.device = 0}};
    CHECK(explain(d).starts_with(sentence(d.broken)));
    CHECK(contains(explain(d), ", but "));
  }
  CHECK(explain(diagnosis{}) == "nothing is wrong");
}

TEST_CASE("an issue order's instruction is named with what it comes before") {
  program const p = lower(one_f_one_b());
  std::vector<int> const good = issue_order(p.view());
  auto const said = [&](std::vector<int> const& order) {
    return explain(check_issue_order(p.view(), view_of(order)));
  };
  std::vector<int> order = good;
  order.back() = good.front();
  CHECK(said(order)
        == "every instruction must be issued once, but the clear of stage 0 on device 0 at position 0 is "
           "there twice");
  order.pop_back();
  CHECK(contains(said(order), "every instruction must be issued once, but the all-reduce of stage"));
  CHECK(contains(said(order), "is missing"));
  order.push_back(-1);
  CHECK(said(order) == "every instruction must be issued once, but there is no instruction -1");
  order = good;
  std::swap(order[0], order[1]);  // the clear, the first forward
  CHECK(said(order)
        == "the instructions of a lane must be issued in its order, but 0F0 on device 0 at position 1 "
           "comes before the clear of stage 0 on device 0 at position 0");
  diagnosis d{.broken = rule::those_that_meet_are_issued_together,
              .first = {.device = 0, .index = 2, .code = opcode::send},
              .second = {.device = 2, .index = 0, .code = opcode::receive}};
  CHECK(explain(d)
        == "both halves of a transfer, all members of a collective and overlapped passes must be issued "
           "one right after the other, but the send of 0F0 on device 0 at position 2 is followed by the "
           "receive of 0F0 on device 2 at position 0");
}

TEST_CASE("what is shared has names, and its rules have sentences") {
  program const good =
      lower(one_f_one_b(),
            {.data_ranks = 2, .sharding = sharding_level::full, .step = optimizer_step::after_norm});
  auto const position = [&](opcode code) {
    int at = 0;
    for (instruction const& i : good.view().stream(0)) {
      if (i.code == code) return at;
      ++at;
    }
    return -1;
  };
  auto const without = [&](opcode code) {
    program p = good;
    p.instructions.erase(p.instructions.begin() + position(code));
    for (std::size_t d = 1; d < p.stream_begin.size(); ++d) --p.stream_begin[d];
    return explain(check(p));
  };
  auto const name_of_first = [&](opcode code) {
    return to_string(good.view().stream(0)[static_cast<std::size_t>(position(code))]);
  };
  CHECK(name_of_first(opcode::all_gather) == "all-gather stage 0");
  CHECK(name_of_first(opcode::release) == "release stage 0");
  CHECK(name_of_first(opcode::reduce_scatter) == "reduce-scatter stage 0");
  CHECK(name_of_first(opcode::measure) == "measure the gradients' norm");
  CHECK(name_of_first(opcode::optimize) == "optimize stage 0");
  CHECK(without(opcode::all_gather)
        == "a pass must find its stage's weights gathered and not yet given up, but 0F0 on device 0 at "
           "position 1 comes before any gather of them");
  CHECK(without(opcode::release)
        == "gathered weights must be given up exactly once, before they are gathered again and by the end "
           "of the step, but the all-gather of stage 0 on device 0 at position 1 has no release");
  CHECK(contains(without(opcode::reduce_scatter),
                 "every part of a gradient must be scattered exactly once, before its stage is reduced, "
                 "but what 0B7 on device 0 at position"));
  CHECK(contains(without(opcode::measure),
                 "the measurement of the gradients' norm on device 0 is missing"));
  CHECK(contains(without(opcode::optimize), "the optimizer step of stage 0 on device 0 is missing"));
}

TEST_CASE("a device without speed is refused in words") {
  costs c;
  c.on.speeds = {100, 0};
  CHECK(explain(check(c, 2, 2, 3, 1)) == "the speed in percent on device 1 must be at least 1, not 0");
}

TEST_CASE("a limit on memory without a schedule is refused in words") {
  CHECK(explain(check(workload{.where = v_shape(devices{2}), .limit = chunk_activations(1)}))
        == "the memory budget on device 0 must be at least 2, not 1");
}

TEST_CASE("options of sharing that cannot be are refused in words") {
  CHECK(explain(check(lower_options{.data_ranks = 0}))
        == "the number of data-parallel ranks must be at least 1, not 0");
  CHECK(explain(check(lower_options{.weight_buffers = -2}))
        == "the number of weight buffers must be at least 1, not -2");
  CHECK(explain(check(lower_options{.prefetch = -1}))
        == "the number of passes by which a gather is ahead must be at least 0, not -1");
}
TEST_CASE("a table of the wrong size is named, with how many entries it needs") {
  CHECK(explain(wrong_size(table::sequence_chunk_costs, 4, 2))
            .ends_with("but chunks of a sequence that have costs of their own are 4, not 1 or 2"));
  CHECK(explain(wrong_size(table::sequence_chunk_costs_of_stages, 5, 8))
            .ends_with("but costs of chunks of sequences on all stages are 5, not 8"));
  CHECK(explain(wrong_size(table::stage_costs, 3, 4))
        == "tables must have an entry for each thing that they are about, but costs of stages are 3, not 1 or 4");
  CHECK(explain(wrong_size(table::device_speeds, 3, 2)).ends_with("but speeds of devices are 3, not 2"));
  std::set<std::string> words;
  for (int of = 1; of < table_count; ++of)
    words.insert(explain(wrong_size(static_cast<table>(of), 1, 2)));
  CHECK(words.size() == table_count - 1);
}
