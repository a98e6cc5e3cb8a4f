#include <ashlar/run/device_plan.hpp>
// The header above comes first: it needs nothing before it.
#include "../../shapes.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/host_memory.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace shapes;

namespace {

// A copy's frames would point into the first; so there is none.
static_assert(!std::is_copy_constructible_v<device_plan> && !std::is_copy_assignable_v<device_plan>);
static_assert(std::is_nothrow_move_constructible_v<device_plan>);

struct sizes {
  std::size_t all = 40;
  value_layout layout(value_key key) const {
    return {all + static_cast<std::size_t>(key.of), 64, element_type::f32};
  }
};

// A plan and the memory behind it.
struct made {
  made(program const& p, int device, int rank = 0)
      : slots(slot_layout(p.view(), rank, device, [](value_key k) { return sizes{}.layout(k); })),
        memory(slots.total, slots.alignment),
        plan(p.view(), rank, device, sizes{}, slots, memory.data()) {}
  slot_table slots;
  aligned_memory memory;
  device_plan plan;
};

bool lies_in(buffer part, aligned_memory const& whole) {
  return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.view().size();
}

TEST_CASE("frames stay right when a plan is moved") {
  made m(one_f_one_b(2, 3) | lower(), 1);
  std::vector<device_plan> plans;  // moves when it grows, and so does what is in it
  plans.push_back(std::move(m.plan));
  plans.reserve(plans.capacity() + 1);
  device_plan const plan = std::move(plans.front());
  int inputs = 0;
  for (int i = 0; i < plan.size(); ++i) {
    if (plan.at(i).what.code != opcode::compute) continue;
    for (port const& in : plan.at(i).frame().inputs) {
      CHECK(lies_in(in.bytes, m.memory));
      CHECK(in.stage == 0);
      CHECK(in.bytes.size() == 40);
      CHECK(in.element == element_type::f32);
      ++inputs;
    }
  }
  CHECK(inputs == 3);
}

TEST_CASE("ports name the stages at their other ends") {
  program const p = fork_join() | repeat(micro_batches{2}) | lower();
  for (int d = 0; d < p.device_count(); ++d) {
    made const m(p, d);
    for (int i = 0; i < m.plan.size(); ++i) {
      if (m.plan.at(i).what.code != opcode::compute) continue;
      frame const& f = m.plan.at(i).frame();
      CHECK(f.site.device == d);
      CHECK(f.site.index == i);
      auto const before = p.graph.predecessors(f.what.stage), after = p.graph.successors(f.what.stage);
      auto const stages = [](std::span<port const> ports) {
        std::vector<int> all;
        for (port const& one : ports) all.push_back(one.stage);
        return all;
      };
      std::vector<int> const previous(before.begin(), before.end()), next(after.begin(), after.end());
      if (f.what.kind == pass_kind::forward) {
        CHECK(stages(f.inputs) == previous);
        CHECK(stages(f.outputs) == std::vector<int>(next.empty() ? 0 : 1, -1));
      } else if (gives_input_gradient(f.what.kind)) {
        CHECK(stages(f.inputs) == next);
        CHECK(stages(f.outputs) == previous);
      }
    }
  }
}

TEST_CASE("a chunk of a sequence finds what its neighbour left") {
  program const p =
      recompute(catalog::seq1f1b(devices{2}, 3)) | repeat(micro_batches{6}) | squeeze() | lower();
  for (int d = 0; d < 2; ++d) {
    made const m(p, d);
    std::vector<buffer> state(6), gradient(6);  // by micro-batch
    int read = 0;
    for (int i = 0; i < m.plan.size(); ++i) {
      if (m.plan.at(i).what.code != opcode::compute) continue;
      frame const& f = m.plan.at(i).frame();
      bool const back = f.what.kind == B;
      int const chunk = f.what.micro_batch % 3, from = f.what.micro_batch + (back ? 1 : -1);
      CHECK(f.sequence_input.empty() == (chunk == (back ? 2 : 0)));
      CHECK(f.sequence_output.empty() == (f.what.kind == R || chunk == (back ? 0 : 2)));
      if (!f.sequence_input.empty()) {
        buffer const left = (back ? gradient : state)[static_cast<std::size_t>(from)];
        CHECK(f.sequence_input.data() == left.data());
        CHECK(f.sequence_input.size() == left.size());
        CHECK(lies_in(f.sequence_input, m.memory));
        ++read;
      }
      if (f.what.kind != R)
        (back ? gradient : state)[static_cast<std::size_t>(f.what.micro_batch)] = f.sequence_output;
    }
    CHECK(read == 2 * 3 * 2);
  }
}

TEST_CASE("a slot that is too small is refused, with its place") {
  program const p = one_f_one_b(2, 1) | lower();
  auto const smaller = [](value_key key) {
    return value_layout{key.kind == slot_kind::activation ? std::size_t{39} : std::size_t{100}};
  };
  slot_table const slots = slot_layout(p.view(), 0, 1, smaller);
  aligned_memory const memory(slots.total, slots.alignment);
  try {
    device_plan(p.view(), 0, 1, sizes{}, slots, memory.data());
    FAIL("nothing was thrown");
  } catch (std::length_error const& e) {
    std::string const why = e.what();
    CHECK(why.find("device 1: slot ") == 0);
    CHECK(why.find("of 39 bytes is too small for the activation of 40 bytes (receive 0F0 from device 0)")
          != std::string::npos);
  }
}

TEST_CASE("collectives name their groups") {
  program const p = lower(two_ways(2) | repeat(micro_batches{4}) | squeeze(),
                          {.data_ranks = 3, .step = optimizer_step::after_norm});
  for (int rank = 0; rank < 3; ++rank)
    for (int d = 0; d < 2; ++d) {
      made const m(p, d, rank);
      for (int i = 0; i < m.plan.size(); ++i) {
        if (m.plan.at(i).what.code != opcode::all_reduce) continue;
        collective_group const& g = m.plan.at(i).collective().group;
        bool const norm = m.plan.at(i).what.subject == slot_kind::scalar;  // the same on all ranks
        CHECK(g.scope == (norm ? group_scope::holders_of_a_rank : group_scope::holders));
        CHECK(g.size == (norm ? 2 : 6));
        CHECK(g.member == (norm ? d : 3 * p.groups.member_of(g.of, d) + rank));
      }
    }
}

TEST_CASE("transfers name what they carry, for which stage and with whom") {
  program const p = fork_join() | repeat(micro_batches{2}) | lower();
  int transfers = 0;
  for (int d = 0; d < p.device_count(); ++d) {
    made const m(p, d);
    for (int i = 0; i < m.plan.size(); ++i) {
      device_plan::step const& s = m.plan.at(i);
      if (s.what.code != opcode::send && s.what.code != opcode::receive) continue;
      CHECK(s.transfer().what == message{s.what.what, s.what.to});
      CHECK(s.transfer().peer == s.what.peer);
      CHECK(s.transfer().bytes.size() == sizes{}.layout({.of = s.what.what.stage}).bytes);
      CHECK(s.transfer().element == element_type::f32);
      ++transfers;
    }
  }
  CHECK(transfers == 2 * 2 * 2 * 4);  // halves, ways, micro-batches, edges
}

}  // namespace
