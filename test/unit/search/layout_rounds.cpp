// Comparisons of layouts whose ticks differ, and the rounds in which they share a budget, with searches
// that are a table of numbers.
#include "random.hpp"
#include "random_cases.hpp"
#include "recorded_rows.hpp"
#include <ashlar/search/layouts.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace {

using namespace random_case;
using recorded_rows::put;

__extension__ using whole_product = __int128;

// A layout that is as long as this many of its ticks, with this bound.
searched_layout layout_of(tick unit, tick reached, tick least) {
  searched_layout made;
  made.choice.unit = unit;
  made.result.reached = reached;
  made.result.least = {.span = least, .makespan = 2 * least};
  return made;
}

// A number from 1 to 40, or one near the largest.
tick any_time(dice& d) {
  return d.percent(80) ? d.between(1, 40) : max_tick / d.between(1, 9) - d.between(0, 3);
}

bool is_less(searched_layout const& a, tick x, searched_layout const& b, tick y) {
  return whole_product{x} * b.choice.unit < whole_product{y} * a.choice.unit;
}

TEST_CASE("rounds of layouts: the best and the lowest bound, compared as fractions") {
  FOR_SEEDS(random_cases(2000)) {
    std::vector<searched_layout> all;
    for (int i = d.between(1, 5); i > 0; --i) {
      tick const reached = any_time(d);
      all.push_back(layout_of(d.percent(80) ? d.between(1, 12) : d.between(1, 1'000'000), reached,
                              reached / d.between(1, 3)));
    }
    std::size_t best = 0, lowest = 0;
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (is_less(all[i], all[i].result.reached, all[best], all[best].result.reached)) best = i;
      if (is_less(all[i], all[i].least(), all[lowest], all[lowest].least())) lowest = i;
    }
    CAPTURE(seed);
    proved_layouts const found = proved_of(all);
    CHECK(best_of(all) == best);
    CHECK(found.best == best);
    CHECK(found.is_optimal
          == !is_less(all[lowest], all[lowest].least(), all[best], all[best].result.reached));
    auto const exact =
        whole_product{all[lowest].least()} * all[best].choice.unit / all[lowest].choice.unit;
    if (exact < max_tick) CHECK(found.least == static_cast<tick>(exact));
    double const least = all[lowest].in_ticks(all[lowest].least()),
                 gap = all[best].in_ticks(all[best].result.reached) / least - 1;
    if (!found.is_optimal && least > 0) CHECK(found.gap == doctest::Approx(gap));
    if (found.is_optimal) CHECK(found.gap == 0);
  }
}

TEST_CASE("rounds of layouts: shares make a whole, each keeps its best, and as before") {
  recorded_rows::table rows;
  FOR_SEEDS(random_cases(300)) {
    std::vector<layout_choice> choices(static_cast<std::size_t>(d.between(1, 9)));
    int number = 0;
    for (layout_choice& c : choices) {
      c.unit = d.between(1, 3);
      c.memory_unit = number++;
    }
    auto const aim = static_cast<objective>(d.between(0, 2));
    bool const has_bounds = d.percent(50);
    double whole = 0, largest = 0;
    std::vector<tick> least(choices.size(), max_tick);
    std::vector<std::int64_t> calls(choices.size(), 0);
    recorded_rows::tag order;
    auto const search_one = [&](layout_choice const& c, double share, int round) {
      whole += share;
      largest = share;
      auto const which = static_cast<std::size_t>(c.memory_unit);
      tick const reached = d.between(60, 99) * c.unit;
      least[which] = std::min(least[which], reached);
      ++calls[which];
      order.add(which, round, static_cast<int>(share * 1e6));
      search_result r{.reached = reached, .passes = 7, .evaluations = 3};
      tick const bound = has_bounds ? d.between(40, 70) * c.unit : 1;
      r.least = {.span = bound, .makespan = bound + 5};
      return r;
    };
    std::vector<searched_layout> const found = search_layouts(choices, aim, search_one);
    CAPTURE(seed);
    REQUIRE(found.size() == choices.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i].choice.memory_unit == choices[i].memory_unit);
      CHECK(found[i].result.reached == least[i]);
      CHECK(found[i].result.passes == 7 * calls[i]);
      CHECK(found[i].result.evaluations == 3 * calls[i]);
    }
    if (!has_bounds) {
      CHECK(whole == doctest::Approx(1));
      CHECK(largest == doctest::Approx(choices.size() == 1 ? 1 : 0.5));
    }
    recorded_rows::row made;
    put(made, whole, order.sum());
    rows.push_back(made);
  }
  recorded_rows::must_be_as_before("search/rounds_as_before.txt", rows);
}

}  // namespace
