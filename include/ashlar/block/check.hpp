// Whether a building block is right.
#pragma once

#include <ashlar/block/algebra.hpp>
#include <ashlar/block/form.hpp>
#include <ashlar/block/modulo_order.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/model/dependencies.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// The end of each result. Blocks, schedules and programs share this.
class pass_register {
 public:
  // Empty, for that many stages and micro-batches. O(stages · micro-batches).
  constexpr pass_register(int stage_count, int m) : entries_(stage_count, m, entry{}) {}

  // Enters a pass whose stage and micro-batch exist, unless there is one with its result.
  constexpr bool enter(pass const& what, tick end) {
    entry& e = entries_.at(what.micro_batch, what.stage, result_of(what.kind));
    if (e.present) return false;
    e = {.present = true, .fused = what.kind == pass_kind::backward, .end = end};
    return true;
  }
  // The rule broken by a rejected pass.
  constexpr diagnosis clash(site const& where) const {
    return {.broken = has(where.what) ? rule::no_pass_is_doubled : rule::backward_is_fused_or_split,
            .first = where};
  }

  // The end of a pass that has been entered, in ticks. (Without initializers: a table is filled in fewer
  // steps of constant evaluation than its elements are constructed.)
  struct entry {
    bool present;
    bool fused;
    tick end;

    // The kind of the pass that gave this result.
    constexpr pass_kind kind(result r) const {
      return r == result::activation        ? pass_kind::forward
             : r == result::recomputed      ? pass_kind::recompute
             : r == result::weight_gradient ? pass_kind::backward_weight
             : fused                        ? pass_kind::backward
                                            : pass_kind::backward_input;
    }
  };
  // The entry of the pass with this result. The stage and micro-batch exist.
  constexpr entry const& operator()(int micro_batch, int stage, result r) const {
    return entries_.at(micro_batch, stage, r);
  }
  // Whether a pass of the pipeline, whose stage and micro-batch exist, has been entered.
  constexpr bool has(pass what) const {
    entry const& e = entries_.at(what.micro_batch, what.stage, result_of(what.kind));
    return e.present && e.fused == (what.kind == pass_kind::backward);
  }

  // Checks that every stage has its forward and, in training, its backward, whole or in both parts, for
  // every micro-batch that it has passes for; else no backward.
  constexpr diagnosis complete(stage_graph const& graph, int m, execution_mode mode) {
    int const stage_count = graph.count();
    for (int k = 0; k < m; ++k)
      for (int stage = 0; stage < stage_count; ++stage) {
        if (graph.has_sizes() && !graph.runs(stage, k)) continue;
        entry const* const of_stage = &entries_.at(k, stage, result{});
        if (!of_stage[static_cast<int>(result::activation)].present)
          return missing(pass_kind::forward, stage, k);
        entry const& input = of_stage[static_cast<int>(result::input_gradient)];
        bool const weight = of_stage[static_cast<int>(result::weight_gradient)].present;
        if (mode == execution_mode::inference) {
          if (!input.present && !weight) continue;
          return {
              .broken = rule::inference_goes_forward_only,
              .first = {.what = {weight ? pass_kind::backward_weight : pass_kind::backward, stage, k}}};
        }
        if (!input.present)
          return missing(weight ? pass_kind::backward_input : pass_kind::backward, stage, k);
        if (input.fused && weight)
          return {.broken = rule::backward_is_fused_or_split,
                  .first = {.what = {pass_kind::backward, stage, k}}};
        if (!input.fused && !weight) return missing(pass_kind::backward_weight, stage, k);
      }
    return {};
  }

 private:
  static constexpr diagnosis missing(pass_kind kind, int stage, int micro_batch) {
    return {.broken = rule::every_pass_is_present, .first = {.what = {kind, stage, micro_batch}}};
  }

  result_table<entry> entries_;
};

// Whether the inputs of a pass have arrived when it starts. `transfer_from(stage, result)` is the time
// of a message from the device of the pass with a result, on the pass's route.
template <class TransferFrom>
constexpr bool are_inputs_in_time(stage_graph const& graph, pass const& what, tick start,
                                  pass_register const& ends, TransferFrom transfer_from) {
  bool in_time = true;
  for_each_input(graph, what, [&](result r, int stage, int micro_batch) {
    auto const& input = ends(micro_batch, stage, r);
    if (input.present && input.end + transfer_from(stage, r) > start) in_time = false;
  });
  return in_time;
}

// The diagnosis of the first input that is late. `device_of(stage, result)` is the device of the pass
// with a result, on the pass's route.
template <class DeviceOf>
constexpr diagnosis check_inputs(stage_graph const& graph, costs const& cost, site const& where,
                                 tick start, pass_register const& ends, DeviceOf device_of) {
  auto const transfer_from = [&](int stage, result r) {
    return cost.transfer(device_of(stage, r), where.device);
  };
  if (are_inputs_in_time(graph, where.what, start, ends, transfer_from)) return {};
  diagnosis found;  // the first; a walk of its own, because few come so far
  for_each_input(graph, where.what, [&](result r, int stage, int micro_batch) {
    auto const& input = ends(micro_batch, stage, r);
    tick const arrival = input.end + transfer_from(stage, r);
    if (!input.present || arrival <= start || !found.ok()) return;
    site const producer{.device = device_of(stage, r), .what = {input.kind(r), stage, micro_batch}};
    found = {.broken = rule::no_pass_starts_before_its_input,
             .first = where,
             .second = producer,
             .number = arrival - start};
  });
  return found;
}

// Checks that every stage has its passes; dependencies respect the offsets; nothing collides modulo the
// interval. The rules, in the order in which they are looked at: counts_are_positive, tables_agree,
// no_duration_is_negative, ticks_fit, every_pass_is_known, no_pass_is_doubled,
// backward_is_fused_or_split, every_pass_is_present, no_pass_starts_before_its_input,
// passes_do_not_collide. Linear in cells (O(n log n) for long intervals).
constexpr diagnosis check(block const& b) {
  int const stage_count = b.where.stage_count(), group = b.micro_batch_count();
  if (group < 1 || b.interval < 1)
    return {.broken = rule::counts_are_positive, .number = min_of<tick>(group, b.interval)};
  if (b.interval >= max_tick) return {.broken = rule::ticks_fit, .number = b.interval};
  if (b.graph.count() != stage_count)
    return wrong_size(table::stages_of_graph, b.graph.count(), stage_count);
  if (b.where.moves()) return {.broken = rule::moving_stages_are_whole};
  if (diagnosis const d = check_routes(b.graph, b.where, b.route); !d.ok()) return d;
  if (diagnosis const d =
          check(b.cost, stage_count, b.where.device_count(), group, b.graph.sequence_chunks());
      !d.ok())
    return d;

  pass_register ends(stage_count, group);
  for (std::size_t i = 0; i < b.cells.size(); ++i) {
    pass const what = b.cells[i].what;
    site where{.index = static_cast<int>(i), .what = what};
    if (!b.graph.has(what, group)) return {.broken = rule::every_pass_is_known, .first = where};
    if (b.cells[i].offset <= -max_tick || b.cells[i].offset >= max_tick)
      return {.broken = rule::ticks_fit, .first = where, .number = b.cells[i].offset};
    where.device = b.device_of(what);
    if (!ends.enter(what, b.cells[i].offset + b.cost.of(what, where.device))) return ends.clash(where);
  }
  if (diagnosis d = ends.complete(b.graph, group, b.mode); !d.ok()) {
    d.first.device = b.device_of(d.first.what);
    return d;
  }
  for (std::size_t i = 0; i < b.cells.size(); ++i) {
    pass const what = b.cells[i].what;
    site const where{.device = b.device_of(what), .index = static_cast<int>(i), .what = what};
    int const route = nth(b.route, what.micro_batch);
    diagnosis const d = check_inputs(b.graph, b.cost, where, b.cells[i].offset, ends,
                                     [&](int stage, result) { return b.where.device_of(route, stage); });
    if (!d.ok()) return d;
  }

  // Modulo the interval each pass must end before the next starts, the last before the first comes
  // again.
  lists<modulo_cell> const in_order = modulo_order(b);
  for (std::size_t device = 0; device < in_order.size(); ++device) {
    list_view<modulo_cell> const cells = in_order[device];
    for (std::size_t i = 0; i < cells.size(); ++i) {
      bool const wraps = i + 1 == cells.size();
      modulo_cell const& next = cells[wraps ? 0 : i + 1];
      tick const begins = next.remainder + (wraps ? b.interval : 0);
      cell const& early = nth(b.cells, cells[i].cell);
      cell const& late = nth(b.cells, next.cell);
      if (cells[i].remainder + b.cost.of(early.what, static_cast<int>(device)) > begins)
        return {
            .broken = rule::passes_do_not_collide,
            .first = {.device = static_cast<int>(device), .index = cells[i].cell, .what = early.what},
            .second = {.device = static_cast<int>(device), .index = next.cell, .what = late.what},
            .number = b.interval};
    }
  }
  return {};
}

}  // namespace ashlar
