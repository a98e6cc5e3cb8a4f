// Requests cut into chunks of equal time.
#pragma once

#include <ashlar/core/function_ref.hpp>
#include <ashlar/core/ticks.hpp>

#include <vector>

namespace ashlar {

// The time of a forward over the tokens first .. end - 1 of a request, which read those before them.
using time_of_tokens = function_ref<tick(int first, int end)>;

// A forward over `tokens` tokens takes `whole` ticks, of which `percent` are causal attention: a token
// attends to itself and all before it.
struct causal_request {
  int tokens = 1;
  tick whole = 0;
  int percent = 0;

  // Rounded to whole ticks, so that the parts of a request add up to it.
  tick operator()(int first, int end) const { return until(end) - until(first); }

 private:
  tick until(int end) const {
    double const share = static_cast<double>(end) / tokens, attention = percent / 100.0;
    return static_cast<tick>(
        static_cast<double>(whole) * ((1 - attention) * share + attention * share * share) + 0.5);
  }
};

// The ends of at most `count` chunks whose longest is as short as it can be, each but the last a
// multiple of `granule` tokens. A longer chunk must take no less time than one that it contains. The
// answer has as few chunks as that longest one allows. Throws violation{rule::counts_are_positive}
// unless all three numbers are. O(count log(tokens) log(longest)).
std::vector<int> cut_into_chunks(int tokens, int count, int granule, time_of_tokens time);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/search/cut_requests.ipp>
#endif
