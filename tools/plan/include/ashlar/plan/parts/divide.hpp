// Divides a kernel's micro-batch into parts, so that it needs less workspace or a faster algorithm fits.
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

// The sizes that a part may have (the policies of μ-cuDNN, section III).
enum class part_sizes : unsigned char {
  undivided,      // all samples at once
  powers_of_two,  // powers of two, or all at once
  all,
};

// Whether a part may have `samples` samples out of a micro-batch of `of`.
bool may_be_a_part(part_sizes sizes, int samples, int of);

// Parts run one after the other in the same workspace: times add up, the memory is the largest part's.
struct division {
  variant what = {};
  std::vector<int> parts;  // indices of options, those of the most memory first

  friend constexpr bool operator==(division const&, division const&) = default;
};

inline constexpr int most_divided = 1 << 24;  // samples

// The Pareto-optimal divisions of n samples in workspace and cost, least workspace first. Empty if no
// parts add up to n within the limit.
//
// Options are added one at a time, by workspace, to a table of the least cost of every number of
// samples. Whenever the cost of n falls, the options so far give a point of the front. (Oyama, Ben-Nun,
// Hoefler, Matsuoka: Accelerating Deep Learning Frameworks with Micro-batches, 2018, section III, whose
// recurrence T(n) = min(t(n), min t(b) + T(n - b)) is the same for a single limit.) O(options * n), and
// the parts of each point. Throws violation: rule::counts_are_positive for n < 1,
// rule::parameter_is_at_most for more than most_divided, rule::no_duration_is_negative for negative
// times, workspaces or penalties.
std::vector<division> divide(int n, std::vector<division_option> const& options,
                             part_sizes sizes = part_sizes::all, byte_count limit = max_tick);

}  // namespace ashlar
