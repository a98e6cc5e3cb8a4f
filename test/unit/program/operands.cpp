#include <ashlar/program/operands.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/catalog/vocabulary.hpp>
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

using namespace shapes;

namespace {

struct operand_seen {
  value_key of;
  ashlar::access how = access::read;
  int reads = 0;

  friend bool operator==(operand_seen const&, operand_seen const&) = default;
};

// All operands of an instruction of device 0.
std::vector<operand_seen> operands_of(program const& p, instruction const& i) {
  program_view const view = p.view();
  program_shape shape(view);
  shape.add_all();
  std::vector<operand_seen> found;
  for_each_operand(shape, 0, i, [&](value_key const& v, ashlar::access how, int reads) {
    found.push_back({v, how, reads});
  });
  return found;
}

// The operands of a pass that its sequence brings about: at most two.
struct sequence_operands {
  operand_seen seen[2];
  int count = 0;

  constexpr bool reads(slot_kind kind, int micro_batch) const {
    for (int i = 0; i < count; ++i)
      if (seen[i].how == access::read && seen[i].of == value_key{kind, 0, micro_batch}) return true;
    return false;
  }
  constexpr bool writes(slot_kind kind, int micro_batch, int reads) const {
    for (int i = 0; i < count; ++i)
      if (seen[i].how == access::write && seen[i].of == value_key{kind, 0, micro_batch}
          && seen[i].reads == reads)
        return true;
    return false;
  }
};

constexpr sequence_operands of_sequence(program const& p, pass what) {
  program_view const view = p.view();
  program_shape shape(view);
  shape.add_all();
  sequence_operands found;
  for_each_operand(shape, 0, {.what = what}, [&](value_key const& v, ashlar::access how, int reads) {
    if (v.kind == slot_kind::sequence_state || v.kind == slot_kind::sequence_gradient)
      found.seen[found.count++] = {v, how, reads};
  });
  return found;
}

// Two sequences in three chunks each.
TEST_CASE("what passes on the chunks of a sequence read and leave") {
  constexpr slot_kind S = slot_kind::sequence_state, G = slot_kind::sequence_gradient;
  block const chunks = catalog::seq1f1b(devices{1}, 3);
  program p = chunks | repeat(micro_batches{6}) | squeeze() | lower();
  for (int k : {0, 3}) {
    CHECK((of_sequence(p, {F, 0, k}).count == 1 && of_sequence(p, {F, 0, k}).writes(S, k, 1)));
    sequence_operands const middle = of_sequence(p, {F, 0, k + 1});
    CHECK((middle.count == 2 && middle.reads(S, k) && middle.writes(S, k + 1, 1)));
    CHECK((of_sequence(p, {F, 0, k + 2}).count == 1 && of_sequence(p, {F, 0, k + 2}).reads(S, k + 1)));
    CHECK(
        (of_sequence(p, {B, 0, k + 2}).count == 1 && of_sequence(p, {B, 0, k + 2}).writes(G, k + 2, 1)));
    sequence_operands const back = of_sequence(p, {B, 0, k + 1});
    CHECK((back.count == 2 && back.reads(G, k + 2) && back.writes(G, k + 1, 1)));
    CHECK((of_sequence(p, {B, 0, k}).count == 1 && of_sequence(p, {B, 0, k}).reads(G, k + 1)));
  }
  // A recompute reads the state of its forward, and leaves none.
  p = recompute(chunks) | repeat(micro_batches{3}) | squeeze() | lower();
  CHECK((of_sequence(p, {F, 0, 0}).writes(S, 0, 2) && of_sequence(p, {F, 0, 1}).writes(S, 1, 2)));
  CHECK(of_sequence(p, {R, 0, 0}).count == 0);
  CHECK((of_sequence(p, {R, 0, 1}).count == 1 && of_sequence(p, {R, 0, 1}).reads(S, 0)));
  // In a split backward it is the input pass.
  p = split_backward(chunks) | repeat(micro_batches{3}) | squeeze() | lower();
  CHECK((of_sequence(p, {I, 0, 1}).reads(G, 2) && of_sequence(p, {I, 0, 1}).writes(G, 1, 1)));
  CHECK(of_sequence(p, {W, 0, 1}).count == 0);
  // Whole sequences hand over nothing.
  p = one_f_one_b(1, 3) | lower();
  CHECK((of_sequence(p, {F, 0, 1}).count == 0 && of_sequence(p, {B, 0, 1}).count == 0));
}

// Stage 0 feeds 1 and 2 beside it, and 3 and 4 on the other device, which share a message.
TEST_CASE("who reads an activation: each stage beside it, and a message to each other device") {
  program p;
  p.graph = stage_graph(stages{5}, {{0, 1}, {0, 2}, {0, 3}, {0, 4}});
  p.where = make_placement(devices{2}, stages{5}, [](int stage) { return stage / 3; });
  p.route = {0};
  program_view const view = p.view();
  program_shape const shape(view);
  pass const forward{F, 0, 0};
  CHECK((shape.readers_on(0, forward) == 2 && shape.readers_on(1, forward) == 2));
  CHECK(shape.readers_of_output(0, forward) == 3);
  CHECK((shape.is_first_on_its_device(forward, 3) && !shape.is_first_on_its_device(forward, 4)));
}

TEST_CASE("passes of a split backward and recomputes read what others have left") {
  auto const value = [](slot_kind kind) { return value_key{kind, 0, 0}; };
  value_key const stash = value(slot_kind::stash), more = value(slot_kind::weight_stash),
                  checkpoint = value(slot_kind::checkpoint), gradient{slot_kind::weight_gradient, 0};
  using all = std::vector<operand_seen>;
  program p = split_backward(one_f_one_b(1, 1)) | lower();
  CHECK(operands_of(p, {.what = {F, 0, 0}}) == all{{stash, access::write, 2}});
  CHECK(operands_of(p, {.what = {I, 0, 0}}) == all{{stash}, {more, access::write, 1}});
  CHECK(operands_of(p, {.what = {W, 0, 0}}) == all{{stash}, {more}, {gradient, access::accumulate}});
  p = recompute(one_f_one_b(1, 1), {0}) | lower();
  CHECK(operands_of(p, {.what = {F, 0, 0}})
        == all{{checkpoint, access::write, 1}, {stash, access::scratch}});
  CHECK(operands_of(p, {.what = {R, 0, 0}}) == all{{checkpoint}, {stash, access::write, 1}});
  CHECK(operands_of(p, {.what = {B, 0, 0}})
        == all{{stash}, {more, access::scratch}, {gradient, access::accumulate}});
}

TEST_CASE("what is sent is read, and nothing else reads it there") {
  program const p = one_f_one_b(2, 1) | lower();
  using all = std::vector<operand_seen>;
  CHECK(operands_of(p, {.code = opcode::send, .what = {F, 0, 0}})
        == all{{{slot_kind::activation, 0, 0}, access::read, 0}});
}

// This is in training alone: stages 0 and 1, and a shard of the output layer on each of two devices.
TEST_CASE("the forward of a shard may give the gradient of its input") {
  program p =
      catalog::vocabulary_one_f_one_b(devices{2}, micro_batches{2}, shard_gradient::of_forward, {})
      | lower();
  operand_seen const given{{slot_kind::gradient, 2, 0, 1}, access::write, 0};
  auto const gives = [&] {
    for (operand_seen const& each : operands_of(p, {.what = {F, 2, 0}}))
      if (each.of == given.of && each.how == given.how) return true;
    return false;
  };
  CHECK(gives());
  for (instruction& i : p.instructions)
    if (is_backward(i.what.kind)) i.code = opcode::release;
  CHECK_FALSE(gives());
}

// Job 0 keeps state, and its second part hands on what job 1 reads.
TEST_CASE("work reads the stashes of passes, adds to its state and hands on what others read") {
  schedule s = one_f_one_b(2, 2);
  for (pass const what : {pass{X, 0, 0}, pass{X, 0, 1}, pass{X, 1, 0}}) s.order[0].push_back({what, 0});
  s.work = curvature();
  program const p = squeeze(s) | lower();
  value_key const state{slot_kind::work_state, 0}, handed_on = work_value({0, 1});
  auto const stash = [](int k) { return value_key{slot_kind::stash, 0, k}; };
  using all = std::vector<operand_seen>;
  CHECK(operands_of(p, {.what = {X, 0, 0}}) == all{{stash(0)}, {state, access::accumulate}});
  CHECK(operands_of(p, {.what = {X, 0, 1}})
        == all{{stash(1)}, {state, access::accumulate}, {handed_on, access::write, 1}});
  CHECK(operands_of(p, {.what = {X, 1, 0}}) == all{{handed_on}});
}

TEST_CASE("an optimizer that waits for the norm reads it") {
  value_key const gradient{slot_kind::weight_gradient, 0}, norm{slot_kind::scalar, gradient_norm};
  instruction const step{.code = opcode::optimize, .group = 0};
  using all = std::vector<operand_seen>;
  schedule const s = one_f_one_b(2, 2);
  CHECK(operands_of(s | lower({.step = optimizer_step::at_end}), step) == all{{gradient}});
  CHECK(operands_of(s | lower({.step = optimizer_step::after_norm}), step) == all{{gradient}, {norm}});
}

}  // namespace
