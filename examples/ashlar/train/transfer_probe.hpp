// Programs and a worker that measure what a backend's transfers and sums take.
#pragma once

#include "train/train_team.hpp"
#include <ashlar/catalog/one_f_one_b.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/run/frame.hpp>
#include <ashlar/run/instruction_time.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace tool {

// Passes that do nothing, on messages and gradients of some size.
struct probe_worker {
  std::size_t bytes;

  ashlar::value_layout layout(ashlar::value_key) const { return {bytes, 64, ashlar::element_type::f64}; }
  void forward(auto&, ashlar::frame const&) const {}
  void backward(auto&, ashlar::frame const&) const {}
};

// A message to the other device, and one back.
inline ashlar::program round_trip() {
  return ashlar::catalog::one_f_one_b(ashlar::devices{2}) | ashlar::repeat(ashlar::micro_batches{1})
         | ashlar::squeeze() | ashlar::lower();
}

// A sum over data-parallel ranks of one device.
inline ashlar::program sum_over(int ranks) {
  return ashlar::catalog::one_f_one_b(ashlar::devices{1}) | ashlar::repeat(ashlar::micro_batches{1})
         | ashlar::squeeze() | ashlar::lower({.data_ranks = ranks});
}

// Of one way: from the end of the first device's forward to the begin of its backward, halved.
// `times` are that device's.
inline double one_way_ns(ashlar::program_view const& p,
                         std::vector<ashlar::instruction_time> const& times) {
  double begin = 0, end = 0;
  for (int i = p.stream_begin[0]; i < p.stream_begin[1]; ++i) {
    auto const at = static_cast<std::size_t>(i);
    if (p.instructions[at].code != ashlar::opcode::compute) continue;
    bool const forward = p.instructions[at].what.kind == ashlar::pass_kind::forward;
    if (forward) begin = static_cast<double>(times[at].end);
    if (!forward) end = static_cast<double>(times[at].begin);
  }
  return (end - begin) / 2;
}

// Of the sum, for one rank, whose times begin at `first`: it includes the wait for those that come
// later.
inline double sum_ns(ashlar::program_view const& p, std::vector<ashlar::instruction_time> const& times,
                     std::size_t first) {
  double longest = 0;
  for (std::size_t i = 0; i < p.instructions.size(); ++i)
    if (p.instructions[i].code == ashlar::opcode::all_reduce)
      longest = static_cast<double>(times[first + i].end - times[first + i].begin);
  return longest;
}

// The same of the rank that came last, for which nobody waited; `times` are those of all ranks.
inline double sum_of_last_ns(ashlar::program_view const& p,
                             std::vector<ashlar::instruction_time> const& times, int ranks) {
  double least = std::numeric_limits<double>::max();
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank)
    least = std::min(least, sum_ns(p, times, rank * p.instructions.size()));
  return least;
}

// Messages between two devices of this process, each in a step of its own.
template <template <class> class Runtime, class Options>
std::vector<double> transfers_ns(probe what, Options const& options) {
  std::vector<double> all;
  probe_worker w{what.bytes};
  Runtime<probe_worker> two(round_trip(), w, options);
  for (int i = 0; i < what.repeats; ++i) {
    two.run();
    all.push_back(one_way_ns(two.view(), two.times()));
  }
  return all;
}

// Sums over so many devices of this process; none: there is but one.
template <template <class> class Runtime, class Options>
std::vector<double> sums_ns(probe what, int ranks, Options const& options) {
  std::vector<double> all;
  if (ranks < 2) return all;
  probe_worker w{what.bytes};
  std::vector<probe_worker*> const alike(static_cast<std::size_t>(ranks), &w);
  Runtime<probe_worker> together(sum_over(ranks), alike, options);
  for (int i = 0; i < what.repeats; ++i) {
    together.run();
    all.push_back(sum_of_last_ns(together.view(), together.times(), ranks));
  }
  return all;
}

}  // namespace tool
