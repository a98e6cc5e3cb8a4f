// Costs, and memory of stages.
#include "bindings.hpp"
#include <ashlar/core/cost.hpp>
#include <ashlar/core/sequence_costs.hpp>
#include <ashlar/model/memory_model.hpp>

#include <nanobind/operators.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace python {

namespace {

using ashlar::tick;
using stage_ticks = std::tuple<tick, tick, tick>;
using given_level = std::pair<int, tick>;       // devices of a group, ticks between groups
using given_link = std::tuple<int, int, tick>;  // from, to, ticks
using given_ticks = std::variant<stage_ticks, std::tuple<tick, tick, tick, tick>>;  // with a recompute

ashlar::costs make_costs(tick forward, tick backward_input, tick backward_weight,
                         std::optional<tick> recompute,
                         std::optional<std::vector<given_ticks>> const& per_stage, tick transfer,
                         std::optional<tick> transfer_between_nodes, int node_size,
                         ashlar::byte_count bandwidth, ashlar::byte_count message,
                         std::optional<tick> overlapped, std::vector<int> speeds,
                         long long sequence_chunks, std::optional<long long> micro_batches,
                         std::vector<given_level> const& levels, std::vector<given_link> const& links,
                         std::optional<ashlar::part_costs> const& parts) {
  tick const again = recompute.value_or(ashlar::stage_cost::same_as_forward);
  ashlar::costs made(ashlar::stage_cost{forward, backward_input, backward_weight, again}, transfer);
  if (per_stage) {
    std::vector<ashlar::stage_cost> each;
    for (given_ticks const& given : *per_stage)
      if (auto const* alike = std::get_if<stage_ticks>(&given)) {
        auto const& [f, i, w] = *alike;
        each.push_back({f, i, w, again});
      } else {
        auto const& [f, i, w, r] = std::get<1>(given);
        each.push_back({f, i, w, r});
      }
    int const q = within("sequence_chunks", sequence_chunks, 1, limits::sequence_chunks);
    if (micro_batches && q > 1)
      throw nb::value_error("either the chunks of sequences differ or micro-batches do");
    made.passes = micro_batches ? ashlar::pass_costs::by_stage_and_micro_batch(
                      std::move(each), within("micro_batches", *micro_batches, 1, limits::micro_batches))
                                : ashlar::pass_costs::by_stage_and_sequence_chunk(std::move(each), q);
  }
  if (parts) {
    if (per_stage || overlapped || recompute)
      throw nb::value_error("parts say what passes and pairs take: they are instead of that");
    made.passes = ashlar::costs_of(*parts);
  }
  made.on.links.inside.bandwidth = made.on.links.between.bandwidth = bandwidth;
  if (transfer_between_nodes) made.on.links.between.latency = *transfer_between_nodes;
  made.on.links.node_size = node_size;
  for (auto const& [size, ticks] : levels) made.on.links.wider.push_back({size, {.latency = ticks}});
  for (auto const& [from, to, ticks] : links)
    made.on.links.exceptions.push_back({from, to, {.latency = ticks}});
  made.message = message;
  if (overlapped) made.passes.overlapped = *overlapped;
  made.on.speeds = std::move(speeds);
  return made;
}

// The ticks of a forward and a backward as a pair, if they do not run one after the other.
std::optional<tick> pair_of(ashlar::costs const& c, std::string const& kind, int forward_stage,
                            int backward_stage) {
  ashlar::pair_costs const& pairs = c.passes.overlapped;
  auto const backward =
      meaning_of<ashlar::pass_kind>("kind", kind,
                                    {{"backward", ashlar::pass_kind::backward},
                                     {"backward_input", ashlar::pass_kind::backward_input},
                                     {"backward_weight", ashlar::pass_kind::backward_weight}});
  for (int const stage : {forward_stage, backward_stage})
    within("a stage", stage, 0, (pairs.stages() > 1 ? pairs.stages() : limits::devices) - 1);
  if (!pairs.are_given()) return std::nullopt;
  return pairs.of(forward_stage, backward, backward_stage);
}

// Delays a link's transfers in both directions.
ashlar::costs with_late_link(ashlar::costs c, int one, int other, tick by) {
  for (int const device : {one, other}) within("a device", device, 0, limits::devices - 1);
  if (one == other || by < 0)
    throw nb::value_error("a link is between two devices, and its transfers are later, not earlier");
  delay_link(c.on.links, one, other, by);
  delay_link(c.on.links, other, one, by);
  return c;
}

std::vector<stage_ticks> ticks_of_stages(ashlar::costs const& c) {
  std::vector<stage_ticks> all;
  c.passes.for_each([&](int, int, ashlar::stage_cost const& s) {
    all.emplace_back(s.forward, s.backward_input, s.backward_weight);
  });
  return all;
}

std::string words_of(ashlar::costs const& c) {
  std::string text;
  c.passes.for_each([&](int, int, ashlar::stage_cost const& s) {
    text += (text.empty() ? "(" : ", (") + std::to_string(s.forward) + ", "
            + std::to_string(s.backward_input) + ", " + std::to_string(s.backward_weight) + ")";
  });
  std::string chunks = c.passes.sequence_chunks() == 1
                           ? ""
                           : ", sequence_chunks=" + std::to_string(c.passes.sequence_chunks());
  if (int const m = c.passes.micro_batches(); m != 0) chunks += ", micro_batches=" + std::to_string(m);
  return "Costs(per_stage=[" + text + "], transfer=" + std::to_string(c.on.links.inside.latency) + chunks
         + ")";
}

void bind_memory(nb::module_& m) {
  using ashlar::byte_count;
  using ashlar::stage_memory;
  nb::class_<stage_memory> bound(m, "StageMemory",
                                 "Memory of one stage on its device, in bytes or any other unit.");
  bound
      .def(
          "__init__",
          [](stage_memory* made, byte_count stash, byte_count weights, byte_count weight_gradient,
             byte_count optimizer_state, byte_count activation, byte_count gradient,
             byte_count weight_stash, std::optional<byte_count> checkpoint,
             std::optional<byte_count> stash_left) {
            new (made) stage_memory{.weights = weights,
                                    .optimizer_state = optimizer_state,
                                    .weight_gradient = weight_gradient,
                                    .activation = activation,
                                    .gradient = gradient,
                                    .checkpoint = checkpoint.value_or(stage_memory::all),
                                    .stash = stash,
                                    .stash_left = stash_left.value_or(stage_memory::all),
                                    .weight_stash = weight_stash};
          },
          nb::kw_only(), "stash"_a = 1, "weights"_a = 0, "weight_gradient"_a = 0,
          "optimizer_state"_a = 0, "activation"_a = 0, "gradient"_a = 0, "weight_stash"_a = 0,
          "checkpoint"_a = nb::none(), "stash_left"_a = nb::none(),
          "stash: what a forward keeps for its backward. weight_stash: what an input pass keeps beside "
          "that for its weight pass. stash_left: what of the stash stays after the input pass (all of "
          "it). checkpoint: what of the stash a forward keeps for a recompute (there is none).")
      .def_ro("stash", &stage_memory::stash)
      .def_ro("weights", &stage_memory::weights)
      .def_ro("weight_gradient", &stage_memory::weight_gradient)
      .def_ro("optimizer_state", &stage_memory::optimizer_state);
  refuse_others(bound);
}

}  // namespace

ashlar::memory_model memory_of(given_memory const& given) {
  ashlar::memory_model made{.stages = {}};
  for (auto const& stage : given) {
    auto const* const row = std::get_if<std::vector<ashlar::stage_memory>>(&stage);
    int const count = row == nullptr ? 0 : static_cast<int>(row->size());
    if (made.stages.empty()) made.micro_batches = count;
    if (count != made.micro_batches || (row != nullptr && row->empty()))
      throw nb::value_error(
          "memory has one StageMemory for each stage, or for each a list by micro-batch");
    if (row == nullptr)
      made.stages.push_back(std::get<ashlar::stage_memory>(stage));
    else
      made.stages.insert(made.stages.end(), row->begin(), row->end());
  }
  return made;
}

void bind_costs(nb::module_& m) {
  using ashlar::costs;
  nb::class_<costs> of_costs(m, "Costs", "How many ticks passes and transfers take.");
  of_costs
      .def(
          "__init__",
          [](costs* made, tick f, tick i, tick w, std::optional<tick> recompute,
             std::optional<std::vector<given_ticks>> const& per_stage, tick transfer,
             std::optional<tick> between, int node_size, ashlar::byte_count bandwidth,
             ashlar::byte_count message, std::optional<tick> overlapped, std::vector<int> speeds,
             long long sequence_chunks, std::optional<long long> micro_batches,
             std::vector<given_level> const& levels, std::vector<given_link> const& links,
             std::optional<ashlar::part_costs> const& parts, ashlar::byte_count host_bandwidth,
             long long host_shared_by, ashlar::byte_count ring_bandwidth, tick ring_latency) {
            costs c = make_costs(f, i, w, recompute, per_stage, transfer, between, node_size, bandwidth,
                                 message, overlapped, std::move(speeds), sequence_chunks, micro_batches,
                                 levels, links, parts);
            within("host_bandwidth", host_bandwidth, 0, limits::bytes);
            c.on.host = {.speed = {.bandwidth = host_bandwidth},
                         .shared_by = within("host_shared_by", host_shared_by, 1, limits::devices)};
            c.on.collective = {.latency = ring_latency, .bandwidth = ring_bandwidth};
            new (made) costs(std::move(c));
          },
          "forward"_a = 1, "backward_input"_a = 1, "backward_weight"_a = 1, nb::kw_only(),
          "recompute"_a = nb::none(), "per_stage"_a = nb::none(), "transfer"_a = 0,
          "transfer_between_nodes"_a = nb::none(), "node_size"_a = 0, "bandwidth"_a = 0, "message"_a = 0,
          "overlapped"_a = nb::none(), "speeds"_a = std::vector<int>{}, "sequence_chunks"_a = 1,
          "micro_batches"_a = nb::none(), "levels"_a = std::vector<given_level>{},
          "links"_a = std::vector<given_link>{}, "parts"_a = nb::none(), "host_bandwidth"_a = 0,
          "host_shared_by"_a = 1, "ring_bandwidth"_a = 0, "ring_latency"_a = 0,
          "Ticks of a stage's passes, the same for all stages or, in per_stage, a tuple (forward, "
          "backward_input, backward_weight) for each, or of four with the recompute. transfer: the "
          "latency of a link; bandwidth: its "
          "bytes a tick (0: bytes take no time); message: bytes of a transfer. overlapped: ticks of a "
          "forward and a backward together (one after the other). speeds: of the devices, in percent. "
          "sequence_chunks: where the chunks of sequences differ, how many there are; per_stage then "
          "has "
          "one tuple for each chunk of each stage, stage after stage. micro_batches: the same where "
          "micro-batches "
          "differ. levels: beyond nodes, how many devices a group has and the latency between groups, "
          "from small to large. links: the latency from one device to another where it is not as its "
          "level says. parts: what passes consist of, instead of their ticks; pairs follow from it. "
          "host_bandwidth: bytes a tick between a device and its host, each way (0: copies take no "
          "time); host_shared_by: devices that share such a link. ring_bandwidth: bytes a tick of the "
          "slowest link of a ring of data-parallel ranks (0: bytes take no time); ring_latency: the "
          "ticks "
          "of each of its steps.")
      .def(
          "with_causal_chunks",
          [](costs const& mean, long long sequence_chunks, causal_percent const& share) {
            ashlar::finer_costs made = ashlar::with_causal_chunks(
                mean, within("sequence_chunks", sequence_chunks, 1, limits::sequence_chunks),
                causal_share_of(share));
            return std::pair(std::move(made.cost), made.unit);
          },
          "sequence_chunks"_a, "causal"_a,
          "From costs of the mean chunk, those of each, and how many of their ticks are one of these. "
          "causal: the percentage of a whole sequence's forward (and recompute) and input pass that is "
          "causal attention, or a pair of one each; it grows by the same amount from each chunk to the "
          "next. Raises ValueError for what is no percentage, Violation for costs that differ by chunk "
          "already.")
      .def(
          "with_late_link", &with_late_link, "device"_a, "other"_a, "ticks"_a,
          "The same, but what goes from one of these devices to the other takes that many ticks longer.")
      .def("pair", &pair_of, "kind"_a = "backward", "forward_stage"_a = 0, "backward_stage"_a = 0,
           "Ticks of a forward and a backward, backward_input or backward_weight that run as a pair; "
           "None: one after the other.")
      .def_prop_ro("per_stage", &ticks_of_stages)
      .def_prop_ro("sequence_chunks", [](costs const& c) { return c.passes.sequence_chunks(); })
      .def_prop_ro("micro_batches",
                   [](costs const& c) {
                     int const m = c.passes.micro_batches();
                     return m == 0 ? std::nullopt : std::optional(m);
                   })
      .def_prop_ro("transfer", [](costs const& c) { return c.on.links.inside.latency; })
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__repr__", [](costs const& c) { return words_of(c); });
  refuse_others(of_costs);
  bind_memory(m);
}

}  // namespace python
