// The budget and the objective of a search.
#pragma once

#include <ashlar/core/ticks.hpp>

#include <cstdint>

namespace ashlar {

// The objective of a search: the span, with the makespan to break ties; the makespan, with the span to
// break ties; `both`: makespan + 3 span, of schedules whose passes start as soon as they can; `program`:
// the makespan, and for schedules near the best the simulated makespan of the lowered program.
enum class objective : unsigned char { span, makespan, both, program };

// The budget and the objective of a search.
struct search_budget {
  std::int64_t passes = 0;  // to dispatch in all; the same number gives the same result everywhere. A
                            // million take a tenth of a second
  std::uint64_t seed = 1;
  objective aim = objective::both;
  tick goal = 0;  // no better is possible: the search ends there

  friend constexpr bool operator==(search_budget const&, search_budget const&) = default;
};

}  // namespace ashlar
