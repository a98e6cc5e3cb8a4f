// The error in a value: the rule it breaks and where. Plain data, so that it works in constant
// expressions and as template arguments; sentences are made from it at run time (render/diagnosis.hpp)
// and types at compile time (valid.hpp).
#pragma once

#include <ashlar/core/opcode.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/core/rule.hpp>
#include <ashlar/core/table.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>

namespace ashlar {

// The parameters of a schedule: its size, and the choices that some schedules have.
enum class parameter : unsigned char {
  device_count,
  micro_batch_count,
  stage_count,
  chunk_count,
  wave_count,
  route_count,
  round_count,
  group_size,
  unit_junction,
  sequence_chunk_count,
  layer_count,
  data_rank_count,
  weight_buffer_count,
  prefetch_distance,
  memory_budget,
  device_speed,
  block_interval,
  work_period,
  work_part_count,
  work_sum_count,
  braid_size,
  batch_size,
  device_kind_count,
  node_size,
  tensor_rank_count,
  plan_count,
  // of rule::figures_are_in_range
  model_size,
  device_figure,
  step_constant,
  layer_figure,
  kept_width,
  memory_margin,
  cut_figure,
};

// One place in a block, schedule or program.
struct site {
  int device = -1;  // -1: none
  int index = -1;   // position in the device's order of passes or stream of instructions; -1: none
  opcode code = opcode::compute;
  pass what = {};

  friend constexpr bool operator==(site const&, site const&) = default;
};

// The first broken rule and its witnesses. `first` is the culprit, `second` what it conflicts with (if
// anything); `number` is the rule's own quantity: the offending count, slot, or ticks. For the rules
// about a parameter: the bound or divisor, `which` parameter, and what was `given`. For a table: how
// many entries it has, `of` which table, and how many are `needed`.
struct diagnosis {
  rule broken = rule::none;
  site first = {};
  site second = {};
  std::int64_t number = 0;
  parameter which = parameter::device_count;
  std::int64_t given = 0;
  table of = table::none;
  std::int64_t needed = 0;

  constexpr bool ok() const { return broken == rule::none; }

  friend constexpr bool operator==(diagnosis const&, diagnosis const&) = default;
};

// The diagnosis of a table that has the wrong number of entries.
constexpr diagnosis wrong_size(table of, auto entries, std::int64_t needed) {
  return {.broken = rule::tables_agree,
          .number = static_cast<std::int64_t>(entries),
          .of = of,
          .needed = needed};
}

// A parameter within its bounds, or the diagnosis that says so.
// Bounds are wide, so that one computed from another parameter does not overflow.
constexpr diagnosis at_least(parameter which, std::int64_t given, std::int64_t least) {
  if (given >= least) return {};
  return {.broken = rule::parameter_is_at_least, .number = least, .which = which, .given = given};
}
constexpr diagnosis at_most(parameter which, std::int64_t given, std::int64_t most) {
  if (given <= most) return {};
  return {.broken = rule::parameter_is_at_most, .number = most, .which = which, .given = given};
}
// A divisor below 1 is another parameter out of bounds, which has its own diagnosis.
constexpr diagnosis multiple_of(parameter which, std::int64_t given, std::int64_t divisor) {
  if (divisor < 1 || given % divisor == 0) return {};
  return {.broken = rule::parameter_is_a_multiple, .number = divisor, .which = which, .given = given};
}

// Thrown by operations that have no valid result. Its what() is the rule's sentence, and in parentheses
// the places that are known; `why` has the rest.
class violation : public std::exception {
 public:
  explicit violation(diagnosis d) : why(d) {
    add(sentence(why.broken));
    add_place(" (", why.first);
    add_place(why.first.device < 0 ? " (" : "; ", why.second);
    if (why.first.device >= 0 || why.second.device >= 0) add(")");
  }
  char const* what() const noexcept override { return text_; }

  diagnosis why;

 private:
  void add_place(char const* before, site const& s) {
    if (s.device < 0) return;
    add(before);
    add("device ", s.device);
    if (s.index < 0) return;
    add(", position ", s.index);
    add(is_part(s.what) ? ": job " : ": stage ", s.what.stage);
    add(is_part(s.what) ? ", part " : ", micro-batch ", s.what.micro_batch);
  }
  void add(char const* text, int number) {
    add(text);
    char digits[12] = {};
    char* first = digits + 11;
    do *--first = static_cast<char>('0' + number % 10);
    while ((number /= 10) > 0 && first != digits);
    add(first);
  }
  // Cuts what does not fit.
  void add(char const* text) {
    for (; *text != 0 && length_ + 1 < sizeof text_; ++text) text_[length_++] = *text;
  }

  char text_[512] = {};
  std::size_t length_ = 0;
};

}  // namespace ashlar
