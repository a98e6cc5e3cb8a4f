// Calls public functions with values of which some are anything: each answers or throws a violation that
// has words, reads nothing that is not there, and comes to an end. For property tests and fuzzers; a
// file here is a group.
#pragma once

#include "extreme_values.hpp"
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/catalog/entries.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <limits>

namespace doors {

using namespace extreme_fields;

// Any other exception, and a violation without words, ends the program.
template <class Call>
void knock(Call call) {
  try {
    call();
  } catch (violation const& v) {
    if (v.why.ok() || explain(v.why).empty()) std::abort();
  }
}

inline void demand(bool holds) {
  if (!holds) std::abort();
}

inline double extreme_real(dice& d, double old) {
  double const inf = std::numeric_limits<double>::infinity();
  double const near[] = {0, -0.0, -1, 1e-300, 1e300, inf, -inf, std::nan(""), 1e18, 1, old / 2, 2 * old};
  return near[d.between(0, 11)];
}

// A count of no more than `most`, or one that there is no memory for.
inline int some_count(dice& d, int most) {
  int const n = d.percent(80) ? d.between(1, most) : extreme(d, most);
  return n > most && n < most_stages ? most : n;
}

inline catalog::entry const& some_entry(dice& d) {
  for (;;) {
    std::size_t const i = static_cast<std::size_t>(d.between(0, 255)) % std::size(catalog::entries);
    catalog::entry const& e = catalog::entries[i];
    if (e.check({devices{2}, micro_batches{4}}).ok()) return e;
    return *catalog::find("1f1b");
  }
}

// A valid schedule stays valid, and no shorter than its bound.
inline void demand_valid(schedule const& s) {
  demand(check(s).ok());
  if (auto const least = schedule_bound(s)) demand(span(s) >= least->span);
}

}  // namespace doors
