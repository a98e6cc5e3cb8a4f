// Types of which all values are made by one function, so that no field of theirs may be anything; and
// first values of rooms that have passed a check.
#pragma once

#include "every/values.hpp"
#include <ashlar/conformance/random_work.hpp>
#include <ashlar/fill/fill.hpp>
#include <ashlar/interop/csv_tokens.hpp>
#include <ashlar/interop/durations.hpp>
#include <ashlar/interop/pytorch_csv.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/optimize/justification.hpp>
#include <ashlar/plan/graphs/operators.hpp>
#include <ashlar/plan/serving/serving.hpp>
#include <ashlar/record/matched_record.hpp>
#include <ashlar/search/layouts.hpp>
#include <ashlar/search/portfolio.hpp>
#include <ashlar/search/problem.hpp>
#include <ashlar/study/compare.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace every {

template <>
inline constexpr bool is_made<json_text> = true;

template <>
inline constexpr bool is_made<csv_tokens> = true;
template <>
inline csv_tokens start<csv_tokens>(dice& d) {
  csv_problems problems(1);
  schedule const s = catalog::find("1f1b")->make({devices{2}, micro_batches{d.between(1, 4)}});
  return read_csv_tokens(pytorch_csv(s), {}, problems);
}

// A search takes as long as its budget says.
template <>
inline constexpr bool is_made<search_budget> = true;
template <>
inline search_budget start<search_budget>(dice& d) {
  return {.passes = d.between(-1, 2000), .seed = static_cast<std::uint64_t>(d.between(0, 9))};
}

template <>
inline constexpr bool is_made<duration> = true;
template <>
inline duration start<duration>(dice& d) {
  char const* const texts[] = {"0", "1.5ms", "12us", "9999999999999s", "0.000001", "3"};
  return read_duration("it", texts[d.between(0, 5)], 0);
}

template <>
inline filling start<filling>(dice& d) {
  return fill_steps(start<schedule>(d), work_graph{});
}
template <>
inline comparison start<comparison>(dice& d) {
  return compare(start<catalog::entry>(d), {.p = devices{2}, .m = micro_batches{4}});
}

template <>
inline operator_model start<operator_model>(dice& d) {
  int const count = d.between(1, 4);
  operator_cost const each{
      .launch = 1, .forward = 2, .backward_input = 2, .backward_weight = 2, .weights = 5, .kept = 3};
  return {chain(stages{count}), std::vector<operator_cost>(static_cast<std::size_t>(count), each)};
}
template <>
inline serving_problem start<serving_problem>(dice& d) {
  std::vector<layer_variant> const widths{{.times = {2, 2}, .memory = 4, .penalty = 1},
                                          {.times = {3, 3}, .memory = 8, .penalty = 0}};
  auto const devices = static_cast<std::size_t>(d.between(1, 3));
  return {.variants = {devices, {static_cast<std::size_t>(d.between(3, 6)), widths}},
          .limit = std::vector<byte_count>(devices, d.between(0, 20)),
          .shape = {}};
}

// Views of what there is.
template <>
struct argument<work_view> {
  static constexpr bool known = true;
  work_graph of;
  work_view value;
  explicit argument(dice& d)
      : of(conformance::with_random_work(start<schedule>(d),
                                         static_cast<std::uint64_t>(d.between(0, 99)), 3)
               .work),
        value(of.view()) {}
};

// Groups are views of what a placement gives.
template <>
struct argument<group_view> {
  static constexpr bool known = true;
  parameter_groups of;
  group_view value;
  explicit argument(dice& d) : of(extreme_fields::other_placement(d, start<placement>(d))) {
    extreme_fields::change_groups(d, of, start<placement>(d));
    value = of.view();
  }
};

template <>
inline search_problem start<search_problem>(dice& d) {
  placement const where = start<placement>(d);
  return {.where = where, .m = micro_batches{4}, .cost = {}, .limit = chunk_activations(8)};
}
template <>
inline layout_choice start<layout_choice>(dice& d) {
  layout_choice made{};
  made.problem = start<search_problem>(d);
  return made;
}
template <>
inline searched_layout start<searched_layout>(dice& d) {
  return {.choice = start<layout_choice>(d), .result = {}};
}

// Records whose operations are of groups that there are, and what refers to them.
template <>
inline std::vector<rank_record> make<std::vector<rank_record>>(dice& d) {
  std::vector<rank_record> made(static_cast<std::size_t>(d.between(0, 3)));
  for (rank_record& r : made) {
    change(d, r);
    change(d, r);
    std::erase_if(r.operations, [&](recorded_operation const& one) {
      return one.group < 0 || static_cast<std::size_t>(one.group) >= r.groups.size();
    });
  }
  return made;
}
template <>
struct argument<matched_record> {
  static constexpr bool known = true;
  std::vector<rank_record> ranks;
  matched_record value;
  explicit argument(dice& d) : ranks(make<std::vector<rank_record>>(d)), value(matched(ranks)) {}
};

}  // namespace every
