// How long passes take that run as a pair.
#pragma once

#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/ticks.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// The ticks, at full speed, of a forward and a backward that run as a pair: the sum of both, one number
// for all pairs, or one for each pair of stages and for each kind of backward (fused, input, weight).
class pair_costs {
 public:
  static constexpr tick one_after_the_other = -1;
  // The kinds of backwards that a forward may run with.
  static constexpr pass_kind backwards[] = {pass_kind::backward, pass_kind::backward_input,
                                            pass_kind::backward_weight};

  constexpr pair_costs(tick each = one_after_the_other) : each_(each) {}
  // Takes an entry for each of `backwards` of the first stage beside the forward of the first stage,
  // then of the second stage beside it, and so on; then beside the forward of the second stage. With one
  // stage they are of all. Throws violation: rule::counts_are_positive, rule::tables_agree.
  static constexpr pair_costs by_stage(std::vector<tick> each, int stage_count) {
    if (stage_count < 1) refuse({.broken = rule::counts_are_positive, .number = stage_count});
    auto const size = static_cast<std::int64_t>(each.size());
    std::int64_t const needed = saturating_product(std::int64_t{3} * stage_count, stage_count);
    if (size != needed) refuse(wrong_size(table::pair_costs, size, needed));
    pair_costs made(0);
    made.by_stage_ = {each.data(), each.data() + each.size()};
    made.stage_count_ = stage_count;
    return made;
  }

  // Whether there are times; else a pair takes as long as its passes one after the other.
  constexpr bool are_given() const { return each_ != one_after_the_other; }
  // How many stages have pairs of their own; 0: one number is of all.
  constexpr int stages() const { return stage_count_; }
  // The time of a pair, if they are given.
  constexpr tick of(int forward_stage, pass_kind backward, int backward_stage) const {
    if (stage_count_ == 0) return each_;
    int const kind = backward == pass_kind::backward ? 0 : backward == pass_kind::backward_input ? 1 : 2;
    std::int64_t const row = stage_count_ == 1 ? 0 : forward_stage,
                       column = stage_count_ == 1 ? 0 : backward_stage;
    return by_stage_.data()[(row * stage_count_ + column) * 3 + kind];
  }
  constexpr tick longest() const {
    tick found = each_;
    for (tick const each : by_stage_) found = each > found ? each : found;
    return found;
  }
  constexpr tick shortest() const {
    tick found = stage_count_ == 0 ? each_ : by_stage_[0];
    for (tick const each : by_stage_) found = each < found ? each : found;
    return found;
  }

  // Calls change(tick) -> tick for each that is given.
  template <class Change>
  constexpr void change_each(Change&& change) {
    if (!are_given()) return;
    if (stage_count_ == 0) each_ = change(each_);
    for (tick& each : by_stage_) each = change(each);
  }

  friend constexpr bool operator==(pair_costs const&, pair_costs const&) = default;

 private:
  tick each_ = one_after_the_other;
  dynamic_array<tick> by_stage_ = {};  // by forward's stage, then backward's stage, then kind
  int stage_count_ = 0;
};

}  // namespace ashlar
