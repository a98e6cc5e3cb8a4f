// One variant for each of several things, within a limit on their total memory.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/plan/parts/variants.hpp>

#include <cstddef>
#include <limits>
#include <vector>

namespace ashlar {

// The result of choose(). Time and penalties are ticks.
struct choice {
  std::vector<int> of;     // the variant of each thing; empty if none fit
  variant what = {};       // the sum of all variants
  tick at_least = 0;       // no choice within the limit costs less
  byte_count missing = 0;  // bytes by which the smallest variants together pass the limit

  bool is_optimal() const { return what.cost() == at_least; }

  friend constexpr bool operator==(choice const&, choice const&) = default;
};

// Finds the cheapest choice within a total memory: the multiple-choice knapsack, solved exactly unless
// it is very large. Pareto-optimal partial choices of memory and cost are completed thing by thing. A
// partial choice is dropped if the bound that charges `price` per byte (Lagrange) shows that it cannot
// beat a known choice; the price is the one at which the cheapest variants just fit. Beyond
// `most_labels` partial choices of the first i things, those with the lowest bounds are kept, and the
// dropped ones count in `at_least`. So n things of v variants take O(n v most_labels log most_labels) at
// most. For kernels with a pooled workspace this is the integer programme of μ-cuDNN, section III.C,
// without a solver.
class chooser {
 public:
  // Refers to the variants. `limit`: bytes of all chosen together.
  chooser(std::vector<std::vector<variant>> const& things, byte_count limit)
      : things_(things), limit_(limit), taken_(things.size(), 0) {}

  choice run();

 private:
  static constexpr std::size_t most_labels = std::size_t{1} << 16;

  // A choice of the first things.
  struct label {
    byte_count memory = 0;
    tick cost = 0;
    int before = -1, taken = -1;
    double bound = 0;  // lower limit on the cost of any completion
  };

  variant const& at(std::size_t thing, int which) const { return nth(things_[thing], which); }
  static double priced(variant const& v, double byte, double ticks) {
    return static_cast<double>(v.memory) * byte + static_cast<double>(v.cost()) * ticks;
  }
  // The variant of least memory * byte + cost * ticks; ties go to less memory, then less cost.
  int cheapest_at(std::size_t thing, double byte, double ticks) const;
  byte_count take_at(double byte, double ticks);

  // Finds the lowest price at which the chosen variants fit, by halving; 0 if free memory fits.
  void find_price();

  // Spends the remaining memory, one thing after the other. The search must beat this choice.
  void fill_up();

  // Returns the best choice found; lowers at_least_ by the dropped ones.
  std::vector<int> complete();
  void leave_out(dynamic_array<label>& front);

  std::vector<std::vector<variant>> const& things_;
  byte_count limit_;
  std::vector<int> taken_;
  double price_ = 0;
  byte_count used_ = 0;
  double at_least_ = std::numeric_limits<double>::infinity();
};

// Throws violation: rule::counts_are_positive for a thing without variants; rule::sizes_fit and
// rule::ticks_fit for memory and times that are negative or out of range, and for such a limit.
choice choose(std::vector<std::vector<variant>> const& things, byte_count limit);

}  // namespace ashlar
