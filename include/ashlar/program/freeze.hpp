// A program made while compiling, as static data: it sits in read-only memory and needs no work to
// start.
#pragma once

#include <ashlar/program/program.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace ashlar {

// How much room a program takes.
struct program_extent {
  std::size_t instructions = 0;
  std::size_t operands = 0;
  std::size_t slots = 0;
  std::size_t devices = 0;
};

constexpr program_extent extent_of(program const& p) {
  return {p.instructions.size(), p.operands.size(), p.slots.size(),
          static_cast<std::size_t>(p.device_count())};
}

template <program_extent Extent>
class frozen_program {
 public:
  constexpr explicit frozen_program(program const& p) : counts_(p.view()) {
    std::copy(p.instructions.begin(), p.instructions.end(), instructions_.begin());
    std::copy(p.stream_begin.begin(), p.stream_begin.end(), stream_begin_.begin());
    std::copy(p.operands.begin(), p.operands.end(), operands_.begin());
    std::copy(p.slots.begin(), p.slots.end(), slots_.begin());
    std::copy(p.slot_begin.begin(), p.slot_begin.end(), slot_begin_.begin());
    counts_.instructions = {};  // the rest of the view is made anew by view(): it must not outlive p
    counts_.stream_begin = {};
    counts_.operands = {};
    counts_.slots = {};
    counts_.slot_begin = {};
  }

  constexpr program_view view() const {
    program_view v = counts_;
    v.instructions = instructions_;
    v.stream_begin = stream_begin_;
    v.operands = operands_;
    v.slots = slots_;
    v.slot_begin = slot_begin_;
    return v;
  }

 private:
  program_view counts_;
  std::array<instruction, Extent.instructions> instructions_{};
  std::array<int, Extent.devices + 1> stream_begin_{};
  std::array<operand, Extent.operands> operands_{};
  std::array<slot_kind, Extent.slots> slots_{};
  std::array<int, Extent.devices + 1> slot_begin_{};
};

namespace freeze_detail {
template <auto Make>
inline constexpr program_extent extent = [] { return extent_of(Make()); }();
}  // namespace freeze_detail

// freeze<[] { return lower(...); }>: the program that the captureless lambda returns. Evaluates it twice
// while compiling: once for its size, once for its content.
template <auto Make>
inline constexpr frozen_program<freeze_detail::extent<Make>> freeze{Make()};

}  // namespace ashlar
