// Searches, which let other threads of Python run, say how far they are, and stop when told to.
#include "bindings.hpp"
#include <ashlar/search/layouts.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <charconv>
#include <chrono>
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

objective aim_of(std::string const& word) {
  return meaning_of<objective>(
      "aim", word,
      {{"span", objective::span}, {"makespan", objective::makespan}, {"program", objective::program}});
}

// Called by searches, without the GIL. Some ten times a second it takes the GIL to look for signals and
// to tell whoever wants to know; an exception of theirs, or Ctrl-C, is thrown and so ends the search.
class watch {
 public:
  watch(nb::object const& progress, objective aim) : progress_(&progress), aim_(aim) {}

  bool operator()(ashlar::list_scheduler::solution const& best, std::int64_t passes) {
    spent_ += passes;
    auto const now = std::chrono::steady_clock::now();
    if (stopped_ || now < next_) return !stopped_;
    next_ = now + std::chrono::milliseconds(100);
    nb::gil_scoped_acquire const held;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (progress_->is_none() || best.orders.empty()) return true;
    nb::object const answer = (*progress_)(aim_ == objective::span ? best.span : best.makespan, spent_);
    stopped_ = answer.is(nb::bool_(false));
    return !stopped_;
  }

 private:
  nb::object const* progress_;
  objective aim_;
  bool stopped_ = false;
  std::int64_t spent_ = 0;  // passes
  std::chrono::steady_clock::time_point next_{};
};

struct search_options {
  std::int64_t evaluations = 10'000;
  std::uint64_t seed = 1;
  objective aim = objective::span;
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
  std::int64_t const passes = std::int64_t{problem.m.value} * problem.sequence_chunks
                              * (3 * problem.where.stage_count()
                                 + static_cast<std::int64_t>(ashlar::recomputed_stages(problem).size()));
  return ashlar::search(problem, start,
                        {.passes = static_cast<std::int64_t>(evaluations < 1 ? 1 : evaluations) * passes,
                         .seed = o.seed + static_cast<std::uint64_t>(round),
                         .aim = o.aim},
                        [&seen](auto const& best, std::int64_t spent) { return seen(best, spent); });
}

using limit_words = std::variant<std::int64_t, std::vector<std::int64_t>>;

ashlar::memory_limit limit_of(std::optional<limit_words> const& given,
                              std::optional<given_memory> const& memory,
                              ashlar::placement const& where) {
  // What 1F1B holds on its first device: p micro-batches of a p-th of the model.
  ashlar::memory_limit limit = ashlar::chunk_activations(where.stage_count());
  if (memory) limit.memory = memory_of(*memory);
  if (!given && memory) throw nb::value_error("a limit is needed for memory");
  if (given)
    limit.budget = std::holds_alternative<std::int64_t>(*given)
                       ? std::vector<std::int64_t>{std::get<std::int64_t>(*given)}
                       : std::get<std::vector<std::int64_t>>(*given);
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

ashlar::searched_layout search_placement(
    ashlar::placement const& where, long long m, ashlar::costs const& cost,
    std::optional<limit_words> const& limit, std::optional<given_memory> const& memory,
    std::optional<long long> sequence_chunks, std::int64_t budget, std::uint64_t seed,
    std::string const& aim, std::vector<schedule> const& starts, nb::object const& progress) {
  search_problem problem{.where = where,
                         .m = micro_batch_count(m),
                         .cost = cost,
                         .limit = limit_of(limit, memory, where),
                         .sequence_chunks = within(
                             "sequence_chunks", sequence_chunks.value_or(cost.passes.sequence_chunks()),
                             1, tool::most_sequence_chunks)};
  search_options const o{budget, seed, aim_of(aim)};
  watch seen(progress, o.aim);
  nb::gil_scoped_release const free;
  search_result found = search_one(problem, o, 1, 0, starts, seen);
  return {
      {.shape = ashlar::placement_kind::given, .problem = std::move(problem)}, std::move(found), o.aim};
}

std::vector<ashlar::searched_layout> search_shapes(long long p, long long m, ashlar::costs const& cost,
                                                   int memory_percent, int kept_percent,
                                                   std::optional<long long> sequence_chunks,
                                                   std::optional<causal_percent> const& causal,
                                                   std::int64_t budget, std::uint64_t seed,
                                                   std::string const& aim, nb::object const& progress) {
  int const chunk_classes = cost.passes.sequence_chunks();
  if (cost.passes.stages() != 0)
    throw nb::value_error(
        "costs of a device's share of the model are one for all, or one for each chunk of a sequence; "
        "give a placement for costs of each stage");
  ashlar::variety how{
      .kept_percent = {within("kept_percent", kept_percent, 0, 100)},
      .most_sequence_chunks = within("sequence_chunks", sequence_chunks.value_or(chunk_classes), 1,
                                     tool::most_sequence_chunks),
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
      ashlar::layouts_for(model, within("memory_percent", memory_percent, 1, tool::most_percent), how);
  if (choices.empty()) throw nb::value_error("there is no schedule within the limit on memory");
  search_options const o{budget, seed, aim_of(aim)};
  watch seen(progress, o.aim);
  nb::gil_scoped_release const free;
  return ashlar::search_layouts(choices, o.aim,
                                [&](ashlar::layout_choice const& c, double share, int round) {
                                  return search_one(c.problem, o, share, round, {}, seen);
                                });
}

}  // namespace

void bind_search(nb::module_& m) {
  using ashlar::searched_layout;
  nb::class_<searched_layout>(m, "Searched", "What a search found on one placement.")
      .def_prop_ro("layout",
                   [](searched_layout const& s) { return std::string(name_of(s.choice.shape)); })
      .def_prop_ro("chunks", [](searched_layout const& s) { return s.choice.chunk_count; })
      .def_prop_ro(
          "recomputed_chunks",
          [](searched_layout const& s) {
            bool const others = s.choice.recomputed_chunks == ashlar::layout_choice::other_stages;
            return others ? std::nullopt : std::optional(s.choice.recomputed_chunks);
          },
          "The first of each device; None if other stages recompute.")
      .def_prop_ro("recomputed_stages",
                   [](searched_layout const& s) { return recomputed_stages(s.choice.problem); })
      .def_prop_ro("sequence_chunks",
                   [](searched_layout const& s) { return s.choice.problem.sequence_chunks; })
      .def_prop_ro("schedule", [](searched_layout const& s) { return s.result.best; })
      .def_prop_ro(
          "reached", [](searched_layout const& s) { return s.in_ticks(s.result.reached); },
          "Ticks, of what the search aimed at.")
      .def_prop_ro(
          "bound", [](searched_layout const& s) { return s.in_ticks(s.least()); },
          "No schedule on this placement within the memory takes fewer.")
      .def_prop_ro("gap", &searched_layout::gap, "By which share of the bound it takes more.")
      .def_prop_ro("is_optimal", &searched_layout::is_optimal, "On this placement.")
      .def_prop_ro("overhead", [](searched_layout const& s) { return s.overhead(); })
      .def_prop_ro("evaluations", [](searched_layout const& s) { return s.result.evaluations; })
      .def("__repr__", [](searched_layout const& s) {
        return "<Searched: " + std::string(name_of(s.choice.shape)) + ", "
               + rounded(s.in_ticks(s.result.reached)) + " ticks, no less than "
               + rounded(s.in_ticks(s.least())) + ">";
      });
  m.def("search_placement", &search_placement, "placement"_a, "micro_batches"_a,
        "costs"_a = ashlar::costs{}, nb::kw_only(), "limit"_a = nb::none(), "memory"_a = nb::none(),
        "sequence_chunks"_a = nb::none(), "budget"_a = 10'000, "seed"_a = 1, "aim"_a = "span",
        "starts"_a = std::vector<schedule>{}, "progress"_a = nb::none());
  m.def("search_layouts", &search_shapes, "devices"_a, "micro_batches"_a, "costs"_a = ashlar::costs{},
        nb::kw_only(), "memory_percent"_a = 100, "kept_percent"_a = 100,
        "sequence_chunks"_a = nb::none(), "causal"_a = nb::none(), "budget"_a = 10'000, "seed"_a = 1,
        "aim"_a = "span", "progress"_a = nb::none());
}

}  // namespace python
