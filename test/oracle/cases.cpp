// The mutants that decide what a rule means, one by one.
#include "oracle/agreement.hpp"
#include <ashlar/prove/wait_cycle.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace {

using namespace oracle;
using ashlar::rule;

program lowered(char const* name, int p, int m,
                ashlar::transfer_lanes lanes = ashlar::transfer_lanes::one) {
  using namespace ashlar;
  return lower(catalog::find(name)->make({devices{p}, micro_batches{m}}), {.lanes = lanes});
}

// The place of an instruction in its stream.
std::size_t find(draft& d, int device, opcode code, pass what) {
  auto const& stream = d.stream(device);
  auto const found = std::find_if(stream.begin(), stream.end(), [&](line const& l) {
    return l.what.code == code && l.what.what == what;
  });
  REQUIRE(found != stream.end());
  return static_cast<std::size_t>(found - stream.begin());
}

void move(draft& d, int device, std::size_t from, std::size_t to) {
  auto& stream = d.stream(device);
  line const l = stream[from];
  stream.erase(stream.begin() + static_cast<std::ptrdiff_t>(from));
  stream.insert(stream.begin() + static_cast<std::ptrdiff_t>(to), l);
}

// Both sides must find `expected` broken, or neither anything.
void judge(draft const& d, rule expected) {
  program const p = d.assemble();
  opinions const o = ask(p);
  INFO(written_out(o) << written_out(p));
  CHECK(o.proof.broken == expected);
  CHECK(o.oracle.good == (expected == rule::none));
}

constexpr pass forward(int stage, int k) { return {pass_kind::forward, stage, k}; }
constexpr pass backward(int stage, int k) { return {pass_kind::backward, stage, k}; }

// An activation slot of its own for the forward value of a micro-batch on a device of two.
void give_own_slot(draft& d, int device, int k) {
  auto& slots = d.slots(device);
  auto const fresh = static_cast<int>(slots.size());
  for (line& l : d.stream(device))
    for (operand& o : l.operands)
      if (slots[static_cast<std::size_t>(o.slot)] == slot_kind::activation
          && l.what.what.kind == pass_kind::forward && l.what.what.micro_batch == k)
        o.slot = fresh;
  slots.push_back(slot_kind::activation);
}

}  // namespace

TEST_CASE("messages may overtake each other, if they do so on both sides") {
  draft d(lowered("gpipe", 2, 2));
  give_own_slot(d, 0, 1);
  give_own_slot(d, 1, 1);
  judge(d, rule::none);
  move(d, 0, find(d, 0, opcode::send, forward(0, 0)), find(d, 0, opcode::send, forward(0, 1)));
  judge(d, rule::sends_and_receives_have_the_same_order);
  move(d, 1, find(d, 1, opcode::receive, forward(0, 1)), find(d, 1, opcode::receive, forward(0, 0)));
  judge(d, rule::none);
}

TEST_CASE("a receive ahead of the send that leads to it: a cycle") {
  for (auto lanes : {ashlar::transfer_lanes::one, ashlar::transfer_lanes::one_a_peer}) {
    draft d(lowered("1f1b", 2, 1, lanes));
    move(d, 0, find(d, 0, opcode::receive, backward(1, 0)), 0);
    judge(d, rule::no_cycle_of_waits);
    auto const circle = ashlar::find_wait_cycle(d.assemble());
    CHECK(circle.size() == 4);  // receive, its send after a receive, whose send is after the first
    CHECK(is_wait_cycle(d.assemble(), circle));
  }
  // A lane of its own lets the receive wait while sends go on.
  draft d(lowered("1f1b", 2, 1, ashlar::transfer_lanes::one_a_direction));
  move(d, 0, find(d, 0, opcode::receive, backward(1, 0)), 0);
  judge(d, rule::none);
}

TEST_CASE("no pass works in place") {
  draft d(lowered("1f1b", 3, 1));
  line& l = d.stream(1)[find(d, 1, opcode::compute, forward(1, 0))];
  REQUIRE(l.operands[1].how == access::write);
  l.operands[1].slot = l.operands[0].slot;
  for (operand& o : d.stream(1)[find(d, 1, opcode::send, forward(1, 0))].operands)
    o.slot = l.operands[0].slot;
  judge(d, rule::no_slot_is_overwritten_before_its_last_read);
}

TEST_CASE("a weight gradient has one accumulator") {
  draft d(lowered("1f1b", 2, 2));
  auto const fresh = static_cast<int>(d.slots(0).size());
  d.slots(0).push_back(slot_kind::weight_gradient);
  d.stream(0)[find(d, 0, opcode::compute, backward(0, 1))].operands.back().slot = fresh;
  judge(d, rule::slot_holds_what_is_read);
  for (line& l : d.stream(0))
    if (l.what.code == opcode::clear || l.what.code == opcode::all_reduce
        || (l.what.code == opcode::compute && gives_weight_gradient(l.what.what.kind)))
      l.operands.back().slot = fresh;
  judge(d, rule::none);
}

TEST_CASE("every instruction has its lane") {
  for (auto lanes : {ashlar::transfer_lanes::one, ashlar::transfer_lanes::one_a_peer,
                     ashlar::transfer_lanes::one_a_direction}) {
    draft const right(lowered("1f1b", 3, 2, lanes));
    int const lane_count = right.assemble().view().lane_count;
    for (std::size_t i = 0; i < draft(right).stream(1).size(); ++i)
      for (int lane = 0; lane < lane_count; ++lane) {
        draft d = right;
        int& of = d.stream(1)[i].what.lane;
        bool const other = std::exchange(of, lane) != lane;
        judge(d, other ? rule::every_instruction_is_on_its_lane : rule::none);
      }
  }
}

TEST_CASE("independent instructions may change places") {
  draft d(lowered("1f1b", 2, 2));
  std::size_t const send = find(d, 1, opcode::send, backward(1, 0));
  REQUIRE(d.stream(1)[send + 1].what.what == forward(1, 1));
  move(d, 1, send, send + 1);
  judge(d, rule::none);
}

TEST_CASE("inference has no transfers backward, not even half of one") {
  draft d(lowered("inference", 2, 1));
  judge(d, rule::none);
  std::size_t const send = find(d, 0, opcode::send, forward(0, 0));
  line l = d.stream(0)[send];
  l.what = {.code = opcode::send, .lane = l.what.lane, .what = backward(1, 0), .to = 0, .peer = 0};
  l.operands = {{static_cast<int>(d.slots(1).size()), access::read}};
  d.slots(1).push_back(slot_kind::gradient);
  d.stream(1).push_back(l);
  judge(d, rule::every_send_has_its_receive);
  l.what.code = opcode::receive;
  l.what.peer = 1;
  l.operands = {{static_cast<int>(d.slots(0).size()), access::write}};
  d.slots(0).push_back(slot_kind::gradient);
  d.stream(0).push_back(l);
  judge(d, rule::every_slot_is_freed);
  d.stream(1).pop_back();
  judge(d, rule::every_receive_has_its_send);
}

// Chunks 0, 1 and 2 of one sequence on one device.
TEST_CASE("what chunks of a sequence hand over is there, and has one slot for each that is needed") {
  using namespace ashlar;
  block const chunks = catalog::seq1f1b(devices{1}, 3);
  for (schedule const& s : {chunks | repeat(micro_batches{3}) | squeeze(),
                            recompute(chunks) | repeat(micro_batches{3}) | squeeze()}) {
    draft const right(lower(s));
    judge(right, rule::none);
    for (auto [early, late] : {std::pair{forward(0, 0), forward(0, 1)},
                               {forward(0, 1), forward(0, 2)},
                               {backward(0, 2), backward(0, 1)},
                               {backward(0, 1), backward(0, 0)}}) {
      draft d = right;
      auto& stream = d.stream(0);
      std::swap(stream[find(d, 0, opcode::compute, early)], stream[find(d, 0, opcode::compute, late)]);
      judge(d, rule::slot_holds_what_is_read);
    }
    // The second state goes into the slot of the first, which its forward still reads.
    draft d = right;
    line& second = d.stream(0)[find(d, 0, opcode::compute, forward(0, 1))];
    REQUIRE(second.operands.back().how == access::write);
    second.operands.back().slot = second.operands[second.operands.size() - 2].slot;
    judge(d, rule::no_slot_is_overwritten_before_its_last_read);
  }
}

// Stage 0 alone, whose jobs 0, 1 and 2 take its gradients, read them and give their sum back.
TEST_CASE(
    "a gradient is taken before more is added, read before its sum is given, given before reduced") {
  using namespace ashlar;
  draft const right(
      lower(with_late_readers(catalog::find("1f1b")->make({devices{1}, micro_batches{2}}))));
  judge(right, rule::none);
  auto const moved = [&](opcode code, pass what, pass to) {
    draft d = right;
    move(d, 0, find(d, 0, code, what), find(d, 0, opcode::compute, to));
    return d;
  };
  pass const reduction{pass_kind::backward_weight, 0, 0}, given{pass_kind::work, 2, 0};
  auto const take = [](int k) { return pass{pass_kind::work, 0, k}; };
  auto const read = [](int k) { return pass{pass_kind::work, 1, k}; };
  judge(moved(opcode::compute, take(0), backward(0, 1)), rule::gradient_is_taken_before_more_is_added);
  judge(moved(opcode::compute, read(0), read(1)), rule::none);
  judge(moved(opcode::compute, read(0), given), rule::taken_gradient_is_given_back);
  judge(moved(opcode::compute, read(0), take(0)), rule::taken_gradient_is_given_back);
  judge(moved(opcode::all_reduce, reduction, given), rule::taken_gradient_is_given_back);
  judge(moved(opcode::compute, given, take(1)), rule::taken_gradient_is_given_back);
  judge(moved(opcode::clear, {pass_kind::work, 1, 0}, given), rule::state_is_cleared_after_its_last_use);
}

// Both devices of two ways hold both stages: their replicas do joint actions in one order.
TEST_CASE("replicas that scatter and reduce in different orders") {
  using namespace ashlar;
  block const one = spread(catalog::one_f_one_b(devices{2}), 2);
  draft d(lower(overlay(one, mirror(one)) | repeat(micro_batches{2}) | squeeze(),
                {.data_ranks = 2,
                 .reduction = gradient_reduction::at_end,
                 .sharding = sharding_level::full,
                 .step = optimizer_step::after_norm}));
  judge(d, rule::none);
  auto& stream = d.stream(0);
  auto const reduces = [](line const& l) { return l.what.code == opcode::all_reduce; };
  auto const first = std::find_if(stream.begin(), stream.end(), reduces);
  std::swap(*first, *std::find_if(first + 1, stream.end(), reduces));
  judge(d, rule::no_cycle_of_waits);
  CHECK(is_wait_cycle(d.assemble(), find_wait_cycle(d.assemble())));
}

TEST_CASE("a stage's weights are in one buffer at a time, and belong to a group that the device holds") {
  using namespace ashlar;
  draft const right(lower(catalog::find("1f1b")->make({devices{1}, micro_batches{2}}),
                          {.data_ranks = 2, .sharding = sharding_level::full}));
  auto const weights = [](line const& l) {
    return l.what.code == opcode::all_gather || l.what.code == opcode::release;
  };
  draft d = right;  // a second buffer for the second half: gathered while the first still is
  auto& stream = d.stream(0);
  auto const fresh = static_cast<int>(d.slots(0).size());
  d.slots(0).push_back(slot_kind::weight);
  auto const half = std::find_if(stream.begin(), stream.end(), [](line const& l) {
    return l.what.code == opcode::compute && l.what.what.micro_batch == 1;
  });
  for (auto l = half; l != stream.end(); ++l)
    if (weights(*l) || l->what.code == opcode::compute)
      for (operand& o : l->operands)
        if (d.slots(0)[static_cast<std::size_t>(o.slot)] == slot_kind::weight) o.slot = fresh;
  line gather = *std::find_if(stream.begin(), stream.end(), weights);
  REQUIRE(gather.what.code == opcode::all_gather);
  line release = gather;
  release.what.code = opcode::release;
  release.operands[0].how = access::scratch;
  gather.operands[0].slot = fresh;
  draft apart = d;
  std::ptrdiff_t const at = half - stream.begin();
  apart.stream(0).insert(apart.stream(0).begin() + at, {release, gather});
  judge(apart, rule::none);
  d.stream(0).insert(d.stream(0).begin() + at, {gather, release});
  judge(d, rule::gathered_weights_are_given_up);

  d = right;  // once more, for nothing
  gather.operands = release.operands;
  gather.operands[0].how = access::write;
  d.stream(0).insert(d.stream(0).end(), {gather, release});
  judge(d, rule::gathered_weights_are_used);

  d = right;
  std::find_if(d.stream(0).begin(), d.stream(0).end(), weights)->what.group = 1;
  judge(d, rule::group_is_held_where_it_is_named);
}
