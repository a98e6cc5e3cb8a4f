// The published schedules by name.
#include "bindings.hpp"
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/interop/near_names.hpp>
#include <ashlar/study/compare.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
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

// Parameters of an entry besides devices and micro-batches.
struct parameter_range {
  parameter which;
  char const* name;
  int initial, least, most;
};

constexpr parameter_range ranges[] = {
    {parameter::chunk_count, "chunks", 2, 1, limits::devices},
    {parameter::wave_count, "waves", 1, 1, limits::devices},
    {parameter::route_count, "routes", 2, 1, limits::devices},
    {parameter::round_count, "rounds", 1, 1, limits::micro_batches},
    {parameter::group_size, "group", 0, 0, limits::micro_batches},
    {parameter::sequence_chunk_count, "sequence_chunks", 2, 1, limits::sequence_chunks},
};
constexpr char const* junction = "junction";
constexpr char const* junctions[] = {"code", "figure"};

// As Python sees a range: of numbers, or of words.
struct entry_parameter {
  std::string name;
  std::variant<int, std::string> initial;
  std::optional<int> least, most;
  std::vector<std::string> words;
};

int checked(parameter which, long long given) {
  for (parameter_range const& r : ranges)
    if (r.which == which) return within(r.name, given, r.least, r.most);
  return static_cast<int>(given);
}

shape shape_of(long long p, long long m, ashlar::costs cost, entry_parameters const& o) {
  using ashlar::catalog::unit_junction;
  return {.p = device_count(p),
          .m = micro_batch_count(m),
          .cost = std::move(cost),
          .v = ashlar::chunks{checked(parameter::chunk_count, o.chunks)},
          .w = ashlar::waves{checked(parameter::wave_count, o.waves)},
          .routes = checked(parameter::route_count, o.routes),
          .rounds = checked(parameter::round_count, o.rounds),
          .group = checked(parameter::group_size, o.group),
          .junction = meaning_of<unit_junction>(
              junction, o.junction,
              {{junctions[0], unit_junction::code}, {junctions[1], unit_junction::figure}}),
          .sequence_chunks = checked(parameter::sequence_chunk_count, o.sequence_chunks)};
}

known_entry find(std::string const& name) {
  if (entry const* const found = ashlar::catalog::find_any(name)) return {found};
  std::vector<std::string> names;
  for (entry const* each : ashlar::catalog::all_entries) names.emplace_back(each->name);
  for (ashlar::catalog::other_name const& other : ashlar::catalog::other_names)
    names.emplace_back(other.name);
  std::string const near = ashlar::nearest_of(name, names);
  throw nb::value_error(("there is no schedule '" + name.substr(0, 64) + "'"
                         + (near.empty() ? "" : ": did you mean '" + near + "'?"))
                            .c_str());
}

std::vector<entry_parameter> parameters_of(known_entry const& e) {
  std::vector<entry_parameter> all;
  for (parameter_range const& r : ranges)
    if (e.of->uses(r.which)) all.push_back({r.name, r.initial, r.least, r.most, {}});
  if (e.of->uses(parameter::unit_junction))
    all.push_back({junction, junctions[0], {}, {}, {junctions[0], junctions[1]}});
  return all;
}

ashlar::block block_of(known_entry const& e, shape const& s) {
  if (e.of->block_of == nullptr)
    throw nb::value_error(
        (std::string(e.of->name) + " is not made by repeating a building block").c_str());
  if (ashlar::diagnosis const d = e.of->check(s); !d.ok()) throw ashlar::violation{d};
  return e.of->block_of(s);
}

ashlar::divided_model model_of(ashlar::costs const& cost, long long pieces,
                               std::optional<causal_percent> const& causal,
                               std::optional<ashlar::part_costs> const& parts) {
  if (parts && static_cast<int>(parts->stages.size()) != std::max(1, cost.passes.stages()))
    throw nb::value_error("parts and costs must be of as many stages: Costs(parts=parts)");
  return {.cost = cost,
          .piece_count = within("pieces", pieces, 1, limits::devices),
          .causal = causal_share_of(causal, cost),
          .parts = parts.value_or(ashlar::part_costs{})};
}

// A schedule beside others, or the entry under the model's costs.
ashlar::comparison compare_entry(known_entry const& e, long long p, long long m,
                                 ashlar::costs const& cost, long long pieces, long long sequence_chunks,
                                 std::optional<causal_percent> const& causal,
                                 std::optional<ashlar::part_costs> const& parts) {
  shape const s{
      .p = device_count(p),
      .m = micro_batch_count(m),
      .sequence_chunks = within("sequence_chunks", sequence_chunks, 1, limits::sequence_chunks)};
  return ashlar::compare(*e.of, s, model_of(cost, pieces, causal, parts));
}
ashlar::comparison compare_schedule(ashlar::schedule const& s, ashlar::costs const& cost,
                                    long long pieces, std::optional<causal_percent> const& causal,
                                    std::optional<ashlar::part_costs> const& parts) {
  return ashlar::compare(s, model_of(cost, pieces, causal, parts));
}

void bind_comparison(nb::module_& m) {
  using ashlar::comparison;
  nb::class_<comparison>(m, "Comparison",
                         "The figures of one schedule for a model, in ticks of a device's share.")
      .def_ro("devices", &comparison::device_count)
      .def_ro("stages", &comparison::stage_count)
      .def_ro("micro_batches", &comparison::micro_batch_count)
      .def_ro("makespan", &comparison::makespan)
      .def_ro("makespan_of_parts", &comparison::makespan_of_parts,
              "Where a device exchanges for one pass while it computes for the next; None if parts are "
              "not known.")
      .def_ro("span", &comparison::span)
      .def_ro("bubble_rate", &comparison::bubble_rate)
      .def_ro("overhead", &comparison::overhead)
      .def_ro("overhead_span", &comparison::overhead_span)
      .def_ro("peaks", &comparison::peaks, "Peak memory by device, as a share of what 1F1B holds.")
      .def_ro("weight_copies", &comparison::weight_copies)
      .def_ro("transfers", &comparison::transfers)
      .def_ro("exposed_communication", &comparison::exposed_communication)
      .def_prop_ro(
          "slacks",
          [](comparison const& c) {
            std::vector<double> all;
            for (ashlar::compared_link const& link : c.links) all.push_back(link.slack);
            return all;
          },
          "Of each link that transfers take, how much later all of them may be before the makespan "
          "grows.")
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
        "pieces"_a, "sequence_chunks"_a, "causal"_a.none(), "parts"_a.none());
  m.def("compare_schedule", &compare_schedule, "schedule"_a, "costs"_a, "pieces"_a, "causal"_a.none(),
        "parts"_a.none());
}

}  // namespace

void bind_catalog(nb::module_& m) {
  nb::class_<entry_parameter>(m, "Parameter",
                              "A parameter of an entry, besides devices and micro-batches.")
      .def_ro("name", &entry_parameter::name)
      .def_ro("default", &entry_parameter::initial)
      .def_ro("least", &entry_parameter::least, "The least value of a number.")
      .def_ro("most", &entry_parameter::most, "The largest value of a number; some sizes allow less.")
      .def_ro("values", &entry_parameter::words, "The values of a word.");
  nb::class_<known_entry>(m, "Entry", "A published schedule.")
      .def_prop_ro("name", [](known_entry const& e) { return std::string(e.of->name); })
      .def_prop_ro("summary", [](known_entry const& e) { return std::string(e.of->summary); })
      .def_prop_ro("source", [](known_entry const& e) { return std::string(e.of->source); })
      .def_prop_ro("parameters", &parameters_of, "Its parameters, besides devices and micro_batches.")
      .def(
          "takes",
          [](known_entry const& e, long long p, long long count, long long v, long long w,
             long long routes, long long rounds, long long group, std::string chosen, long long q) {
            return e.of
                ->check(shape_of(p, count, {}, {v, w, routes, rounds, group, q, std::move(chosen)}))
                .ok();
          },
          "devices"_a, "micro_batches"_a, nb::kw_only(), "chunks"_a = 2, "waves"_a = 1, "routes"_a = 2,
          "rounds"_a = 1, "group"_a = 0, "junction"_a = "code", "sequence_chunks"_a = 2,
          "Whether there is such a schedule.")
      .def_prop_ro("has_block", [](known_entry const& e) { return e.of->block_of != nullptr; })
      .def(
          "block",
          [](known_entry const& e, long long p, long long count, long long v, long long w,
             long long routes, long long rounds, long long group, std::string chosen, long long q) {
            return block_of(e,
                            shape_of(p, count, {}, {v, w, routes, rounds, group, q, std::move(chosen)}));
          },
          "devices"_a, "micro_batches"_a, nb::kw_only(), "chunks"_a = 2, "waves"_a = 1, "routes"_a = 2,
          "rounds"_a = 1, "group"_a = 0, "junction"_a = "code", "sequence_chunks"_a = 2,
          "Its building block. Raises ValueError where there is none, Violation for what it is not for.")
      .def(
          "schedule",
          [](known_entry const& e, long long p, long long count, ashlar::costs const& cost, long long v,
             long long w, long long routes, long long rounds, long long group, std::string chosen,
             long long q) {
            return e.of->make(
                shape_of(p, count, cost, {v, w, routes, rounds, group, q, std::move(chosen)}));
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
  m.def("vocabulary_entries", [] {
    std::vector<known_entry> all;
    for (entry const& e : ashlar::catalog::vocabulary_entries) all.push_back({&e});
    return all;
  });
  bind_comparison(m);
}

}  // namespace python
