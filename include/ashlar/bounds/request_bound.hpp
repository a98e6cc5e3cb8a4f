// Times that no schedule of requests is below.
#pragma once

#include <ashlar/core/cost.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/requests.hpp>

#include <vector>

namespace ashlar {

// The values of all objectives that no schedule of the requests is below.
struct request_bounds {
  tick makespan = 0, mean = 0, percentile_99 = 0;

  // The one for this objective.
  constexpr tick of(request_objective aim) const {
    if (aim == request_objective::makespan) return makespan;
    return aim == request_objective::mean ? mean : percentile_99;
  }

  friend constexpr bool operator==(request_bounds const&, request_bounds const&) = default;
};

// Bounds for requests on the first route of a placement. A request has a *head* on a device, the time
// before its first pass there, and a *tail* after its last one.
//
// * Makespan: each device alone, if it may interrupt passes (Jackson's rule).
// * Percentile: the same with latencies in the place of ends, if all requests count. Else, of all that
//   arrive in some time, those that are left without the longest ones.
// * Mean: a device that always goes on with the request that has least left has at any time completed as
//   many as any other order (Schrage, A Proof of the Optimality of the Shortest Remaining Processing
//   Time Discipline, 1968). So the k-th end is at least the k-th of each device, for each run of its
//   stages. Nor is it before the k-th request could end if it were alone.
//
// Throws violation: check(requests, where), check(costs). O(n log n) for each device and run of stages
// on it, with n chunks; O(r^2 log r) for the percentile of r requests, 100 or more.
request_bounds request_bound(placement const& where, request_list const& asked, costs const& cost);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/bounds/request_bound.ipp>
#endif
