// Micro-batches that differ: which samples they have, and in which order they come.
#include "bindings.hpp"
#include <ashlar/plan/parts/deal_samples.hpp>
#include <ashlar/search/micro_batch_order.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace python {

namespace {

// With what its micro-batches take.
struct dealt {
  ashlar::dealt_samples samples;
  ashlar::costs cost;
};

dealt deal(std::vector<int> const& lengths, long long m, ashlar::costs const& whole,
           causal_percent const& causal, std::optional<long long> tokens,
           std::optional<std::int64_t> most_tokens) {
  if (lengths.empty()) throw nb::value_error("there are no samples");
  if (whole.passes.stages() != 0 || whole.passes.micro_batches() != 0
      || whole.passes.sequence_chunks() > 1)
    throw nb::value_error("costs are those of one sequence, the same for all stages");
  int const longest = *std::max_element(lengths.begin(), lengths.end());
  ashlar::sequence_cost const cost{
      .tokens = within("tokens", tokens.value_or(longest), 1, std::int64_t{1} << 30),
      .whole = whole.passes.of(0),
      .attention = causal_share_of(causal)};
  dealt made{
      ashlar::deal_samples(lengths, cost, micro_batch_count(m), most_tokens.value_or(ashlar::max_tick)),
      whole};
  made.cost.passes = made.samples.costs_of(lengths, cost);
  made.cost.passes.overlapped = {};
  return made;
}

ashlar::ordered_micro_batches order(ashlar::schedule const& s, std::int64_t evaluations,
                                    std::uint64_t seed, std::string const& aim,
                                    std::optional<limit_words> const& limit,
                                    std::optional<given_memory> const& memory) {
  ashlar::order_budget const budget{.evaluations = evaluations, .seed = seed, .aim = aim_of(aim)};
  if (budget.aim == ashlar::objective::program)
    throw nb::value_error("aim must be 'span' or 'makespan': programs are not timed here");
  if (limit.has_value() != memory.has_value()) throw nb::value_error("limit and memory go together");
  ashlar::memory_limit room;
  if (limit) room = {.memory = memory_of(*memory), .budget = budgets_of(*limit)};
  nb::gil_scoped_release const others_run;
  return ashlar::order_micro_batches(s, budget, limit ? &room : nullptr);
}

}  // namespace

void bind_micro_batches(nb::module_& m) {
  using ashlar::ordered_micro_batches;
  nb::class_<dealt>(m, "DealtSamples", "Which samples each micro-batch has.")
      .def_prop_ro(
          "micro_batches", [](dealt const& d) { return d.samples.micro_batches; },
          "Indices of samples, ascending.")
      .def_prop_ro(
          "longest", [](dealt const& d) { return d.samples.longest; },
          "Ticks of all passes of a stage, of the micro-batch that takes longest.")
      .def_prop_ro(
          "bound", [](dealt const& d) { return d.samples.least; },
          "A lower bound on every deal into this number of micro-batches.")
      .def_ro("costs", &dealt::cost, "Costs of the micro-batches in this order.")
      .def("__repr__", [](dealt const& d) {
        return "<DealtSamples: " + std::to_string(d.samples.micro_batches.size()) + " micro-batches>";
      });
  m.def(
      "deal_samples", &deal, "lengths"_a, "micro_batches"_a, "costs"_a, nb::kw_only(), "causal"_a = 0,
      "tokens"_a = nb::none(), "most_tokens"_a = nb::none(),
      "Packs sequences of these numbers of tokens into micro-batches that take equal time. costs: of a "
      "sequence of `tokens` tokens (those of the longest one); causal: the percentage of its forward "
      "and "
      "input pass that is attention, or a pair of one each, which grows with the square of the length. "
      "most_tokens: that a micro-batch may have. Raises Violation where no deal is found within that.");
  nb::class_<ordered_micro_batches>(m, "OrderedMicroBatches",
                                    "Micro-batches in the places of a schedule.")
      .def_ro("order", &ordered_micro_batches::order, "By place: which of the given ones.")
      .def_ro("schedule", &ordered_micro_batches::best, "Under the costs of its places.")
      .def_ro("reached", &ordered_micro_batches::reached, "Ticks, of what was aimed at.")
      .def_prop_ro(
          "bound",
          [](ordered_micro_batches const& o) -> std::optional<ashlar::tick> {
            if (!o.least) return std::nullopt;
            return *o.least;
          },
          "No order is below it; None where none is known.")
      .def_ro("is_best", &ordered_micro_batches::is_best, "Proved.")
      .def_ro("evaluations", &ordered_micro_batches::evaluations)
      .def("__repr__", [](ordered_micro_batches const& o) {
        return "<OrderedMicroBatches: " + std::to_string(o.order.size()) + ", "
               + std::to_string(o.reached) + " ticks>";
      });
  m.def("order_micro_batches", &order, "schedule"_a, nb::kw_only(), "evaluations"_a = 2'000,
        "seed"_a = 1, "aim"_a = "makespan", "limit"_a = nb::none(), "memory"_a = nb::none(),
        "The best order found of micro-batches that differ: who takes which place of the schedule, and "
        "so which route. aim: makespan or span. limit, memory: what devices have room for, as `search` "
        "takes it. Other threads run meanwhile.");
}

}  // namespace python
