// Searches, which let other threads of Python run, say how far they are, and stop when told to.
#include "bindings.hpp"
#include "search_watch.hpp"
#include <ashlar/search/layout_freedoms.hpp>
#include <ashlar/search/offload_search.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace python {

namespace {

using ashlar::objective;
using ashlar::schedule;
using ashlar::search_problem;
using ashlar::search_result;
using ashlar::tick;

struct search_options {
  std::int64_t evaluations = 10'000;
  std::uint64_t seed = 1;
  objective aim = objective::span;
  bool braid = false, order = false;
};

// A schedule on a layout; where values may leave for hosts, what leaves.
struct found_layout {
  ashlar::searched_layout of;
  std::optional<ashlar::offload_choice> away = std::nullopt;
};

// As the tool prints it: six digits, of large numbers all that are before the point.
std::string rounded(double number) {
  char text[320];  // of all digits of the largest; printf would ask the locale for a point
  std::to_chars_result const r =
      std::abs(number) < 1e6 ? std::to_chars(text, std::end(text), number, std::chars_format::general, 6)
                             : std::to_chars(text, std::end(text), number, std::chars_format::fixed, 0);
  return {text, r.ptr};
}

search_result search_one(search_problem const& problem, search_options const& o, double share, int round,
                         std::vector<schedule> const& starts, watch& seen) {
  ashlar::search_start start(problem);
  for (schedule const& s : starts)
    if (ashlar::check_start(problem, s).ok()) start.add(problem, s);
  auto const evaluations = static_cast<double>(o.evaluations) * share;
  return ashlar::search(
      problem, start,
      {.passes = static_cast<std::int64_t>(evaluations < 1 ? 1 : evaluations) * pass_count(problem),
       .seed = o.seed + static_cast<std::uint64_t>(round),
       .aim = o.aim},
      [&seen](auto const& best, std::int64_t spent) { return seen(best, spent); });
}

ashlar::memory_limit limit_of(std::optional<limit_words> const& given,
                              std::optional<given_memory> const& memory,
                              ashlar::placement const& where) {
  // The memory of 1F1B on its first device: p micro-batches of a p-th of the model.
  ashlar::memory_limit limit = ashlar::chunk_activations(where.stage_count());
  if (memory) limit.memory = memory_of(*memory);
  if (!given && memory) throw nb::value_error("a limit is needed for memory");
  if (given) limit.budget = budgets_of(*given);
  return limit;
}

char const* name_of(ashlar::placement_kind shape) {
  switch (shape) {
    case ashlar::placement_kind::linear:
      return "linear";
    case ashlar::placement_kind::v:
      return "v";
    case ashlar::placement_kind::looped:
      return "looped";
    case ashlar::placement_kind::wave:
      return "wave";
    case ashlar::placement_kind::given:
      break;
  }
  return "given";
}

// Throws ValueError for what would have no effect.
void must_have_effect(search_options const& o, ashlar::costs const& cost) {
  if (o.braid && (o.aim == objective::program || !cost.passes.overlapped.are_given()))
    throw nb::value_error(
        "braid needs costs of pairs, as Costs(parts=) has them, and another aim than 'program'");
  if (o.order && cost.passes.micro_batches() == 0)
    throw nb::value_error("order needs costs of each micro-batch: Costs(micro_batches=)");
}

found_layout with_pairs(ashlar::searched_layout each, search_options const& o) {
  if (o.braid) braid(each, o.evaluations);
  return {std::move(each)};
}

found_layout search_choice(ashlar::layout_choice choice, search_options const& o,
                           std::vector<schedule> const& starts, watch& seen) {
  search_result found = search_one(choice.problem, o, 1, 0, starts, seen);
  return with_pairs({std::move(choice), std::move(found), o.aim}, o);
}

// Where values may leave for the hosts, over the link that the costs have. Throws ValueError if nothing
// is found that copies bring within the limit.
found_layout search_with_hosts(ashlar::layout_choice const& choice, search_options const& o,
                               std::vector<schedule> const& starts, watch& seen) {
  search_problem const& problem = choice.problem;
  std::optional<search_result> plain;
  if (check(problem).ok()) plain = search_one(problem, o, 1, 0, starts, seen);
  auto found = ashlar::search_offloaded(
      problem, problem.cost.on.host,
      {.passes = o.evaluations * pass_count(problem), .seed = o.seed, .aim = o.aim},
      plain ? &*plain : nullptr,
      [&seen](auto const& best, std::int64_t spent) { return seen(best, spent); });
  if (!found)
    throw nb::value_error("no schedule was found that copies bring within the limit on memory");
  search_result result{.best = std::move(found->best), .reached = found->reached, .least = found->least};
  if (plain) result.evaluations = plain->evaluations;
  return {{choice, std::move(result), o.aim}, std::move(found->choice)};
}

found_layout search_placement(ashlar::placement const& where, long long m, ashlar::costs const& cost,
                              std::optional<limit_words> const& limit,
                              std::optional<given_memory> const& memory,
                              std::optional<long long> sequence_chunks, std::int64_t budget,
                              std::uint64_t seed, std::string const& aim,
                              std::vector<schedule> const& starts, nb::object const& progress,
                              bool braid, bool order, bool offload) {
  ashlar::layout_choice choice{
      .shape = ashlar::placement_kind::given,
      .problem = {.where = where,
                  .m = micro_batch_count(m),
                  .cost = cost,
                  .limit = limit_of(limit, memory, where),
                  .sequence_chunks =
                      within("sequence_chunks", sequence_chunks.value_or(cost.passes.sequence_chunks()),
                             1, limits::sequence_chunks)}};
  search_options const o{budget, seed, aim_of(aim), braid, order};
  must_have_effect(o, cost);
  if (offload && (braid || order))
    throw nb::value_error("offload goes neither with braid nor with order");
  if (offload && !memory)
    throw nb::value_error("offload needs memory and limit, of which copies have sizes");
  watch seen(progress, o.aim);
  nb::gil_scoped_release const free;
  if (offload) return search_with_hosts(choice, o, starts, seen);
  // Each order of micro-batches with the whole budget, so that none is worse for the others.
  std::optional<found_layout> best;
  for (ashlar::layout_choice& each : order ? with_orders({choice}, o.aim) : std::vector{choice}) {
    found_layout found = search_choice(std::move(each), o, starts, seen);
    if (!best || found.of.result.reached < best->of.result.reached) best = std::move(found);
  }
  return std::move(*best);
}

std::vector<found_layout> search_shapes(long long p, long long m, ashlar::costs const& cost,
                                        int memory_percent, int kept_percent,
                                        std::optional<long long> sequence_chunks,
                                        std::optional<causal_percent> const& causal, std::int64_t budget,
                                        std::uint64_t seed, std::string const& aim,
                                        nb::object const& progress, bool braid, bool order) {
  int const chunk_classes = cost.passes.sequence_chunks();
  if (cost.passes.stages() != 0)
    throw nb::value_error(
        "costs of a device's share of the model are one for all, or one for each chunk of a sequence; "
        "give a placement for costs of each stage");
  ashlar::variety how{
      .kept_percent = {within("kept_percent", kept_percent, 0, 100)},
      .most_sequence_chunks =
          within("sequence_chunks", sequence_chunks.value_or(chunk_classes), 1, limits::sequence_chunks),
      .causal = causal_share_of(causal, cost)};
  if (causal && how.most_sequence_chunks == 1)
    throw nb::value_error("causal has no effect without sequence_chunks");
  if (chunk_classes > 1 && how.most_sequence_chunks != chunk_classes)
    throw nb::value_error(("costs are those of " + std::to_string(chunk_classes)
                           + " chunks of a sequence, but sequence_chunks is "
                           + std::to_string(how.most_sequence_chunks))
                              .c_str());
  if (chunk_classes > 1) how.by_sequence_chunk = cost;
  ashlar::model_share const model{device_count(p), micro_batch_count(m),
                                  ashlar::of_whole_sequences(cost)};
  auto const choices =
      ashlar::layouts_for(model, within("memory_percent", memory_percent, 1, limits::percent), how);
  if (choices.empty()) throw nb::value_error("there is no schedule within the limit on memory");
  search_options const o{budget, seed, aim_of(aim), braid, order};
  must_have_effect(o, cost);
  watch seen(progress, o.aim);
  nb::gil_scoped_release const free;
  std::vector<found_layout> all;
  for (ashlar::searched_layout& each :
       ashlar::search_layouts(order ? with_orders(choices, o.aim) : choices, o.aim,
                              [&](ashlar::layout_choice const&c, double share, int round) {
                                return search_one(c.problem, o, share, round, {}, seen);
                              }))
    all.push_back(with_pairs(std::move(each), o));
  return all;
}

}  // namespace

void bind_search(nb::module_& m) {
  nb::class_<found_layout>(m, "Searched", "Result of a search on one placement.")
      .def_prop_ro("layout",
                   [](found_layout const& s) { return std::string(name_of(s.of.choice.shape)); })
      .def_prop_ro("chunks", [](found_layout const& s) { return s.of.choice.chunk_count; })
      .def_prop_ro(
          "recomputed_chunks",
          [](found_layout const& s) {
            bool const others = s.of.choice.recomputed_chunks == ashlar::layout_choice::other_stages;
            return others ? std::nullopt : std::optional(s.of.choice.recomputed_chunks);
          },
          "The first of each device; None if other stages recompute.")
      .def_prop_ro("recomputed_stages",
                   [](found_layout const& s) { return recomputed_stages(s.of.choice.problem); })
      .def_prop_ro("sequence_chunks",
                   [](found_layout const& s) { return s.of.choice.problem.sequence_chunks; })
      .def_prop_ro("schedule", [](found_layout const& s) { return s.of.result.best; })
      .def_prop_ro(
          "reached", [](found_layout const& s) { return s.of.in_ticks(s.of.result.reached); },
          "Ticks, of what the search aimed at.")
      .def_prop_ro(
          "bound", [](found_layout const& s) { return s.of.in_ticks(s.of.least()); },
          "No schedule on this placement within the memory takes fewer.")
      .def_prop_ro(
          "gap", [](found_layout const& s) { return s.of.gap(); },
          "By which share of the bound it takes more.")
      .def_prop_ro(
          "is_optimal", [](found_layout const& s) { return s.of.is_optimal(); }, "On this placement.")
      .def_prop_ro("overhead", [](found_layout const& s) { return s.of.overhead(); })
      .def_prop_ro(
          "micro_batches",
          [](found_layout const& s) {
            auto const& order = s.of.choice.micro_batches;
            return order.empty() ? std::nullopt : std::optional(order);
          },
          "By place, which of the given ones stands there; None: each in its own.")
      .def_prop_ro(
          "offload", [](found_layout const& s) { return s.away; },
          "Activations that leave for the hosts, for `lower(offload=)`; None if nothing was to leave.")
      .def_prop_ro("evaluations", [](found_layout const& s) { return s.of.result.evaluations; })
      .def("__repr__", [](found_layout const& s) {
        return "<Searched: " + std::string(name_of(s.of.choice.shape)) + ", "
               + rounded(s.of.in_ticks(s.of.result.reached)) + " ticks, no less than "
               + rounded(s.of.in_ticks(s.of.least())) + ">";
      });
  m.def("search_placement", &search_placement, "placement"_a, "micro_batches"_a,
        "costs"_a = ashlar::costs{}, nb::kw_only(), "limit"_a = nb::none(), "memory"_a = nb::none(),
        "sequence_chunks"_a = nb::none(), "budget"_a = 10'000, "seed"_a = 1, "aim"_a = "span",
        "starts"_a = std::vector<schedule>{}, "progress"_a = nb::none(), "braid"_a = false,
        "order"_a = false, "offload"_a = false);
  m.def("search_layouts", &search_shapes, "devices"_a, "micro_batches"_a, "costs"_a = ashlar::costs{},
        nb::kw_only(), "memory_percent"_a = 100, "kept_percent"_a = 100,
        "sequence_chunks"_a = nb::none(), "causal"_a = nb::none(), "budget"_a = 10'000, "seed"_a = 1,
        "aim"_a = "span", "progress"_a = nb::none(), "braid"_a = false, "order"_a = false);
}

}  // namespace python
