// A program made and proved at compile time, as static data. It lies in read-only memory and needs no
// work at the start.
#pragma once

#include <ashlar/program/program.hpp>
#include <ashlar/prove/proved_program.hpp>

#include <array>
#include <cstddef>

namespace ashlar {

// The room that a program takes: entries of all its tables, by their type.
struct program_extent {
  std::size_t numbers = 0;
  std::size_t instructions = 0;
  std::size_t operands = 0;
  std::size_t slots = 0;
  std::size_t jobs = 0;
  std::size_t work_parts = 0;
  std::size_t work_edges = 0;

  // How many entries of the type of such a table.
  constexpr std::size_t& of(list_view<int>) { return numbers; }
  constexpr std::size_t& of(list_view<instruction>) { return instructions; }
  constexpr std::size_t& of(list_view<operand>) { return operands; }
  constexpr std::size_t& of(list_view<slot_kind>) { return slots; }
  constexpr std::size_t& of(list_view<work_view::job>) { return jobs; }
  constexpr std::size_t& of(list_view<work_part>) { return work_parts; }
  constexpr std::size_t& of(list_view<work_edge>) { return work_edges; }
};

// The sizes of all tables of a program, added up by type.
constexpr program_extent extent_of(program_view const& p) {
  program_extent e;
  for_each_table(p, [&](auto const& table) { e.of(table) += table.size(); });
  return e;
}

namespace freeze_detail {
struct maker;

constexpr std::size_t table_count() {
  program_view const none;
  std::size_t count = 0;
  for_each_table(none, [&](auto const&) { ++count; });
  return count;
}
}  // namespace freeze_detail

// The type of freeze. Nothing else makes one, so it is proved.
template <program_extent Extent>
class frozen_program {
 public:
  // The program, as all functions that read one take it. Refers to this object.
  constexpr program_view view() const {
    program_view v = counts_;
    program_extent used;
    std::size_t number = 0;
    for_each_table(v, [&](auto& table) {
      std::size_t& begin = used.of(table);
      auto const* const first = pool(*this, table).data() + begin;
      begin += sizes_[number];
      table = {first, first + sizes_[number++]};
    });
    return v;
  }

 private:
  friend freeze_detail::maker;

  constexpr explicit frozen_program(program_view const& p) : counts_(p) {
    program_extent used;
    std::size_t number = 0;
    for_each_table(counts_, [&](auto& table) {
      std::size_t& next = used.of(table);
      for (auto const& entry : table) pool(*this, table)[next++] = entry;
      sizes_[number++] = table.size();
      table = {};  // p's, which need not last; view() makes them anew
    });
  }

  // The place of the entries of such tables, one table after the other.
  template <class Self>
  static constexpr auto& pool(Self& self, list_view<int>) {
    return self.numbers_;
  }
  template <class Self>
  static constexpr auto& pool(Self& self, list_view<instruction>) {
    return self.instructions_;
  }
  template <class Self>
  static constexpr auto& pool(Self& self, list_view<operand>) {
    return self.operands_;
  }
  template <class Self>
  static constexpr auto& pool(Self& self, list_view<slot_kind>) {
    return self.slots_;
  }
  template <class Self>
  static constexpr auto& pool(Self& self, list_view<work_view::job>) {
    return self.jobs_;
  }
  template <class Self>
  static constexpr auto& pool(Self& self, list_view<work_part>) {
    return self.work_parts_;
  }
  template <class Self>
  static constexpr auto& pool(Self& self, list_view<work_edge>) {
    return self.work_edges_;
  }

  program_view counts_;
  std::array<std::size_t, freeze_detail::table_count()> sizes_{};
  std::array<int, Extent.numbers> numbers_{};
  std::array<instruction, Extent.instructions> instructions_{};
  std::array<operand, Extent.operands> operands_{};
  std::array<slot_kind, Extent.slots> slots_{};
  std::array<work_view::job, Extent.jobs> jobs_{};
  std::array<work_part, Extent.work_parts> work_parts_{};
  std::array<work_edge, Extent.work_edges> work_edges_{};
};

namespace freeze_detail {

template <auto Make>
inline constexpr program_extent extent = [] {
  proved_program const p = Make();
  return extent_of(p.view());
}();

struct maker {
  // This is proved with its extent, and not once more.
  template <auto Make>
  static constexpr frozen_program<extent<Make>> frozen() {
    program const p = Make();
    return frozen_program<extent<Make>>(p.view());
  }
};

}  // namespace freeze_detail

// freeze<[] { return lower(...); }>: the program that the captureless lambda returns, which is proved. A
// broken rule is a compile error that names it: breaks_rule<rule::...>. Evaluates the lambda twice while
// compiling: once for its size and the proof, once for its content.
template <auto Make>
inline constexpr auto freeze = freeze_detail::maker::frozen<Make>();

}  // namespace ashlar
