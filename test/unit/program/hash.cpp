#include <ashlar/program/hash.hpp>
// The header above comes first: it needs nothing before it.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/freeze.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

using namespace ashlar;

namespace {

constexpr program hashed_program() {
  return catalog::one_f_one_b(devices{2}) | repeat(micro_batches{2}) | squeeze() | lower();
}

// Numbers mix with their places, and the values are the same on every machine.
TEST_CASE("a hash is of numbers and their order") {
  auto const of = [](auto... numbers) {
    hasher h;
    h.add_all(numbers...);
    return h.value();
  };
  CHECK(of(1, 2) != of(2, 1));
  CHECK(of(0) != of(0, 0));
  CHECK(of(-1) == of(std::uint64_t{0xffffffffffffffff}));
  CHECK(of(0) == 0xe220a8397b1dcdaf);  // the first output of splitmix64 with the seed 0
}

TEST_CASE("a frozen program has the hash of the program") {
  program const p = hashed_program();
  CHECK(hash(p.view()) == hash(freeze<hashed_program>.view()));
}

}  // namespace

TEST_CASE("hash: every field of a program counts") {
  program const p = hashed_program();
  std::set<std::uint64_t> all{hash(p.view())};
  std::size_t changes = 0;
  auto const differs = [&](auto change) {
    program_view v = p.view();
    program other = p;
    change(v, other);
    all.insert(hash(v));
    ++changes;
  };
  auto const count = [&](int program_view::*field) {
    differs([&](program_view& v, program&) { ++(v.*field); });
  };
  count(&program_view::micro_batch_count);
  count(&program_view::lane_count);
  count(&program_view::data_ranks);
  differs([](program_view& v, program&) { ++v.graph.sequence_chunks; });
  differs([](program_view& v, program&) { v.sharding = sharding_level::full; });
  differs([](program_view& v, program&) { v.step = optimizer_step::at_end; });
  for (std::size_t i = 0; i < p.instructions.size(); ++i) {
    auto const instruction_differs = [&](auto change) {
      differs([&](program_view& v, program& other) {
        change(other.instructions[i]);
        v = other.view();
      });
    };
    instruction_differs(
        [](instruction& x) { x.code = x.code == opcode::release ? opcode::compute : opcode::release; });
    instruction_differs([](instruction& x) {
      x.subject = x.subject == slot_kind::scalar ? slot_kind::activation : slot_kind::scalar;
    });
    instruction_differs([](instruction& x) { x.overlaps_next = !x.overlaps_next; });
    instruction_differs([](instruction& x) { ++x.lane; });
    instruction_differs([](instruction& x) { x.what.kind = pass_kind::work; });
    instruction_differs([](instruction& x) { ++x.what.stage; });
    instruction_differs([](instruction& x) { ++x.what.micro_batch; });
    instruction_differs([](instruction& x) { ++x.to; });
    instruction_differs([](instruction& x) { ++x.peer; });
    instruction_differs([](instruction& x) { ++x.group; });
    instruction_differs([](instruction& x) { ++x.first_operand; });
    instruction_differs([](instruction& x) { ++x.operand_count; });
  }
  auto const number_differs = [&](auto list) {
    for (std::size_t i = 0; i < (p.*list).size(); ++i)
      differs([&](program_view& v, program& other) {
        ++(other.*list)[i];
        v = other.view();
      });
  };
  number_differs(&program::route);
  number_differs(&program::stream_begin);
  number_differs(&program::slot_begin);
  for (std::size_t i = 0; i < p.operands.size(); ++i) {
    differs([&](program_view& v, program& other) {
      ++other.operands[i].slot;
      v = other.view();
    });
    differs([&](program_view& v, program& other) {
      ashlar::access& how = other.operands[i].how;
      how = how == access::scratch ? access::read : access::scratch;
      v = other.view();
    });
  }
  for (std::size_t i = 0; i < p.slots.size(); ++i)
    differs([&](program_view& v, program& other) {
      other.slots[i] = slot_kind::scalar;
      v = other.view();
    });
  // Work differs in its parts, kinds, and readers.
  auto const work_differs = [&](std::vector<work_job> jobs, std::vector<work_edge> edges) {
    differs([&](program_view& v, program& other) {
      other.work = work_graph(std::move(jobs), std::move(edges));
      v = other.view();
    });
  };
  pass const part{pass_kind::work, 0, 0};
  work_edge const reads{{pass_kind::forward, 0, 0}, part};
  work_differs({{.parts = {{0, 1}}}}, {});
  work_differs({{.parts = {{0, 1}}}}, {reads});
  work_differs({{.parts = {{0, 1}}}}, {{{pass_kind::forward, 0, 1}, part}});
  work_differs({{.parts = {{0, 2}}}}, {reads});
  work_differs({{.parts = {{1, 1}}}}, {reads});
  for (job_action const& does : {job_action(compute_job{.state = own_state{}}),
                                 job_action(compute_job{.state = own_state{.is_cleared = true}}),
                                 job_action(compute_job{.gradient = take_gradient{0}}),
                                 job_action(compute_job{.gradient = take_gradient{1}}),
                                 job_action(compute_job{.gradient = read_gradient{0}}),
                                 job_action(compute_job{.gradient = give_gradient{0}})})
    work_differs({{.parts = {{0, 1}}, .does = does}}, {reads});
  work_differs({{.parts = {{0, 1}, {0, 1}}}}, {reads});
  work_differs({{.parts = {{0, 1}}}, {.parts = {{0, 1}}}}, {reads});
  CHECK(all.size() == 1 + changes);
}
