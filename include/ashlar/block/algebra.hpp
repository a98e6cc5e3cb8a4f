// Operations from blocks to blocks. Each is a free function and, with its other arguments bound, a pipe.
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/block/form.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/lists.hpp>
#include <ashlar/core/moved_times.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/pipe.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/model/dependencies.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// Renames device d to p - 1 - d, with its speed and its links; offsets stay. mirror(mirror(b)) == b.
constexpr block mirror(block b) {
  b.where = mirror(std::move(b.where));
  b.cost.on = mirrored(std::move(b.cost.on), b.where.device_count());
  return b;
}

// Starts every pass `by` ticks later. Throws violation as shifted() does.
constexpr block shift(block b, tick by) {
  for (cell& c : b.cells) c.offset = shifted(c.offset, by);
  return b;
}

// Repeats the same cells every `interval` ticks.
constexpr block with_interval(block b, tick interval) {
  b.interval = interval;
  return b;
}

// The first `times` repetitions as one block, to be repeated as a whole. repeat(unroll(b, n), m) ==
// repeat(b, m) for blocks without collisions. Throws violation: check_form(b),
// rule::counts_are_positive, rule::ticks_fit, rule::parameter_is_at_most for more micro-batches than an
// int can count.
constexpr block unroll(block b, int times) {
  if (times < 1) refuse({.broken = rule::counts_are_positive, .number = times});
  must_have_form(b);
  int const group = b.micro_batch_count();
  int const most = most_passes / max_of(group, static_cast<int>(b.cells.size()));
  must_be(at_most(parameter::micro_batch_count, times, most));
  tick const last = stretched(b.interval, times);
  std::size_t const cells = b.cells.size();
  for (int i = 1; i < times; ++i) {
    for (int k = 0; k < group; ++k) b.route.push_back(nth(b.route, k));
    for (std::size_t at = 0; at < cells; ++at) {
      cell c = b.cells[at];
      c.what.micro_batch += i * group;
      c.offset = shifted(c.offset, i * b.interval);
      b.cells.push_back(c);
    }
  }
  b.interval = last;
  b.cost.passes = of_micro_batches(std::move(b.cost.passes), b.micro_batch_count());
  return b;
}

// Feeds the same stages as `graph` says instead of as a chain. Throws violation{rule::tables_agree}.
constexpr block with_graph(block b, stage_graph graph) {
  if (graph.count() != b.where.stage_count())
    refuse(wrong_size(table::stages_of_graph, graph.count(), b.where.stage_count()));
  b.graph = std::move(graph);
  return b;
}

// Puts both blocks on the same devices: the micro-batches and routes of `a`, then those of `b`.
// Commutative and associative up to the numbering of routes and micro-batches. Throws violation:
// check_form() of either; rule::intervals_agree; rule::tables_agree for other numbers of stages or
// devices; rule::parts_are_alike.
constexpr block overlay(block a, block const& b) {
  must_have_form(a);
  must_have_form(b);
  if (a.interval != b.interval) refuse({.broken = rule::intervals_agree, .number = b.interval});
  if (a.graph.count() != b.graph.count())
    refuse(wrong_size(table::stages_of_graph, b.graph.count(), a.graph.count()));
  if (a.graph != b.graph || a.mode != b.mode) refuse({.broken = rule::parts_are_alike});
  a.cost = joined(std::move(a.cost), a.micro_batch_count(), b.cost, b.micro_batch_count());
  int const group = a.micro_batch_count(), routes = a.where.route_count();
  a.where = overlay(std::move(a.where), b.where);
  for (int route : b.route) a.route.push_back(routes + route);
  for (cell c : b.cells) {
    c.what.micro_batch += group;
    a.cells.push_back(c);
  }
  return a;
}

// Moves one pass `by` ticks later. Throws violation: rule::every_pass_is_present if the block has no
// such pass, and as shifted() does.
constexpr block delay(block b, pass what, tick by) {
  for (cell& c : b.cells)
    if (c.what == what) {
      c.offset = shifted(c.offset, by);
      return b;
    }
  refuse({.broken = rule::every_pass_is_present, .first = {.what = what}});
}

// Moves only the starts, `factor` times further apart: each pass keeps its length and gains (factor - 1)
// lengths of free time after it, so that a pass put there meets no other. Throws violation as
// stretched() does.
constexpr block spread(block b, tick factor) {
  b.interval = stretched(b.interval, factor);
  for (cell& c : b.cells) c.offset = stretched(c.offset, factor);
  return b;
}

// Makes time itself `factor` times slower: durations, transfers, offsets and interval. Device speeds and
// bandwidths round up only after that, so a pass may take slightly less. Throws violation as stretched()
// does.
constexpr block scale(block b, tick factor) {
  b.cost.passes.change_each(
      [&](stage_cost& c) { c.change_each([&](tick& each) { each = stretched(each, factor); }); });
  stretch_transfers(b.cost.on, factor);
  b.cost.passes.overlapped.change_each([&](tick t) { return stretched(t, factor); });
  return spread(std::move(b), factor);
}

// Splits every fused backward into a backward_input and, right after it, a backward_weight. Throws
// violation{check_form(b)}.
constexpr block split_backward(block b) {
  must_have_form(b);
  std::vector<cell> cells;
  for (cell c : b.cells) {
    bool const fused = c.what.kind == pass_kind::backward;
    if (fused) c.what.kind = pass_kind::backward_input;
    cells.push_back(c);
    if (fused)
      cells.push_back({{pass_kind::backward_weight, c.what.stage, c.what.micro_batch},
                       c.offset + b.length_of(c.what)});
  }
  b.cells = std::move(cells);
  return b;
}

// Fuses every backward_input with its backward_weight, at the place of the input pass. If a weight pass
// stood anywhere but right after its input pass, or a previous stage did not wait for it, the block is
// first spread so that the longer passes fit. fuse_backward(split_backward(b)) == b. Throws violation:
// check_form(b), rule::spread_passes_take_time for an input pass that would have to be spread and takes
// no time.
constexpr block fuse_backward(block b) {
  must_have_form(b);
  result_table<tick> start(b.where.stage_count(), b.micro_batch_count(), 0);
  for (cell const& c : b.cells)
    if (gives_input_gradient(c.what.kind))
      start.at(c.what.micro_batch, c.what.stage, result::input_gradient) = c.offset;

  tick factor = 1;
  for (cell const& c : b.cells) {
    if (c.what.kind != pass_kind::backward_weight) continue;
    int const k = c.what.micro_batch;
    int const device = b.device_of(c.what);
    tick const input = start.at(k, c.what.stage, result::input_gradient);
    tick const alone = b.length_of({pass_kind::backward_input, c.what.stage, k});
    tick const fused = b.length_of({pass_kind::backward, c.what.stage, k});
    bool fits = c.offset == input + alone;
    for (int before : b.graph.predecessors(c.what.stage))
      fits = fits
             && start.at(k, before, result::input_gradient)
                    >= input + fused + b.cost.transfer(device, b.device_of({c.what.kind, before, k}));
    if (b.cost.passes.has_instants() && 0 < alone && alone < fused)  // none stands between the two
      for (cell const& z : b.cells)
        fits = fits
               && (z.what == c.what || b.device_of(z.what) != device || b.length_of(z.what) > 0
                   || floor_remainder(z.offset - c.offset, b.interval) != 0);
    if (!fits) {
      pass const short_one{pass_kind::backward_input, c.what.stage, k};
      if (alone == 0)
        refuse(
            {.broken = rule::spread_passes_take_time, .first = {.device = device, .what = short_one}});
      tick const needed = (fused - 1) / alone + 1;
      factor = needed > factor ? needed : factor;
    }
  }

  std::vector<cell> cells;
  for (cell c : b.cells) {
    if (c.what.kind == pass_kind::backward_weight) continue;
    if (c.what.kind == pass_kind::backward_input) c.what.kind = pass_kind::backward;
    cells.push_back(c);
  }
  b.cells = std::move(cells);
  return spread(std::move(b), factor);
}

// Puts a recompute pass before every backward, which is spread over the block first so that both fit
// where the backward stood. Activations are then kept only from the recompute on (Chen et al., sublinear
// memory, 2016). Throws violation: check_form(b), rule::no_pass_is_doubled for a block that recomputes
// already, rule::spread_passes_take_time for an input pass that takes no time before a recompute that
// does.
constexpr block recompute(block b) {
  must_have_form(b);
  for (cell const& c : b.cells)
    if (c.what.kind == pass_kind::recompute)
      refuse({.broken = rule::no_pass_is_doubled,
              .first = {.device = b.device_of(c.what), .what = c.what}});
  tick factor = 1;
  for (cell const& c : b.cells) {
    if (!gives_input_gradient(c.what.kind)) continue;
    auto const ticks = [&](pass_kind kind) {
      return b.length_of({kind, c.what.stage, c.what.micro_batch});
    };
    tick input = ticks(pass_kind::backward_input);
    if (input == 0) input = ticks(c.what.kind);
    tick const extra = ticks(pass_kind::recompute);
    if (extra == 0) continue;
    if (input == 0)
      refuse({.broken = rule::spread_passes_take_time,
              .first = {.device = b.device_of(c.what), .what = c.what}});
    tick const needed = (extra + input - 1) / input + 1;
    factor = needed > factor ? needed : factor;
  }
  b = spread(std::move(b), factor);

  std::vector<cell> cells;
  for (cell c : b.cells) {
    if (gives_input_gradient(c.what.kind)) {
      cells.push_back({{pass_kind::recompute, c.what.stage, c.what.micro_batch}, c.offset});
      c.offset += b.length_of(cells.back().what);
    }
    cells.push_back(c);
  }
  b.cells = std::move(cells);
  return b;
}

// Whether two cells of one device meet when the block repeats for ever. A cell that takes no time may
// stand where another begins.
constexpr bool collide(block const& b, cell const& x, cell const& y) {
  tick const gap = floor_remainder(y.offset - x.offset, b.interval);
  tick const later = b.length_of(y.what);
  return (gap < b.length_of(x.what) && (gap > 0 || later > 0)) || gap + later > b.interval;
}

// Gives every backward_input its backward_weight, in the first gap of the repeating pattern that is long
// enough, in order of the backward_inputs. (Controllable Memory, appendix: weight passes fill the
// remaining holes.) Throws violation: check_form(b), rule::passes_do_not_collide when no gap is left.
// O(cells^2) a device.
constexpr block weights_in_first_gaps(block b) {
  must_have_form(b);
  lists<cell> const all(static_cast<std::size_t>(b.where.device_count()), [&](auto add) {
    for (cell const& c : b.cells) add(b.device_of(c.what), c);
  });
  for (std::size_t device = 0; device < all.size(); ++device) {
    dynamic_array<cell> taken, inputs;
    for (cell const& c : all[device]) {
      taken.push_back(c);
      if (c.what.kind == pass_kind::backward_input) inputs.push_back(c);
    }
    merge_sort(inputs, [](cell const& x, cell const& y) { return x.offset < y.offset; });
    for (cell const& input : inputs) {
      cell weight{{pass_kind::backward_weight, input.what.stage, input.what.micro_batch},
                  input.offset + b.length_of(input.what)};
      tick const first = weight.offset;
      for (std::size_t i = 0; i < taken.size();) {
        if (!collide(b, taken[i], weight)) {
          ++i;
          continue;
        }
        // Goes behind the pass that is in the way, then looks at all of them again.
        tick const end = taken[i].offset + b.length_of(taken[i].what);
        tick const step = floor_remainder(end - weight.offset, b.interval);
        weight.offset += step == 0 ? b.interval : step;
        i = 0;
        if (weight.offset >= first + b.interval)
          refuse({.broken = rule::passes_do_not_collide,
                  .first = {.device = static_cast<int>(device), .what = weight.what},
                  .second = {.device = static_cast<int>(device), .what = input.what}});
      }
      taken.push_back(weight);
      b.cells.push_back(weight);
    }
  }
  return b;
}

constexpr auto mirror() {
  return closure([](auto&& value) { return mirror(std::forward<decltype(value)>(value)); });
}
constexpr auto shift(tick by) {
  return closure([=](auto&& value) { return shift(std::forward<decltype(value)>(value), by); });
}
constexpr auto with_interval(tick interval) {
  return closure([=](auto&& b) { return with_interval(std::forward<decltype(b)>(b), interval); });
}
constexpr auto unroll(int times) {
  return closure([=](auto&& b) { return unroll(std::forward<decltype(b)>(b), times); });
}
constexpr auto with_graph(stage_graph graph) {
  return closure(
      [graph = std::move(graph)](auto&& b) { return with_graph(std::forward<decltype(b)>(b), graph); });
}
constexpr auto delay(pass what, tick by) {
  return closure([=](auto&& b) { return delay(std::forward<decltype(b)>(b), what, by); });
}
constexpr auto scale(tick factor) {
  return closure([=](auto&& b) { return scale(std::forward<decltype(b)>(b), factor); });
}
constexpr auto split_backward() {
  return closure([](auto&& b) { return split_backward(std::forward<decltype(b)>(b)); });
}
constexpr auto fuse_backward() {
  return closure([](auto&& b) { return fuse_backward(std::forward<decltype(b)>(b)); });
}
constexpr auto recompute() {
  return closure([](auto&& b) { return recompute(std::forward<decltype(b)>(b)); });
}
constexpr auto weights_in_first_gaps() {
  return closure([](auto&& b) { return weights_in_first_gaps(std::forward<decltype(b)>(b)); });
}

}  // namespace ashlar
