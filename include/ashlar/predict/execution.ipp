// Definitions of execution.hpp.
#pragma once

#include <ashlar/catalog/entry.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/sequence_costs.hpp>
#include <ashlar/predict/exchanges.hpp>
#include <ashlar/predict/execution.hpp>
#include <ashlar/predict/stage_devices.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <cstddef>
#include <utility>

namespace ashlar::predict {

namespace execution_detail {

inline constexpr double most_ticks = 1e11;  // of a pass: those of all passes can be added

// Micro-batches that are executed; those of the second time differ by a multiple of twice the stages, so
// that both end as the whole does.
struct sample {
  int many = 0, few = 0;  // few 0: `many` are all
};

inline sample sample_of(question const& q, bool is_whole) {
  int const all = micro_batches(q);
  bool const is_searched = q.published->is_searched;
  long long const period = 2LL * q.pipeline,
                  enough = is_searched ? 4LL * q.pipeline : max_of(16LL * q.pipeline, 64LL);
  if (is_whole || all < enough + period) return {all, 0};
  long long const many = all - (all - enough) / period * period;
  long long const apart = max_of(1LL, many / 2 / period) * period;
  return {static_cast<int>(many), static_cast<int>(many - apart)};
}

inline costs costs_of(question const& q, std::vector<stage_passes> const& passes, int chunks,
                      double one_tick, constants const& c) {
  std::vector<stage_cost> each;
  auto const ticks = [&](double seconds) {
    return max_of<tick>(1, static_cast<tick>(seconds / one_tick + 0.5));
  };
  for (stage_passes const& s : passes)
    for (int chunk = 0; chunk < chunks; ++chunk) {
      // Of chunk i, attention is 2 i + 1 of the squared number of chunks.
      double const share = 1.0 / chunks, more = (2.0 * chunk + 1) * share * share - share;
      each.push_back({.forward = ticks(s.forward.seconds() * share + s.forward.attention * more),
                      .backward_input = ticks(s.input_seconds() * share + s.backward.attention * more),
                      .backward_weight = ticks(s.weight_seconds() * share)});
    }
  bool const is_apart = q.pipeline > 1 && !(passes.front().forward.transfer > 0);
  double const transfer = is_apart ? transfer_seconds(q, c) / chunks : 0;
  if (!(transfer >= 0 && transfer / one_tick <= most_ticks))
    throw unpredictable(requirement::sizes_are_small_enough, q.batch, q.sequence);
  return {pass_costs::by_stage_and_sequence_chunk(std::move(each), chunks),
          static_cast<tick>(transfer / one_tick + 0.5)};
}

inline void must_train_alone(schedule const& s) {
  bool trains = s.mode == execution_mode::training && s.work.empty() && !s.graph.has_sizes();
  for (auto const& order : s.order)
    for (timed_pass const& t : order) trains = trains && t.what.kind != pass_kind::recompute;
  if (!trains) throw unpredictable(requirement::schedule_trains_alone, 0);
}

// So many of the first schedule, and so many times the difference of both on top.
template <class Measure>
double extended(execution const& e, Measure measure) {
  double const many = measure(e.timed[0]);
  return e.timed.size() == 1 ? many : many + e.further * (many - measure(e.timed[1]));
}

}  // namespace execution_detail

ASHLAR_INLINE double execution::seconds() const {
  return tick * execution_detail::extended(*this, [](schedule const& s) {
           return static_cast<double>(makespan(s));
         });
}

ASHLAR_INLINE std::vector<double> execution::micro_batches_on(int device) const {
  std::vector<double> counts;
  for (int stage = 0; stage < timed[0].stage_count(); ++stage) counts.push_back(0);
  for (std::size_t k = 0; k < timed.size(); ++k) {
    double const times = k > 0 ? -further : timed.size() > 1 ? 1 + further : 1;
    for (timed_pass const& t : timed[k].order[static_cast<std::size_t>(device)])
      if (t.what.kind == pass_kind::forward)
        counts[static_cast<std::size_t>(t.what.stage)] += times / timed[k].graph.sequence_chunks();
  }
  return counts;
}

ASHLAR_INLINE std::vector<double> execution::held(std::vector<double> const& kept_by_stage) const {
  memory_model memory;
  memory.stages.clear();
  for (double bytes : kept_by_stage)
    memory.stages.push_back(
        {.stash = static_cast<byte_count>(bytes / timed[0].graph.sequence_chunks() + 0.5)});
  std::vector<std::vector<byte_count>> peaks;
  for (schedule const& s : timed) peaks.push_back(peak_memory(s, memory));
  std::vector<double> all;
  for (std::size_t d = 0; d < peaks[0].size(); ++d) {
    double const many = static_cast<double>(peaks[0][d]);
    double const more = peaks.size() > 1 ? many - static_cast<double>(peaks[1][d]) : 0;
    all.push_back(many + further * more);
  }
  return all;
}

ASHLAR_INLINE execution execute(question const& q, std::vector<stage_passes> const& passes,
                                constants const& c, bool is_whole) {
  execution e;
  if (!q.is_executed()) return e;
  double longest = 0;
  for (stage_passes const& s : passes) {
    for (double seconds : {s.forward.seconds(), s.backward.seconds(), s.weight_seconds(),
                           s.forward.attention, s.backward.attention})
      if (!(seconds >= 0))  // also what is no number
        throw unpredictable(requirement::sizes_are_small_enough, q.batch, q.sequence);
    longest = max_of(longest, max_of(s.forward.seconds(), s.backward.seconds()));
  }
  if (!(longest > 0 && longest < 1e15))
    throw unpredictable(requirement::sizes_are_small_enough, q.batch, q.sequence);
  e.tick = 1e-9;
  while (longest / e.tick > execution_detail::most_ticks) e.tick *= 10;

  if (q.own_order != nullptr) {
    int const chunks = q.own_order->graph.sequence_chunks();
    execution_detail::must_train_alone(*q.own_order);
    if (q.own_order->micro_batch_count() != 1LL * micro_batches(q) * chunks)
      throw unpredictable(requirement::schedule_has_every_micro_batch,
                          q.own_order->micro_batch_count() / chunks, micro_batches(q));
    e.timed.push_back(retime(*q.own_order, execution_detail::costs_of(q, passes, chunks, e.tick, c)));
    return e;
  }
  bool const has_chunks = q.published->uses(parameter::sequence_chunk_count);
  auto const make = [&](int m) {
    int const chunks = has_chunks ? shape_of(q, m).sequence_chunks : 1;
    must_be_small(1.0 * m * chunks, static_cast<double>(passes.size()));
    e.timed.push_back(
        q.published->make(shape_of(q, m, execution_detail::costs_of(q, passes, chunks, e.tick, c))));
    schedule const& made = e.timed.back();
    execution_detail::must_train_alone(made);
    if (made.micro_batch_count() != 1LL * m * chunks)
      throw unpredictable(requirement::schedule_has_every_micro_batch, made.micro_batch_count(), m);
  };
  execution_detail::sample const sizes = execution_detail::sample_of(q, is_whole);
  make(sizes.many);
  if (sizes.few > 0) {
    make(sizes.few);
    e.further = (micro_batches(q) - sizes.many) / static_cast<double>(sizes.many - sizes.few);
  }
  return e;
}

}  // namespace ashlar::predict
