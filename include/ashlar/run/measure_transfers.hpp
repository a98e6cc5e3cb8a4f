// Programs and a worker that measure a backend's transfers and sums.
#pragma once

#include <ashlar/catalog/one_f_one_b.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/run/frame.hpp>
#include <ashlar/run/instruction_time.hpp>
#include <ashlar/run/measured_costs.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace ashlar::measure {

// Messages or sums of this many bytes, each in a step of its own.
struct probe {
  std::size_t bytes = 0;
  int repeats = 0;
};

// Passes that do nothing, on messages and gradients of some size.
struct idle_worker {
  std::size_t bytes;

  // The worker's verbs, which compute nothing.
  value_layout layout(value_key) const { return {bytes, 64, element_type::f64}; }
  void forward(auto&, frame const&) const {}
  void backward(auto&, frame const&) const {}
};

// A message to the other device, and one back.
inline program round_trip() {
  return catalog::one_f_one_b(devices{2}) | repeat(micro_batches{1}) | squeeze() | lower();
}

// A sum over data-parallel ranks of one device.
inline program sum_over(int ranks) {
  return catalog::one_f_one_b(devices{1}) | repeat(micro_batches{1}) | squeeze()
         | lower({.data_ranks = ranks});
}

// Throws violation{rule::tables_agree} unless there are times of the instructions of `ranks` ranks, from
// `first` on.
inline void must_be_timed(program_view const& p, std::vector<instruction_time> const& times,
                          std::size_t first, std::size_t ranks = 1) {
  std::size_t const own = p.instructions.size(), left = first > times.size() ? 0 : times.size() - first;
  if (own != 0 && left / own < ranks)
    refuse(wrong_size(table::timed_instructions, times.size(), static_cast<std::int64_t>(own)));
}

// Time of one way: from the end of the first device's forward to the begin of its backward, halved.
// `times` are that device's. Throws violation{rule::tables_agree} for fewer than it has instructions.
inline double one_way_ns(program_view const& p, std::vector<instruction_time> const& times) {
  if (int const own = stream_end(p, 0); times.size() < static_cast<std::size_t>(own))
    refuse(wrong_size(table::timed_instructions, times.size(), own));
  double begin = 0, end = 0;
  for (int i = stream_begin(p, 0); i < stream_end(p, 0); ++i) {
    auto const at = static_cast<std::size_t>(i);
    if (p.instructions[at].code != opcode::compute) continue;
    bool const forward = p.instructions[at].what.kind == pass_kind::forward;
    if (forward) begin = static_cast<double>(times[at].end);
    if (!forward) end = static_cast<double>(times[at].begin);
  }
  return (end - begin) / 2;
}

// Time of the sum for one rank, whose times begin at `first`. It includes the wait for later ranks.
// Throws as must_be_timed() does.
inline double sum_ns(program_view const& p, std::vector<instruction_time> const& times,
                     std::size_t first) {
  must_be_timed(p, times, first);
  double longest = 0;
  for (std::size_t i = 0; i < p.instructions.size(); ++i)
    if (p.instructions[i].code == opcode::all_reduce)
      longest = static_cast<double>(times[first + i].end - times[first + i].begin);
  return longest;
}

// Time of the sum for the last rank to arrive, which waits for no other. `times` are those of all ranks.
// Throws as must_be_timed() does, and rule::counts_are_positive for no rank.
inline double sum_of_last_ns(program_view const& p, std::vector<instruction_time> const& times,
                             int ranks) {
  if (ranks < 1) refuse({.broken = rule::counts_are_positive, .number = ranks});
  must_be_timed(p, times, 0, static_cast<std::size_t>(ranks));
  double least = std::numeric_limits<double>::max();
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank)
    least = std::min(least, sum_ns(p, times, rank * p.instructions.size()));
  return least;
}

// Times of messages between two devices of this process. `options` make the runtime record its times.
template <template <class> class Runtime, class Options>
std::vector<double> transfers_ns(probe what, Options const& options) {
  std::vector<double> all;
  idle_worker w{what.bytes};
  Runtime<idle_worker> two(round_trip(), w, options);
  for (int i = 0; i < what.repeats; ++i) {
    two.run();
    all.push_back(one_way_ns(two.view(), two.times()));
  }
  return all;
}

// Times of sums over this many devices of this process; empty for a single one.
template <template <class> class Runtime, class Options>
std::vector<double> sums_ns(probe what, int ranks, Options const& options) {
  std::vector<double> all;
  if (ranks < 2) return all;
  idle_worker w{what.bytes};
  std::vector<idle_worker*> const alike(static_cast<std::size_t>(ranks), &w);
  Runtime<idle_worker> together(sum_over(ranks), alike, options);
  for (int i = 0; i < what.repeats; ++i) {
    together.run();
    all.push_back(sum_of_last_ns(together.view(), together.times(), ranks));
  }
  return all;
}

// Latency and bandwidth of a link, from short messages and long ones. A measurement takes `steps`
// latencies and moves its bytes `passes` times. measure(probe) returns times, none if nothing can be
// measured.
template <class Measure>
std::optional<measured_link> link_of(Measure measure, int repeats, double steps = 1, double passes = 1) {
  constexpr std::size_t small = 64, large = std::size_t{1} << 20;  // bytes
  std::vector<double> const few = measure(probe{small, repeats}), many = measure(probe{large, repeats});
  if (few.empty()) return std::nullopt;
  measured_time const latency = measured_time_of(few);
  double const longer = measured_time_of(many).median - latency.median;
  return measured_link{
      .latency = latency.scaled(1 / steps),
      .bytes_per_second = longer > 0 ? 1e9 * static_cast<double>(large - small) * passes / longer : 0.0};
}

// The link of sums over this many ranks: each goes round a ring twice, a part of it at a time.
template <class Measure>
std::optional<measured_link> ring_of(Measure measure, int repeats, int ranks) {
  double const steps = 2 * (static_cast<double>(ranks) - 1);
  return link_of(measure, repeats, steps, steps / ranks);
}

}  // namespace ashlar::measure
