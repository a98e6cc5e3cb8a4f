#include <ashlar/prove/memory_safe.hpp>
// The header above comes first: it needs nothing before it.
#include "mutate.hpp"
#include "shapes.hpp"
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/prove.hpp>

#include <doctest/doctest.h>

using namespace shapes;
using namespace mutate;

namespace {

constexpr program safe() {
  return catalog::find("gpipe")->make({devices{2}, micro_batches{2}}) | lower();
}

TEST_CASE("memory-safe programs") {
  CHECK(check_memory_safe(safe()).ok());
  CHECK(check_memory_safe(recomputed(2) | repeat(micro_batches{2}) | lower()).ok());
  CHECK(check_memory_safe(fork_join() | repeat(micro_batches{2}) | lower()).ok());
  CHECK(check_memory_safe(two_ways(2) | repeat(micro_batches{2}) | squeeze() | lower()).ok());
  CHECK(check_memory_safe(with_work(one_f_one_b(2, 2)) | lower()).ok());
}

TEST_CASE("a slot overwritten before its last read") {
  program p = safe();
  int const first = find(p, 0, opcode::compute, {F, 0, 0});
  int const second = find(p, 0, opcode::compute, {F, 0, 1});
  int const stash = at(p, 0, first).operand_count - 1;
  operand_of(p, 0, second, stash) = operand_of(p, 0, first, stash);
  diagnosis const d = check_memory_safe(p);
  CHECK(d.broken == rule::no_slot_is_overwritten_before_its_last_read);
  CHECK((d.first.device == 0 && d.first.index == second && d.second.index == first));
  CHECK(d.number == operand_of(p, 0, first, stash).slot);
}

TEST_CASE("a slot that holds another value") {
  program p = safe();
  int const backward = find(p, 1, opcode::compute, {B, 1, 0});
  int const other = find(p, 1, opcode::compute, {B, 1, 1});
  std::swap(operand_of(p, 1, backward, 0), operand_of(p, 1, other, 0));  // the stashes
  CHECK(check_memory_safe(p).broken == rule::slot_holds_what_is_read);
  p = safe();
  operand_of(p, 1, backward, 0).how = access::write;
  CHECK(check_memory_safe(p).broken == rule::slot_holds_what_is_read);
  p = safe();
  operand_of(p, 1, backward, 0).slot = 1000;
  CHECK(check_memory_safe(p).broken == rule::slot_holds_what_is_read);
  operand_of(p, 1, backward, 0).slot = -1;
  CHECK(check_memory_safe(p).broken == rule::slot_holds_what_is_read);
  p = safe();
  --at(p, 1, backward).operand_count;
  CHECK(check_memory_safe(p).broken == rule::slot_holds_what_is_read);
  p = safe();
  ++at(p, 1, backward).operand_count;
  CHECK(check_memory_safe(p).broken == rule::slot_holds_what_is_read);
}

TEST_CASE("a value that is not there yet") {
  // Before the pass that makes it, there is nothing to send.
  program p = safe();
  exchange(p, 0, find(p, 0, opcode::compute, {F, 0, 0}), find(p, 0, opcode::send, {F, 0, 0}));
  CHECK(check_memory_safe(p).broken == rule::slot_holds_what_is_read);
}

TEST_CASE("each stage adds up in one place") {
  // Two stages on one device: one adds to the other's gradient.
  program p = catalog::find("v-half")->make({devices{1}, micro_batches{2}}) | lower();
  CHECK(check_memory_safe(p).ok());
  int const w = find(p, 0, opcode::compute, {W, 0, 1});
  int const mine = at(p, 0, w).operand_count - 1;
  operand_of(p, 0, w, mine).slot = 1 - operand_of(p, 0, w, mine).slot;
  CHECK(check_memory_safe(p).broken == rule::slot_holds_what_is_read);
}

TEST_CASE("a value that nobody reads") {
  program p = safe();
  drop(p, 0, find(p, 0, opcode::send, {F, 0, 1}));  // not complete, and so never read
  diagnosis const d = check_memory_safe(p);
  CHECK((d.broken == rule::every_slot_is_freed && d.first.device == 0 && d.first.what == pass{F, 0, 1}));
}

TEST_CASE("bytes against a budget") {
  program const p = one_f_one_b(3, 4) | lower();
  auto const stashes = [](value_key const& v) { return v.kind == slot_kind::stash ? 10 : 0; };
  CHECK(check_memory_budget(p, stashes, 30).ok());
  diagnosis const d = check_memory_budget(p, stashes, 29);
  CHECK((d.broken == rule::memory_is_within_budget && d.first.device == 0 && d.number == 30));
  auto const last = [](value_key const& v) {
    return v.kind == slot_kind::stash && v.of == 2 ? std::int64_t{1} << 40 : 0;
  };
  CHECK(check_memory_budget(p, last, 1 << 30).first.device == 2);
  CHECK(check_memory_budget(p, last, std::int64_t{1} << 40).ok());
}

TEST_CASE("a slot is as large as its largest value") {
  // Slots that two stages share are as large as the larger needs them.
  program const p = catalog::find("v-half")->make({devices{1}, micro_batches{1}}) | lower();
  auto const bytes = [](value_key const& v) {
    return v.kind == slot_kind::weight_stash ? 1 + 99 * v.of : 0;
  };
  CHECK(count_slots(p.view(), 0, slot_kind::weight_stash) == 1);
  CHECK((check_memory_budget(p, bytes, 99).number == 100 && check_memory_budget(p, bytes, 100).ok()));
}

// A pass has its output over its own input: it reads and writes it at once.
TEST_CASE("nobody overwrites what it reads itself") {
  block const b = make_block(make_placement(devices{1}, stages{3}, [](int) { return 0; }), {}, 9, {F, B},
                             [](pass_kind kind, int s) { return tick{kind == F ? s : 7 - 2 * s}; });
  program p = b | repeat(micro_batches{1}) | lower({.slots = slot_reuse::never});
  CHECK(check_memory_safe(p).ok());
  int const middle = find(p, 0, opcode::compute, {F, 1, 0}),
            last = find(p, 0, opcode::compute, {F, 2, 0});
  int const input = operand_of(p, 0, middle, 0).slot;
  CHECK(operand_of(p, 0, middle, 1).how == access::write);
  operand_of(p, 0, middle, 1).slot = operand_of(p, 0, last, 0).slot = input;
  diagnosis const d = check_memory_safe(p);
  CHECK(d.broken == rule::no_slot_is_overwritten_before_its_last_read);
  CHECK((d.first.what == pass{F, 1, 0} && d.number == input));
}

TEST_CASE("one accumulator for each stage, one stage for each accumulator") {
  program const good = catalog::find("v-half")->make({devices{1}, micro_batches{2}}) | lower();
  // Each stage is always in the same place, but both are in one.
  program p = good;
  int const mine = operand_of(p, 0, find_reduction(p, 0, 0), 0).slot;
  int const other = operand_of(p, 0, find_reduction(p, 0, 1), 0).slot;
  for (operand& o : p.operands)
    if (o.slot == other) o.slot = mine;
  CHECK(check_memory_safe(p).broken == rule::slot_holds_what_is_read);
  // One stage is in two places.
  p = good;
  p.slots.push_back(slot_kind::weight_gradient);
  ++p.slot_begin.back();
  int const w = find(p, 0, opcode::compute, {W, 0, 1});
  operand_of(p, 0, w, at(p, 0, w).operand_count - 1).slot = static_cast<int>(p.slots.size()) - 1;
  CHECK(check_memory_safe(p).broken == rule::slot_holds_what_is_read);
}

// A stage takes the chunks of a sequence in order, and back in reverse: each reads what its neighbour
// left.
TEST_CASE("the chunks of a sequence in order") {
  program const good = catalog::find("seq1f1b")->make({devices{2}, micro_batches{4}}) | lower();
  CHECK((good.graph.sequence_chunks() == 2 && check(good).ok()));
  auto const exchanged = [&](pass early, pass late) {
    program p = good;
    exchange(p, 1, find(p, 1, opcode::compute, early), find(p, 1, opcode::compute, late));
    return check(p);
  };
  diagnosis d = exchanged({F, 1, 0}, {F, 1, 1});
  CHECK((d.broken == rule::slot_holds_what_is_read && d.first.device == 1));
  CHECK(d.first.what == pass{F, 1, 1});
  d = exchanged({B, 1, 1}, {B, 1, 0});
  CHECK((d.broken == rule::slot_holds_what_is_read && d.first.what == pass{B, 1, 0}));
  // These instructions know of no sequences.
  program p = good;
  p.graph = in_sequence_chunks(p.graph, 1);
  CHECK((check(p).broken == rule::slot_holds_what_is_read && check(p).number == -1));
  p = catalog::find("1f1b")->make({devices{2}, micro_batches{4}}) | lower();
  p.graph = in_sequence_chunks(p.graph, 2);
  CHECK((check(p).broken == rule::slot_holds_what_is_read && check(p).number == -1));
}

// A recompute reads once more what its forward read, so no later state can have its slot.
TEST_CASE("a state stays until its recompute") {
  block const chunks = catalog::seq1f1b(devices{1}, 4);
  program const once = chunks | repeat(micro_batches{4}) | squeeze() | lower();
  CHECK(count_slots(once.view(), 0, slot_kind::sequence_state) == 2);
  program p = recompute(chunks) | repeat(micro_batches{4}) | squeeze() | lower();
  CHECK((check(p).ok() && count_slots(p.view(), 0, slot_kind::sequence_state) == 3));
  CHECK(count_slots(p.view(), 0, slot_kind::sequence_gradient) == 2);
  int const first = find(p, 0, opcode::compute, {F, 0, 0}),
            third = find(p, 0, opcode::compute, {F, 0, 2});
  int const slot = operand_of(p, 0, first, at(p, 0, first).operand_count - 1).slot,
            other = operand_of(p, 0, third, at(p, 0, third).operand_count - 1).slot;
  for (operand& o : p.operands)
    if (o.slot == other) o.slot = slot;
  diagnosis const d = check(p);
  CHECK((d.broken == rule::no_slot_is_overwritten_before_its_last_read && d.number == slot));
  CHECK((d.first.what == pass{F, 0, 2} && d.second.what == pass{F, 0, 0}));
}

TEST_CASE("slots of work") {
  schedule const s = with_norm(one_f_one_b(2, 2));
  program const good = s | lower();
  int const measure = find(good, 0, opcode::compute, {X, 0, 0}),
            sum = find(good, 0, opcode::all_reduce, {X, 1, 0}),
            last = find(good, 0, opcode::compute, {X, 2, 0});
  program p = good;  // the sum of what is not measured yet; and what reads it unsummed
  move(p, 0, sum, measure);
  CHECK(check_memory_safe(p).broken == rule::slot_holds_what_is_read);
  p = good;
  move(p, 0, sum, length(p, 0) - 1);
  CHECK(check_memory_safe(p).broken == rule::slot_holds_what_is_read);
  CHECK(check_memory_safe(p).first.what == pass{X, 2, 0});
  // The values that B0 keeps are held until the last pass that reads them, while B1 goes by.
  CHECK(count_slots(good.view(), 0, slot_kind::weight_stash) == 2);
  CHECK(count_slots((one_f_one_b(2, 2) | lower()).view(), 0, slot_kind::weight_stash) == 1);
  p = good;
  int const backward = find(p, 0, opcode::compute, {B, 0, 1});
  for (int o = 0; o < at(p, 0, backward).operand_count; ++o)
    if (operand& used = operand_of(p, 0, backward, o);
        p.slots[static_cast<std::size_t>(used.slot)] == slot_kind::weight_stash)
      used.slot = operand_of(p, 0, measure, 0).slot;
  CHECK(check_memory_safe(p).broken == rule::no_slot_is_overwritten_before_its_last_read);
  // State is where it was and will be: in one slot of one job.
  p = good;
  int const state = operand_of(p, 0, last, 2).slot;
  CHECK(good.slots[static_cast<std::size_t>(state)] == slot_kind::work_state);
  CHECK(count_slots(good.view(), 0, slot_kind::work_state) == 1);
}

TEST_CASE("a job's state in a slot of its own") {
  schedule s = one_f_one_b(1, 2);  // two parts on one state, and another job's
  s.order[0].push_back({{X, 0, 0}, 0});
  s.order[0].push_back({{X, 0, 1}, 0});
  s.order[0].push_back({{X, 1, 0}, 0});
  work_job twice{.parts = {{0, 1}, {0, 1}}, .does = compute_job{.state = own_state{}}},
      once{.parts = {{0, 1}}, .does = compute_job{.state = own_state{}}};
  s.work = work_graph({twice, once}, {});
  program const good = squeeze(s) | lower();
  CHECK((check(good).ok() && count_slots(good.view(), 0, slot_kind::work_state) == 2));
  int const second = find(good, 0, opcode::compute, {X, 0, 1}),
            other = find(good, 0, opcode::compute, {X, 1, 0});
  program p = good;  // one state in two slots
  p.slots.push_back(slot_kind::work_state);
  ++p.slot_begin[1];
  operand_of(p, 0, second, 0).slot = static_cast<int>(p.slots.size()) - 1;
  CHECK(check_memory_safe(p).broken == rule::slot_holds_what_is_read);
  p = good;  // two states in one
  operand_of(p, 0, other, 0).slot = operand_of(p, 0, second, 0).slot;
  CHECK(check_memory_safe(p).broken == rule::slot_holds_what_is_read);
}

TEST_CASE("nothing is read while it is away, and no slot is used again before its copy has read it") {
  program const good =
      lower(one_f_one_b(2, 3) | squeeze(), {.offload = {.forwards = {{F, 0, 0}, {F, 0, 1}}}});
  REQUIRE(check(good).ok());
  int const out = find(good, 0, opcode::offload, {F, 0, 0}),
            in = find(good, 0, opcode::reload, {F, 0, 0});
  int const back = find(good, 0, opcode::compute, {B, 0, 0});
  program p = good;  // the backward before the value is back
  move(p, 0, back, in);
  CHECK(check(p).broken == rule::slot_holds_what_is_read);
  p = good;  // the copy before the value is made
  move(p, 0, out, 0);
  CHECK(check(p).broken == rule::slot_holds_what_is_read);
  p = good;  // back before it has left
  move(p, 0, in, out);
  CHECK(check(p).broken == rule::slot_holds_what_is_read);
  p = good;  // the backward reads where the value was before it left
  int const was = operand_of(p, 0, find(p, 0, opcode::offload, {F, 0, 0}), 0).slot;
  p.slots.push_back(slot_kind::stash);
  p.slots.insert(p.slots.begin() + p.slot_begin[1], slot_kind::stash);
  p.slots.pop_back();
  for (std::size_t d = 1; d < p.slot_begin.size(); ++d) ++p.slot_begin[d];
  int const fresh = p.slot_begin[1] - 1;
  operand_of(p, 0, in, 1).slot = fresh;
  for (int o = 0; o < at(p, 0, back).operand_count; ++o)
    if (p.slots[static_cast<std::size_t>(operand_of(p, 0, back, o).slot)] == slot_kind::stash)
      operand_of(p, 0, back, o).slot = fresh;
  CHECK(check(p).ok());
  for (int o = 0; o < at(p, 0, back).operand_count; ++o)
    if (operand_of(p, 0, back, o).slot == fresh) operand_of(p, 0, back, o).slot = was;
  CHECK(check(p).broken == rule::slot_holds_what_is_read);
  p = good;  // two values in one slot of the host at once
  operand_of(p, 0, find(p, 0, opcode::offload, {F, 0, 1}), 1).slot = operand_of(p, 0, out, 1).slot;
  operand_of(p, 0, find(p, 0, opcode::reload, {F, 0, 1}), 0).slot = operand_of(p, 0, out, 1).slot;
  CHECK(check(p).broken == rule::no_slot_is_overwritten_before_its_last_read);
  p = good;  // a slot of the device in place of one on the host
  operand_of(p, 0, out, 1).slot = was;
  CHECK(check(p).broken == rule::slot_holds_what_is_read);
}
}  // namespace
