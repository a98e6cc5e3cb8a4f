// A hash of a program, the same on every machine and compiler.
#pragma once

#include <ashlar/core/splitmix.hpp>
#include <ashlar/program/program.hpp>

#include <cstdint>

namespace ashlar {

// Mixes numbers one after another, each by a bijection, so that lists that differ in one number alone
// never collide.
class hasher {
 public:
  // Adds a number to the hash.
  constexpr void add(std::uint64_t number) { state_ = mixed(state_ + number + splitmix_step); }
  // Negative numbers are added modulo 2^64.
  template <class... Numbers>
  constexpr void add_all(Numbers... numbers) {
    (add(static_cast<std::uint64_t>(numbers)), ...);
  }
  constexpr std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

namespace hash_detail {

template <class Number>
constexpr void add(hasher& h, Number number) {
  h.add_all(number);
}
constexpr void add(hasher& h, pass const& what) { h.add_all(what.kind, what.stage, what.micro_batch); }
constexpr void add(hasher& h, instruction const& i) {
  h.add_all(i.code, i.subject, i.overlaps_next, i.lane, i.to, i.peer, i.group, i.first_operand,
            i.operand_count);
  add(h, i.what);
}
constexpr void add(hasher& h, operand const& o) { h.add_all(o.slot, o.how); }
constexpr void add(hasher& h, job_gradient const& g) {
  h.add_all(g.index(),
            g.visit([](no_gradient) { return 0; }, [](auto const& use) { return use.stage; }));
}
constexpr void add(hasher& h, job_state const& s) {
  h.add_all(s.index(), s.visit([](no_state) { return 0; }, [](own_state own) { return +own.is_cleared; },
                               [](shared_state shared) { return shared.of; }));
}
constexpr void add(hasher& h, work_view::job const& j) {
  h.add_all(j.first_part, j.does.index());
  j.does.visit(
      [&](compute_job const& own) {
        add(h, own.state);
        add(h, own.gradient);
      },
      [&](all_reduce_job own) { h.add_all(own.over_ranks); });
}
constexpr void add(hasher& h, work_part const& part) { h.add_all(part.device, part.duration); }
constexpr void add(hasher& h, work_edge const& e) {
  add(h, e.from);
  add(h, e.to);
}

}  // namespace hash_detail

// A hash of all that a backend sees of a program. Linear in its size.
constexpr std::uint64_t hash(program_view const& p) {
  hasher h;
  h.add_all(p.device_count, p.stage_count, p.micro_batch_count, p.lane_count, p.data_ranks, p.sharding,
            p.step, p.graph.sequence_chunks, p.graph.gradients);
  if (p.moves) h.add(1);
  for_each_table(p, [&](auto const& table) {
    h.add(table.size());
    for (auto const& entry : table) hash_detail::add(h, entry);
  });
  return h.value();
}

}  // namespace ashlar
