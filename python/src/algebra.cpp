// Operations on blocks and schedules, with the value first. python/ashlar/algebra.py makes pipes of
// them.
#include "bindings.hpp"
#include <ashlar/block/algebra.hpp>
#include <ashlar/block/without_collisions.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/fold.hpp>
#include <ashlar/schedule/fuse.hpp>
#include <ashlar/schedule/relocate.hpp>
#include <ashlar/schedule/reorder.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

namespace python {

namespace {

using ashlar::block;
using ashlar::schedule;
using ashlar::tick;

schedule improved(schedule const& s, std::int64_t passes, std::uint64_t seed) {
  if (!ashlar::can_be_improved(s))
    throw nb::value_error("improve is for training schedules without overlapped pairs and recomputes");
  nb::gil_scoped_release const free;
  return ashlar::improve(s, {.passes = passes, .seed = seed});
}

}  // namespace

void bind_algebra(nb::module_& m) {
  m.def(
      "mirror", [](block const& b) { return ashlar::mirror(b); }, "value"_a);
  m.def(
      "mirror", [](schedule const& s) { return ashlar::mirror(s); }, "value"_a,
      "Device d becomes p - 1 - d.");
  m.def(
      "shift", [](block const& b, tick by) { return ashlar::shift(b, by); }, "value"_a, "ticks"_a);
  m.def(
      "shift", [](schedule const& s, tick by) { return ashlar::shift(s, by); }, "value"_a, "ticks"_a,
      "Shifts everything to a later time, by a number of ticks.");
  m.def(
      "with_interval", [](block const& b, tick t) { return ashlar::with_interval(b, t); }, "value"_a,
      "interval"_a, "The same block with other ticks between its repetitions.");
  m.def(
      "overlay", [](block const& a, block const& b) { return ashlar::overlay(a, b); }, "value"_a,
      "other"_a, "Both blocks side by side, each on routes of its own.");
  m.def(
      "scale", [](block const& b, tick factor) { return ashlar::scale(b, factor); }, "value"_a,
      "factor"_a, "Stretches all times by a factor.");
  m.def(
      "split_backward", [](block const& b) { return ashlar::split_backward(b); }, "value"_a);
  m.def(
      "split_backward", [](schedule const& s) { return ashlar::split_backward(s); }, "value"_a,
      "Each backward becomes an input and a weight pass.");
  m.def(
      "fuse_backward", [](block const& b) { return ashlar::fuse_backward(b); }, "value"_a);
  m.def(
      "fuse_backward",
      [](schedule const& s) {
        nb::gil_scoped_release const free;
        return ashlar::fuse_backward(s);
      },
      "value"_a, "Input and weight passes become backwards.");
  m.def(
      "fuse_where_free",
      [](schedule const& s) {
        nb::gil_scoped_release const free;
        return ashlar::fuse_where_free(s);
      },
      "value"_a, "Fuses weight passes with their input passes where that makes nothing longer.");
  m.def(
      "recompute", [](block const& b) { return ashlar::recompute(b); }, "value"_a);
  m.def(
      "recompute",
      [](schedule const& s, std::vector<int> const& stages) { return ashlar::recompute(s, stages); },
      "value"_a, "stages"_a,
      "These stages (of a block: all) run each forward again before its backward.");
  m.def(
      "weights_in_first_gaps", [](block const& b) { return ashlar::weights_in_first_gaps(b); },
      "value"_a, "Puts weight passes into the first gaps after their input passes.");
  m.def(
      "without_collisions", [](block const& b) { return ashlar::without_collisions(b); }, "value"_a,
      "The nearest block whose passes do not collide when it is repeated.");
  m.def(
      "repeat",
      [](block const& b, long long count) { return ashlar::repeat(b, micro_batch_count(count)); },
      "value"_a, "micro_batches"_a, "Starts one block each interval, for a number of micro-batches.");
  m.def(
      "squeeze", [](schedule const& s) { return ashlar::squeeze(s); }, "value"_a,
      "Every pass starts as early as order and dependencies allow.");
  m.def(
      "retime", [](schedule const& s, ashlar::costs const& c) { return ashlar::retime(s, c); },
      "value"_a, "costs"_a, "The same orders under other costs, squeezed.");
  m.def(
      "reorder",
      [](schedule const& s, bool throughout) {
        return ashlar::reorder(
            s, throughout ? ashlar::reordering::throughout : ashlar::reordering::at_ends);
      },
      "value"_a, "throughout"_a = false,
      "Passes move up into gaps: of warm-up and cool-down, or throughout.");
  m.def(
      "relocate", [](schedule const& s, ashlar::placement const& to) { return ashlar::relocate(s, to); },
      "value"_a, "placement"_a, "Keeps the order of starts, on another placement.");
  m.def(
      "then", [](schedule const& a, schedule const& b) { return ashlar::then(a, b); }, "value"_a,
      "next"_a, "One after the other.");
  m.def(
      "merge", [](schedule const& a, schedule const& b) { return ashlar::merge(a, b); }, "value"_a,
      "other"_a, "Both at their times.");
  m.def(
      "take",
      [](schedule const& s, long long count) { return ashlar::take(s, micro_batch_count(count)); },
      "value"_a, "micro_batches"_a, "Only the first micro-batches.");
  m.def(
      "fold_in_half", [](schedule const& s) { return ashlar::fold_in_half(s); }, "value"_a,
      "A bidirectional schedule on half the devices.");
  m.def("improve", &improved, "value"_a, "passes"_a = 1'000'000, "seed"_a = 1,
        "The best order that a search finds within the same memory, dispatching this number of passes.");
}

}  // namespace python
