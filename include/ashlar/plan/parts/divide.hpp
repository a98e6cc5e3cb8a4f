// A kernel's micro-batch in parts, so that it needs less workspace or a faster algorithm fits.
#pragma once

#include <ashlar/plan/parts/variants.hpp>

#include <vector>

namespace ashlar {

// An algorithm of the kernel on this many samples at once.
struct division_option {
  int samples = 1;
  variant what = {};

  friend constexpr bool operator==(division_option const&, division_option const&) = default;
};

// Which sizes a part may have (the policies of μ-cuDNN, section III).
enum class part_sizes : unsigned char {
  undivided,      // all samples at once
  powers_of_two,  // those, or all at once
  all,
};

// Whether one of `of` parts of a micro-batch of this many samples may be so large.
bool may_be_a_part(part_sizes sizes, int samples, int of);

// Parts run one after the other in the same workspace: times add, the memory is that of the largest.
struct division {
  variant what = {};
  std::vector<int> parts;  // indices of options, those of the most memory first

  friend constexpr bool operator==(division const&, division const&) = default;
};

inline constexpr int most_divided = 1 << 24;  // samples

// The divisions of n samples into parts such that no other takes neither more workspace nor more cost,
// the one with least workspace first. Empty if no parts add up to n within the limit.
//
// An option at a time, in the order of workspace, is added to the table of the least cost of every
// number of samples; whenever that of n falls, the options so far give a point of the front. (Oyama,
// Ben-Nun, Hoefler, Matsuoka: Accelerating Deep Learning Frameworks with Micro-batches, 2018, section
// III, whose recurrence T(n) = min(t(n), min t(b) + T(n - b)) is the same for a single limit.)
// O(options * n), and the parts of each point. Throws violation: rule::counts_are_positive for n < 1,
// rule::parameter_is_at_most for more than most_divided, rule::no_duration_is_negative for negative
// times, workspaces or penalties.
std::vector<division> divide(int n, std::vector<division_option> const& options,
                             part_sizes sizes = part_sizes::all, byte_count limit = max_tick);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/plan/parts/divide.ipp>
#endif
