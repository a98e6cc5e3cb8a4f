// Parts that all files of the extension share.
#pragma once

#include <ashlar/block/check.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/part_costs.hpp>
#include <ashlar/core/sequence_costs.hpp>
#include <ashlar/interop/input_limits.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/optimize/budget.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/schedule/check.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace python {

namespace nb = nanobind;
namespace limits = ashlar::input_limits;
using namespace nb::literals;

// A violation of a value that can say more about it than the diagnosis alone.
struct refused {
  ashlar::diagnosis why;
  std::string text;
};

// Takes a block or a schedule. Throws refused.
template <class Value>
void must_hold(Value const& v) {
  if (ashlar::diagnosis const d = ashlar::check(v); !d.ok()) throw refused{d, ashlar::explain(d, v)};
}

// The meaning of one of a few words. Throws ValueError, which names them all.
template <class Meaning>
Meaning meaning_of(char const* parameter, std::string_view word,
                   std::initializer_list<std::pair<char const*, Meaning>> words) {
  std::string all;
  for (auto const& [known, meaning] : words) {
    if (word == known) return meaning;
    all += (all.empty() ? "'" : ", '") + std::string(known) + "'";
  }
  throw nb::value_error((std::string(parameter) + " must be one of " + all).c_str());
}

// The kind of a pass, as in JSON: with underscores.
inline std::string kind_of(ashlar::pass what) {
  std::string name = ashlar::name_of(what.kind);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

// Throws ValueError for what is out of range: nobody waits for what is larger.
inline int within(char const* parameter, long long given, long long least, long long most) {
  if (given >= least && given <= most) return static_cast<int>(given);
  throw nb::value_error((std::string(parameter) + " must be from " + std::to_string(least) + " to "
                         + std::to_string(most) + ", not " + std::to_string(given))
                            .c_str());
}
inline ashlar::devices device_count(long long given) {
  return ashlar::devices{within("devices", given, 1, limits::devices)};
}
inline ashlar::micro_batches micro_batch_count(long long given) {
  return ashlar::micro_batches{within("micro_batches", given, 1, limits::micro_batches)};
}

// Percentages of a forward and of an input pass, or one for both.
using causal_percent = std::variant<int, std::pair<int, int>>;

// Throws ValueError for what is no percentage.
inline ashlar::causal_share causal_share_of(causal_percent const& given) {
  auto const percent = [](int number) { return within("causal", number, 0, 100); };
  if (int const* const both = std::get_if<int>(&given)) return {percent(*both), percent(*both)};
  auto const& [forward, backward_input] = std::get<1>(given);
  return {percent(forward), percent(backward_input)};
}

// The share of chunks of which `cost` has the mean. Throws ValueError if it has the costs of each.
inline ashlar::causal_share causal_share_of(std::optional<causal_percent> const& given,
                                            ashlar::costs const& cost) {
  if (!given) return {};
  if (cost.passes.sequence_chunks() > 1)
    throw nb::value_error("causal has no effect on costs that are given for each chunk");
  return causal_share_of(*given);
}

// The ticks of a stage, or its ticks for each micro-batch: one for all stages, or one each.
using given_memory = std::vector<std::variant<ashlar::stage_memory, std::vector<ashlar::stage_memory>>>;

// Throws ValueError for stages of which only some tell micro-batches apart, or of different numbers.
ashlar::memory_model memory_of(given_memory const& given);

// The objective of that name.
inline ashlar::objective aim_of(std::string_view word) {
  return meaning_of<ashlar::objective>("aim", word,
                                       {{"span", ashlar::objective::span},
                                        {"makespan", ashlar::objective::makespan},
                                        {"program", ashlar::objective::program}});
}

// The limit of each device: as many chunk activations, or of `memory` in its units, the same for all or
// one each.
using limit_words = std::variant<std::int64_t, std::vector<std::int64_t>>;
inline std::vector<std::int64_t> budgets_of(limit_words const& given) {
  if (auto const* const each = std::get_if<std::int64_t>(&given)) return {*each};
  return std::get<std::vector<std::int64_t>>(given);
}

// For arguments that no constructor takes: a TypeError that says which is wrong, and what it should be.
template <class Class>
void refuse_others(Class& bound) {
  bound.def(
      "__init__",
      [](nb::handle self, nb::args const& given, nb::kwargs const& named) {
        nb::object const said = nb::module_::import_("ashlar_pp.signatures")
                                    .attr("problem_of_new")(self.type(), given, named);
        throw nb::type_error(nb::cast<std::string>(said).c_str());
      },
      nb::sig("def __init__(self, *args: typing.NoReturn) -> None"));
}

void bind_parts(nb::module_& m);
void bind_costs(nb::module_& m);
void bind_placements(nb::module_& m);
void bind_schedules(nb::module_& m);
void bind_algebra(nb::module_& m);
void bind_own(nb::module_& m);
void bind_reading(nb::module_& m);
void bind_catalog(nb::module_& m);
void bind_offload(nb::module_& m);
void bind_residency(nb::module_& m);
void bind_programs(nb::module_& m);
void bind_search(nb::module_& m);
void bind_micro_batches(nb::module_& m);

}  // namespace python
