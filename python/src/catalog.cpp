// The published schedules by name.
#include "bindings.hpp"
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/study/compare.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <options/suggest.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace python {

namespace {

using ashlar::parameter;
using ashlar::catalog::entry;
using ashlar::catalog::shape;

// One of the catalog's own.
struct known_entry {
  entry const* of;
};

struct entry_parameters {
  long long chunks, waves, routes, rounds, group, sequence_chunks;
  std::string junction;
};

shape shape_of(long long p, long long m, ashlar::costs cost, entry_parameters const& o) {
  using ashlar::catalog::unit_junction;
  return {
      .p = device_count(p),
      .m = micro_batch_count(m),
      .cost = std::move(cost),
      .v = ashlar::chunks{within("chunks", o.chunks, 1, tool::most_devices)},
      .w = ashlar::waves{within("waves", o.waves, 1, tool::most_devices)},
      .routes = within("routes", o.routes, 1, tool::most_devices),
      .rounds = within("rounds", o.rounds, 1, tool::most_micro_batches),
      .group = within("group", o.group, 0, tool::most_micro_batches),
      .junction = meaning_of<unit_junction>(
          "junction", o.junction, {{"code", unit_junction::code}, {"figure", unit_junction::figure}}),
      .sequence_chunks = within("sequence_chunks", o.sequence_chunks, 1, tool::most_sequence_chunks)};
}

known_entry find(std::string const& name) {
  if (entry const* const found = ashlar::catalog::find_any(name)) return {found};
  std::string const near = tool::nearest_name(name);
  throw nb::value_error(("there is no schedule '" + name.substr(0, 64) + "'"
                         + (near.empty() ? "" : ": did you mean '" + near + "'?"))
                            .c_str());
}

std::vector<std::string> parameters_of(known_entry const& e) {
  std::vector<std::string> names;
  for (auto const& [which, name] : {std::pair{parameter::chunk_count, "chunks"},
                                    {parameter::wave_count, "waves"},
                                    {parameter::route_count, "routes"},
                                    {parameter::round_count, "rounds"},
                                    {parameter::group_size, "group"},
                                    {parameter::unit_junction, "junction"},
                                    {parameter::sequence_chunk_count, "sequence_chunks"}})
    if (e.of->uses(which)) names.emplace_back(name);
  return names;
}

ashlar::block block_of(known_entry const& e, shape const& s) {
  if (e.of->block_of == nullptr)
    throw nb::value_error(
        (std::string(e.of->name) + " is not made by repeating a building block").c_str());
  if (ashlar::diagnosis const d = e.of->check(s); !d.ok()) throw ashlar::violation{d};
  return e.of->block_of(s);
}

ashlar::divided_model model_of(ashlar::costs const& cost, long long pieces,
                               std::optional<causal_percent> const& causal) {
  return {.cost = cost,
          .piece_count = within("pieces", pieces, 1, tool::most_devices),
          .causal = causal_share_of(causal, cost)};
}

// A schedule beside others, or the entry under the model's costs.
ashlar::comparison compare_entry(known_entry const& e, long long p, long long m,
                                 ashlar::costs const& cost, long long pieces, long long sequence_chunks,
                                 std::optional<causal_percent> const& causal) {
  shape const s{
      .p = device_count(p),
      .m = micro_batch_count(m),
      .sequence_chunks = within("sequence_chunks", sequence_chunks, 1, tool::most_sequence_chunks)};
  return ashlar::compare(*e.of, s, model_of(cost, pieces, causal));
}
ashlar::comparison compare_schedule(ashlar::schedule const& s, ashlar::costs const& cost,
                                    long long pieces, std::optional<causal_percent> const& causal) {
  return ashlar::compare(s, model_of(cost, pieces, causal));
}

void bind_comparison(nb::module_& m) {
  using ashlar::comparison;
  nb::class_<comparison>(m, "Comparison",
                         "What one schedule makes of a model, in ticks of a device's share.")
      .def_ro("devices", &comparison::device_count)
      .def_ro("stages", &comparison::stage_count)
      .def_ro("micro_batches", &comparison::micro_batch_count)
      .def_ro("makespan", &comparison::makespan)
      .def_ro("span", &comparison::span)
      .def_ro("bubble_rate", &comparison::bubble_rate)
      .def_ro("overhead", &comparison::overhead)
      .def_ro("overhead_span", &comparison::overhead_span)
      .def_ro("peaks", &comparison::peaks, "Of each device, as a share of what 1F1B holds.")
      .def_ro("weight_copies", &comparison::weight_copies)
      .def_ro("transfers", &comparison::transfers)
      .def_ro("exposed_communication", &comparison::exposed_communication)
      .def(
          "bound",
          [](comparison const& c) -> std::optional<double> {
            auto const least = ashlar::comparison_bound(c);
            if (!least) return std::nullopt;
            return least->makespan;
          },
          "No schedule of the same stages with the same memory has a shorter makespan; None: not "
          "known.");
  m.def("compare_entry", &compare_entry, "entry"_a, "devices"_a, "micro_batches"_a, "costs"_a,
        "pieces"_a, "sequence_chunks"_a, "causal"_a.none());
  m.def("compare_schedule", &compare_schedule, "schedule"_a, "costs"_a, "pieces"_a, "causal"_a.none());
}

}  // namespace

void bind_catalog(nb::module_& m) {
  nb::class_<known_entry>(m, "Entry", "A published schedule.")
      .def_prop_ro("name", [](known_entry const& e) { return std::string(e.of->name); })
      .def_prop_ro("summary", [](known_entry const& e) { return std::string(e.of->summary); })
      .def_prop_ro("source", [](known_entry const& e) { return std::string(e.of->source); })
      .def_prop_ro("parameters", &parameters_of, "Which it looks at, besides devices and micro_batches.")
      .def_prop_ro("has_block", [](known_entry const& e) { return e.of->block_of != nullptr; })
      .def(
          "block",
          [](known_entry const& e, long long p, long long count, long long v, long long w,
             long long routes, long long rounds, long long group, std::string junction, long long q) {
            return block_of(
                e, shape_of(p, count, {}, {v, w, routes, rounds, group, q, std::move(junction)}));
          },
          "devices"_a, "micro_batches"_a, nb::kw_only(), "chunks"_a = 2, "waves"_a = 1, "routes"_a = 2,
          "rounds"_a = 1, "group"_a = 0, "junction"_a = "code", "sequence_chunks"_a = 2,
          "Its building block. Raises ValueError where there is none, Violation for what it is not for.")
      .def(
          "schedule",
          [](known_entry const& e, long long p, long long count, ashlar::costs const& cost, long long v,
             long long w, long long routes, long long rounds, long long group, std::string junction,
             long long q) {
            return e.of->make(
                shape_of(p, count, cost, {v, w, routes, rounds, group, q, std::move(junction)}));
          },
          "devices"_a, "micro_batches"_a, "costs"_a = ashlar::costs{}, nb::kw_only(), "chunks"_a = 2,
          "waves"_a = 1, "routes"_a = 2, "rounds"_a = 1, "group"_a = 0, "junction"_a = "code",
          "sequence_chunks"_a = 2, "The schedule. Raises Violation for sizes that it is not for.")
      .def("__repr__", [](known_entry const& e) { return "<Entry: " + std::string(e.of->name) + ">"; });
  m.def("find", &find, "name"_a, "The entry of that name. Raises ValueError, with a name that is near.");
  m.def("entries", [] {
    std::vector<known_entry> all;
    for (entry const* e : ashlar::catalog::all_entries) all.push_back({e});
    return all;
  });
  bind_comparison(m);
}

}  // namespace python
