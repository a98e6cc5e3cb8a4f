// How long each pass takes.
#pragma once

#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/pair_costs.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/ticks.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// Ticks of each kind of pass of one stage; 0 for a pass that takes no time, as the weight pass of frozen
// weights. A fused backward takes the sum of its two parts; a recompute takes as long as a forward
// unless stated otherwise. The time of work is in its job (model/work.hpp).
struct stage_cost {
  tick forward = 1;
  tick backward_input = 1;
  tick backward_weight = 1;
  tick recompute = same_as_forward;

  static constexpr tick same_as_forward = -1;

  // One expression, because finding a case of a switch is expensive in constant evaluation.
  constexpr tick of(pass_kind kind) const {
    return kind == pass_kind::forward           ? forward
           : kind == pass_kind::backward_input  ? backward_input
           : kind == pass_kind::backward_weight ? backward_weight
           : kind == pass_kind::backward        ? backward_input + backward_weight
           : kind != pass_kind::recompute       ? 0
           : recompute == same_as_forward       ? forward
                                                : recompute;
  }

  // Passes without time: the start of a sum of costs.
  static constexpr stage_cost nothing() { return {0, 0, 0, 0}; }

  // Adds the passes of another, as of the layers of one stage. No time passes max_tick.
  constexpr void add(stage_cost const& other) {
    recompute = saturating_sum(of(pass_kind::recompute), other.of(pass_kind::recompute));
    forward = saturating_sum(forward, other.forward);
    backward_input = saturating_sum(backward_input, other.backward_input);
    backward_weight = saturating_sum(backward_weight, other.backward_weight);
  }

  // Calls change(tick&) for each time. A recompute that takes as long as a forward stays so.
  template <class Change>
  constexpr void change_each(Change&& change) {
    for (tick* each : {&forward, &backward_input, &backward_weight}) change(*each);
    if (recompute != same_as_forward) change(recompute);
  }

  friend constexpr bool operator==(stage_cost const&, stage_cost const&) = default;
};

// The ticks of passes by stage, kind and micro-batch, at full speed. The constructors and factories
// decide how they are distinguished; readers ask of(stage, micro_batch) and need not know. A table
// without entries, or that does not consist of whole rows, cannot be made.
class pass_costs {
 public:
  static constexpr tick one_after_the_other = pair_costs::one_after_the_other;

  // The times of a forward and a backward that run as a pair.
  pair_costs overlapped = {};

  // All stages and micro-batches are alike.
  constexpr pass_costs() : each_(1) {}
  constexpr pass_costs(stage_cost alike) : each_(1, alike) {}
  // Takes one for each stage; a single one is of all stages. Throws violation{rule::tables_agree} for
  // none.
  constexpr pass_costs(std::vector<stage_cost> const& by_stage)
      : pass_costs(copied(by_stage), 1, table::stage_costs) {}

  static constexpr pass_costs by_stage(std::vector<stage_cost> const& each) { return each; }

  // Sequence chunks differ: with causal attention, later ones take longer. The entries of the q sequence
  // chunks of a stage follow each other; if there are only q entries, they hold for all stages.
  // Throws violation: rule::counts_are_positive, rule::tables_agree.
  static constexpr pass_costs by_stage_and_sequence_chunk(std::vector<stage_cost> const& each, int q) {
    return {copied(each), q, table::sequence_chunk_costs_of_stages};
  }
  // Micro-batches differ, as sequences of different lengths do. The entries of the m micro-batches of a
  // stage follow each other; only m entries are of all stages. Throws as by_stage_and_sequence_chunk().
  static constexpr pass_costs by_stage_and_micro_batch(std::vector<stage_cost> const& each, int m) {
    return of_micro_batches(copied(each), m);
  }
  // Makes costs for micro-batches of a few classes; a stage has an entry for each class, and class_of[k]
  // is the class of micro-batch k. Throws as by_stage_and_sequence_chunk(), and rule::tables_agree for a
  // class without entries.
  static constexpr pass_costs by_class(std::vector<stage_cost> const& each, int class_count,
                                       std::vector<int> const& class_of) {
    static_cast<void>(pass_costs(copied(each), class_count, table::micro_batch_costs));
    dynamic_array<stage_cost> all;
    for (std::size_t first = 0; first < each.size(); first += static_cast<std::size_t>(class_count))
      for (int const own : class_of) {
        if (own < 0 || own >= class_count)
          refuse(wrong_size(table::micro_batch_costs, own, class_count));
        all.push_back(each[first + static_cast<std::size_t>(own)]);
      }
    return of_micro_batches(static_cast<dynamic_array<stage_cost>&&>(all),
                            static_cast<int>(class_of.size()));
  }

  // The costs of the first m micro-batches, if micro-batches differ; after the last one comes the first
  // again.
  friend constexpr pass_costs of_micro_batches(pass_costs c, int m) {
    if (c.by_micro_batch_ && c.period_ != m) return joined(c, m, c, 0);
    return c;
  }
  // The costs of the first of_a micro-batches of `a`, then of the first of_b of `b`, if micro-batches
  // differ in `a` or `b`; else `a`.
  friend constexpr pass_costs joined(pass_costs const& a, int of_a, pass_costs const& b, int of_b) {
    if (!a.by_micro_batch_ && !b.by_micro_batch_) return a;
    int const rows = a.stages() > b.stages() ? a.stages() : b.stages();
    dynamic_array<stage_cost> all;
    for (int stage = 0; stage == 0 || stage < rows; ++stage) {
      for (int k = 0; k < of_a; ++k) all.push_back(a.of(stage, k));
      for (int k = 0; k < of_b; ++k) all.push_back(b.of(stage, k));
    }
    pass_costs made = of_micro_batches(static_cast<dynamic_array<stage_cost>&&>(all), of_a + of_b);
    made.overlapped = a.overlapped;
    return made;
  }

  constexpr stage_cost const& of(int stage, int micro_batch = 0) const {
    return each_.data()[stage * stride_ + (period_ == 1 ? 0 : micro_batch % period_)];
  }

  // Costs to be changed: where others are alike, theirs change as well.
  constexpr stage_cost& at(int stage, int micro_batch = 0) {
    return each_.data()[stage * stride_ + (period_ == 1 ? 0 : micro_batch % period_)];
  }

  // The number of stages that have costs of their own, 0 if all are alike; of sequence chunks, 1 if they
  // are alike; of micro-batches, 0 if they are alike.
  constexpr int stages() const { return stride_ == 0 ? 0 : static_cast<int>(each_.size()) / period_; }
  constexpr int sequence_chunks() const { return by_micro_batch_ ? 1 : period_; }
  constexpr int micro_batches() const { return by_micro_batch_ ? period_ : 0; }
  constexpr bool are_alike() const { return each_.size() == 1; }
  // Micro-batches that are this many apart are alike. A multiple of them, or none more, is
  // distinguished.
  constexpr int period() const { return period_; }

  // Whether some pass takes no time. Where such passes start together, the order of their device says
  // which comes first.
  constexpr bool has_instants() const {
    if (overlapped.shortest() == 0) return true;
    for (std::size_t i = 0; i < each_.size(); ++i) {
      stage_cost const& c = each_[i];
      if (c.forward == 0 || c.backward_input == 0 || c.backward_weight == 0 || c.recompute == 0)
        return true;
    }
    return false;
  }

  // Calls visit(stage, micro_batch, cost) for all that differ.
  template <class Visit>
  constexpr void for_each(Visit&& visit) const {
    for (std::size_t i = 0; i < each_.size(); ++i)
      visit(static_cast<int>(i) / period_, static_cast<int>(i) % period_, each_[i]);
  }
  // Calls change(stage_cost&) for each of them.
  template <class Change>
  constexpr void change_each(Change&& change) {
    for (stage_cost& c : each_) change(c);
  }

  friend constexpr bool operator==(pass_costs const&, pass_costs const&) = default;

 private:
  static constexpr dynamic_array<stage_cost> copied(std::vector<stage_cost> const& each) {
    return {each.data(), each.data() + each.size()};
  }
  static constexpr pass_costs of_micro_batches(dynamic_array<stage_cost> each, int m) {
    pass_costs made(static_cast<dynamic_array<stage_cost>&&>(each), m, table::micro_batch_costs);
    made.by_micro_batch_ = true;
    return made;
  }

  constexpr pass_costs(dynamic_array<stage_cost> each, int period, table of)
      : each_(static_cast<dynamic_array<stage_cost>&&>(each)), period_(period) {
    if (period < 1) refuse({.broken = rule::counts_are_positive, .number = period});
    auto const size = static_cast<std::int64_t>(each_.size());
    if (size == 0 || size % period != 0) refuse(wrong_size(of, size, period));
    if (size != period) stride_ = period;
  }

  dynamic_array<stage_cost> each_;  // rows of `period_` micro-batches, one for each stage or one for all
  int stride_ = 0;                  // from one stage to the next
  int period_ = 1;
  bool by_micro_batch_ = false;  // a row is of all micro-batches, not of sequence chunks
};

}  // namespace ashlar
