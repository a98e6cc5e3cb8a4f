// Requests whose passes are forwards alone, as prefill, scoring and log-probabilities have them.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/model/placement.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// A request, cut into sequence chunks that go through every stage in order, because later ones read the
// keys and values of earlier ones.
struct request {
  int chunks = 1;
  tick arrival = 0;  // none of its passes starts before

  friend constexpr bool operator==(request const&, request const&) = default;
};

// Requests in any order. A chunk is a micro-batch; the chunks of a request follow each other, request
// after request.
using request_list = std::vector<request>;

// The chunks of all. Linear.
constexpr int micro_batch_count(request_list const& all) {
  int sum = 0;
  for (request const& r : all) sum += r.chunks;
  return sum;
}

// The first micro-batch of each request, and the end.
constexpr std::vector<int> first_chunks(request_list const& all) {
  std::vector<int> first{0};
  for (request const& r : all) first.push_back(first.back() + r.chunks);
  return first;
}

// Broken rules: rule::counts_are_positive for no request or one without chunks, or no stage,
// rule::ticks_fit for an arrival out of range, rule::parameter_is_at_most for more passes on `where`
// than there is memory for.
constexpr diagnosis check(request_list const& all, placement const& where) {
  if (all.empty() || where.stage_count() < 1) return {.broken = rule::counts_are_positive};
  std::int64_t count = 0;
  for (request const& r : all) {
    if (r.chunks < 1) return {.broken = rule::counts_are_positive, .number = r.chunks};
    if (r.arrival < 0 || r.arrival >= max_tick) return {.broken = rule::ticks_fit, .number = r.arrival};
    count += r.chunks;
  }
  return at_most(parameter::micro_batch_count, count, most_passes / max_of(1, where.stage_count()));
}

// The number that a schedule of requests is to make small. A request's latency is the time from its
// arrival to the end of its last chunk on the last stage.
enum class request_objective : unsigned char {
  makespan,       // the last end
  mean,           // the sum of the latencies, which is least where their mean is
  percentile_99,  // the least latency that 99 % of the requests do not exceed
};

// How many of `count` requests a percentile of 99 asks for.
constexpr std::size_t in_percentile_99(std::size_t count) { return (99 * count + 99) / 100; }

// The value of an objective. `ends`: of each request.
constexpr tick value_of(request_objective aim, request_list const& all, std::vector<tick> ends) {
  tick sum = 0, last = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    last = max_of(last, ends[i]);
    ends[i] -= all[i].arrival;
    sum = saturating_sum(sum, ends[i]);
  }
  if (aim == request_objective::makespan) return last;
  if (aim == request_objective::mean) return sum;
  merge_sort(ends, [](tick a, tick b) { return a < b; });
  return ends[in_percentile_99(ends.size()) - 1];
}

}  // namespace ashlar
