// Definitions of cut_requests.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/search/cut_requests.hpp>

#include <cstddef>

namespace ashlar {

namespace cut_requests_detail {

// The ends of chunks that each take as many granules as they may, of at most `most` ticks. Empty if a
// granule takes more, or there are more than `count`.
inline std::vector<int> filled(int tokens, int count, int granule, time_of_tokens time, tick most) {
  std::vector<int> ends;
  for (int first = 0; first < tokens;) {
    int const left = (tokens - first - 1) / granule + 1;  // granules
    int fits = 0, too_many = left + 1;
    while (too_many - fits > 1) {
      int const some = fits + (too_many - fits) / 2;
      int const end = some == left ? tokens : first + some * granule;
      (time(first, end) <= most ? fits : too_many) = some;
    }
    if (fits == 0 || ends.size() == static_cast<std::size_t>(count)) return {};
    first = fits == left ? tokens : first + fits * granule;
    ends.push_back(first);
  }
  return ends;
}

}  // namespace cut_requests_detail

ASHLAR_INLINE std::vector<int> cut_into_chunks(int tokens, int count, int granule, time_of_tokens time) {
  for (int const each : {tokens, count, granule})
    if (each < 1) refuse({.broken = rule::counts_are_positive, .number = each});
  tick fails = -1, fits = time(0, tokens);
  while (fits - fails > 1) {
    tick const most = fails + (fits - fails) / 2;
    (cut_requests_detail::filled(tokens, count, granule, time, most).empty() ? fails : fits) = most;
  }
  return cut_requests_detail::filled(tokens, count, granule, time, fits);
}

}  // namespace ashlar
