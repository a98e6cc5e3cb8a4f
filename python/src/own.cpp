// Blocks and schedules of one's own: from passes as they are written, 2F0.
#include "bindings.hpp"
#include <ashlar/block/block.hpp>
#include <ashlar/interop/pass_token.hpp>
#include <ashlar/model/stage_graph.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace python {

namespace {

using ashlar::block;
using ashlar::schedule;
using ashlar::tick;
using stage_pairs = std::vector<std::pair<int, int>>;

// A pass of a block may leave out the micro-batch: it is 0 then.
ashlar::pass pass_of(std::string const& token, bool of_block, int stage_count) {
  auto const what = ashlar::read_pass(token, of_block);
  if (!what)
    throw nb::value_error(("a pass is written like 2F0, not '" + token.substr(0, 64) + "'").c_str());
  within(("the stage of " + token).c_str(), what->stage, 0, stage_count - 1);
  within(("the micro-batch of " + token).c_str(), what->micro_batch, 0, limits::micro_batches - 1);
  return *what;
}

ashlar::stage_graph graph_of(int stage_count, std::optional<stage_pairs> const& edges,
                             std::vector<int> const& sizes, long long sequence_chunks) {
  ashlar::stage_graph graph = ashlar::chain(ashlar::stages{stage_count});
  if (edges) {
    std::vector<ashlar::stage_edge> all;
    for (auto const& [from, to] : *edges) all.push_back({from, to});
    graph = ashlar::stage_graph(ashlar::stages{stage_count}, std::move(all));
  }
  if (!sizes.empty()) graph = in_micro_batches(std::move(graph), sizes);
  return in_sequence_chunks(std::move(graph),
                            within("sequence_chunks", sequence_chunks, 1, limits::sequence_chunks));
}

// Only a program that trains has passes other than forwards.
void note(ashlar::execution_mode& mode, ashlar::pass what) {
  if (what.kind != ashlar::pass_kind::forward) mode = ashlar::execution_mode::training;
}

block own_block(ashlar::placement const& where, std::map<std::string, tick> const& cells, tick interval,
                ashlar::costs const& cost, std::vector<int> route,
                std::optional<stage_pairs> const& edges, std::vector<int> const& sizes) {
  block b{.graph = graph_of(where.stage_count(), edges, sizes, 1),
          .where = where,
          .route = std::move(route),
          .cost = cost,
          .interval = interval,
          .cells = {},
          .mode = ashlar::execution_mode::inference};
  for (auto const& [token, offset] : cells) {
    ashlar::pass const what = pass_of(token, true, where.stage_count());
    within("the micro-batch of a block", what.micro_batch, 0, b.micro_batch_count() - 1);
    b.cells.push_back({what, offset});
    note(b.mode, what);
  }
  must_hold(b);
  return b;
}

schedule own_schedule(ashlar::placement const& where,
                      std::vector<std::vector<std::string>> const& orders, ashlar::costs const& cost,
                      std::optional<std::vector<int>> const& route,
                      std::optional<std::vector<std::vector<tick>>> const& starts,
                      long long sequence_chunks, std::optional<stage_pairs> const& edges,
                      std::vector<int> const& sizes) {
  int most = -1;
  ashlar::execution_mode mode = ashlar::execution_mode::inference;
  std::vector<std::vector<ashlar::pass>> passes;
  for (auto const& tokens : orders) {
    auto& order = passes.emplace_back();
    for (std::string const& token : tokens) {
      order.push_back(pass_of(token, false, where.stage_count()));
      most = std::max(most, order.back().micro_batch);
      note(mode, order.back());
    }
  }
  std::vector<int> const first_route(static_cast<std::size_t>(most + 1), 0);
  schedule s = ashlar::schedule_from_orders(where, route.value_or(first_route), cost, passes);
  s.graph = graph_of(where.stage_count(), edges, sizes, sequence_chunks);
  s.mode = mode;
  if (!starts) {
    s = ashlar::squeeze(std::move(s));
  } else {
    if (starts->size() != s.order.size()) throw nb::value_error("starts must be a list for each device");
    for (std::size_t d = 0; d < s.order.size(); ++d) {
      if ((*starts)[d].size() != s.order[d].size())
        throw nb::value_error(
            ("starts must be one for each pass of device " + std::to_string(d)).c_str());
      for (std::size_t i = 0; i < s.order[d].size(); ++i) s.order[d][i].start = (*starts)[d][i];
    }
    ashlar::find_pairs(s);
  }
  must_hold(s);
  return s;
}

}  // namespace

void bind_own(nb::module_& m) {
  m.def("block", &own_block, "placement"_a, "cells"_a, "interval"_a, "costs"_a = ashlar::costs{},
        nb::kw_only(), "route"_a = std::vector<int>{0}, "stage_edges"_a = nb::none(),
        "micro_batch_sizes"_a = std::vector<int>{},
        "A building block of one's own: at which tick each pass starts, {'0F': 0, '1F': 1, ...}; with "
        "several micro-batches (a route for each) '1F0', '1F1'. Raises Violation unless it is one.");
  m.def("schedule", &own_schedule, "placement"_a, "orders"_a, "costs"_a = ashlar::costs{}, nb::kw_only(),
        "route"_a = nb::none(), "starts"_a = nb::none(), "sequence_chunks"_a = 1,
        "stage_edges"_a = nb::none(), "micro_batch_sizes"_a = std::vector<int>{},
        "A schedule of one's own: the passes of each device, [['0F0', '0F1', ...], ...], as early as "
        "they can, or at `starts`. route: of each micro-batch (the first). Raises Violation unless it "
        "is one.");
}

}  // namespace python
