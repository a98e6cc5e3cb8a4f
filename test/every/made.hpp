// Types of which all values are made by one function, so that no field of theirs may be anything; and
// first values of rooms that have passed a check.
#pragma once

#include "every/values.hpp"
#include <ashlar/interop/csv_tokens.hpp>
#include <ashlar/interop/durations.hpp>
#include <ashlar/interop/pytorch_csv.hpp>
#include <ashlar/optimize/justification.hpp>
#include <ashlar/record/matched_record.hpp>
#include <ashlar/search/portfolio.hpp>
#include <ashlar/search/problem.hpp>

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
