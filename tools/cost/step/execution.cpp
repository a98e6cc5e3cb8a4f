#include <ashlar/catalog/depth_first.hpp>
#include <ashlar/catalog/entry.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/sequence_costs.hpp>
#include <ashlar/cost/question/rank_questions.hpp>
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/step/exchanges.hpp>
#include <ashlar/cost/step/execution.hpp>
#include <ashlar/cost/step/on_lanes.hpp>
#include <ashlar/cost/step/pairs.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <cstddef>
#include <utility>

namespace ashlar::cost {

namespace execution_detail {

inline constexpr double most_ticks = 1e11;  // of a pass, so that all passes can be added

// Micro-batches that are executed. The second run has fewer by a multiple of twice the stages, so that
// both end as the whole does.
struct sample {
  int many = 0, few = 0;  // few 0: `many` are all
};

inline sample sample_of(question const& q, bool is_whole) {
  int const all = q.micro_batches();
  bool const is_searched = q.layout.published()->is_searched;
  long long const period = 2LL * q.layout.pipeline,
                  enough =
                      is_searched ? 4LL * q.layout.pipeline : max_of(16LL * q.layout.pipeline, 64LL);
  if (is_whole || all < enough + period) return {all, 0};
  long long const many = all - (all - enough) / period * period;
  long long const apart = max_of(1LL, many / 2 / period) * period;
  return {static_cast<int>(many), static_cast<int>(many - apart)};
}

// A sample for virtual stages, of groups of as many micro-batches as devices. The last may be smaller.
inline constexpr int many_groups = 12, fewer_groups = 8;
inline sample sample_of_groups(question const& q) {
  int const all = q.micro_batches(), group = q.layout.pipeline;
  if (all <= static_cast<long long>(many_groups) * group) return {all, 0};
  int const missing = (group - all % group) % group;
  return {many_groups * group - missing, fewer_groups * group - missing};
}

// Seconds per tick, chosen so that the longest pass stays within most_ticks.
inline double tick_of(question const& q, std::vector<stage_passes> const& passes) {
  double longest = 0;
  for (stage_passes const& s : passes) {
    for (double seconds : {s.forward.seconds(), s.backward.seconds(), s.weight_seconds(),
                           s.forward.attention, s.backward.attention})
      if (seconds >= 0)
        longest = max_of(longest, seconds);
      else  // NaN, too
        throw unpredictable(requirement::sizes_are_small_enough, q.batch, q.sequence);
  }
  if (!(longest > 0 && longest < 1e15))
    throw unpredictable(requirement::sizes_are_small_enough, q.batch, q.sequence);
  double one_tick = 1e-9;
  while (longest / one_tick > most_ticks) one_tick *= 10;
  return one_tick;
}

inline pass_costs pass_costs_of(std::vector<stage_passes> const& passes, int chunks, double one_tick) {
  std::vector<stage_cost> each;
  auto const ticks = [&](double seconds) {
    return max_of<tick>(1, static_cast<tick>(seconds / one_tick + 0.5));
  };
  for (stage_passes const& s : passes)
    for (int chunk = 0; chunk < chunks; ++chunk) {
      // Chunk i has 2 i + 1 of the c^2 equal parts of attention, for c chunks.
      double const share = 1.0 / chunks, more = (2.0 * chunk + 1) * share * share - share;
      each.push_back({.forward = ticks(s.forward.seconds() * share + s.forward.attention * more),
                      .backward_input = ticks(s.input_seconds() * share + s.backward.attention * more),
                      .backward_weight = ticks(s.weight_seconds() * share)});
    }
  return pass_costs::by_stage_and_sequence_chunk(std::move(each), chunks);
}

// Seconds of the largest message over the slowest link of the pipeline.
inline double longest_transfer(question const& q, std::vector<stage> const& stages, constants const& c) {
  rank_questions on(q);
  double bytes = 0, longest = 0;
  for (stage const& s : stages)
    if (double const after = bytes_after(q, s); !(after <= bytes)) bytes = after;  // NaN, too
  for (int rank = 0; rank + 1 < q.layout.pipeline; ++rank) {
    double const seconds = transfer_seconds(on.between(rank, rank + 1), bytes, c);
    if (!(seconds <= longest)) longest = seconds;
    if (!q.cluster.has_several_kinds()) break;
  }
  return longest;
}

inline costs costs_of(question const& q, std::vector<stage> const& stages,
                      std::vector<stage_passes> const& passes, int chunks, double one_tick,
                      constants const& c) {
  bool const is_apart = q.layout.pipeline > 1 && !(passes.front().forward.transfer > 0);
  double const transfer = is_apart ? longest_transfer(q, stages, c) / chunks : 0;
  if (!(transfer >= 0 && transfer / one_tick <= most_ticks))
    throw unpredictable(requirement::sizes_are_small_enough, q.batch, q.sequence);
  costs made{pass_costs_of(passes, chunks, one_tick), static_cast<tick>(transfer / one_tick + 0.5)};
  if (chunks == 1) made.passes.overlapped = pairs_of(q, stages, passes, c, one_tick);
  return made;
}

inline void share_lanes(question const& q, schedule& s) {
  if (q.layout.has_lanes()) s = on_lanes(s, *q.layout.lanes);
}

inline void must_train_alone(schedule const& s) {
  bool trains = s.mode == execution_mode::training && s.work.empty() && !s.graph.has_sizes();
  for (auto const& order : s.order)
    for (timed_pass const t : each_pass(order)) trains = trains && t.what.kind != pass_kind::recompute;
  if (!trains) throw unpredictable(requirement::schedule_trains_alone);
}

// The measure of the first schedule, plus `further` times the difference of both.
template <class Measure>
double extended(execution const& e, Measure measure) {
  double const many = measure(e.timed[0]);
  return e.timed.size() == 1 ? many : many + e.further * (many - measure(e.timed[1]));
}

}  // namespace execution_detail

double execution::seconds() const {
  return tick * execution_detail::extended(*this, [](schedule const& s) {
           return static_cast<double>(makespan(s));
         });
}

double execution::hidden_on(int device) const {
  return tick * execution_detail::extended(*this, [device](schedule const& s) {
           double hidden = 0;
           for (time_slot const& t : s.order[static_cast<std::size_t>(device)])
             if (t.is_pair())
               hidden += static_cast<double>(s.cost.of(t.what, device) + s.cost.of(t.beside, device)
                                             - s.cost.of_pair(t.what, t.beside, device));
           return hidden;
         });
}

std::vector<double> execution::micro_batches_on(int device) const {
  std::vector<double> counts;
  for (int stage = 0; stage < timed[0].stage_count(); ++stage) counts.push_back(0);
  for (std::size_t k = 0; k < timed.size(); ++k) {
    double const times = k > 0 ? -further : timed.size() > 1 ? 1 + further : 1;
    for (timed_pass const t : each_pass(timed[k].order[static_cast<std::size_t>(device)]))
      if (t.what.kind == pass_kind::forward)
        counts[static_cast<std::size_t>(t.what.stage)] += times / timed[k].graph.sequence_chunks();
  }
  return counts;
}

std::vector<double> execution::held(std::vector<double> const& kept_by_stage) const {
  constexpr double most = 1e15;  // of a stash, so that all can be added
  double unit = 1;               // bytes
  for (double bytes : kept_by_stage)
    while (bytes / unit > most) unit *= 10;
  memory_model memory;
  memory.stages.clear();
  for (double bytes : kept_by_stage)
    memory.stages.push_back(
        {.stash = static_cast<byte_count>(bytes / unit / timed[0].graph.sequence_chunks() + 0.5)});
  std::vector<std::vector<byte_count>> peaks;
  for (schedule const& s : timed) peaks.push_back(peak_memory(s, memory));
  std::vector<double> all;
  for (std::size_t d = 0; d < peaks[0].size(); ++d) {
    double const many = static_cast<double>(peaks[0][d]);
    double const more = peaks.size() > 1 ? many - static_cast<double>(peaks[1][d]) : 0;
    all.push_back(unit * (many + further * more));
  }
  return all;
}

execution execute(question const& q, std::vector<stage> const& stages,
                  std::vector<stage_passes> const& passes, constants const& c, bool is_whole) {
  execution e;
  if (!q.layout.is_executed()) return e;
  e.tick = execution_detail::tick_of(q, passes);
  if (q.layout.own_order() != nullptr) {
    int const chunks = q.layout.own_order()->graph.sequence_chunks();
    execution_detail::must_train_alone(*q.layout.own_order());
    if (q.layout.own_order()->micro_batch_count() != 1LL * q.micro_batches() * chunks)
      throw unpredictable(requirement::schedule_has_every_micro_batch,
                          q.layout.own_order()->micro_batch_count() / chunks, q.micro_batches());
    e.timed.push_back(
        retime(*q.layout.own_order(), execution_detail::costs_of(q, stages, passes, chunks, e.tick, c)));
    execution_detail::share_lanes(q, e.timed.back());
    return e;
  }
  bool const has_chunks = q.layout.published()->uses(parameter::sequence_chunk_count);
  auto const make = [&](int m) {
    int const chunks = has_chunks ? shape_of(q.layout, m).sequence_chunks : 1;
    must_be_small(1.0 * m * chunks, static_cast<double>(passes.size()));
    e.timed.push_back(q.layout.published()->make(
        shape_of(q.layout, m, execution_detail::costs_of(q, stages, passes, chunks, e.tick, c))));
    schedule const& made = e.timed.back();
    execution_detail::must_train_alone(made);
    if (made.micro_batch_count() != 1LL * m * chunks)
      throw unpredictable(requirement::schedule_has_every_micro_batch, made.micro_batch_count(), m);
    execution_detail::share_lanes(q, e.timed.back());
  };
  execution_detail::sample const sizes = execution_detail::sample_of(q, is_whole);
  make(sizes.many);
  if (sizes.few > 0) {
    make(sizes.few);
    e.further = (q.micro_batches() - sizes.many) / static_cast<double>(sizes.many - sizes.few);
  }
  return e;
}

bool executes_all(question const& q) { return execution_detail::sample_of(q, false).few == 0; }

std::vector<double> most_hidden(question const& q, std::vector<stage> const& stages,
                                std::vector<stage_passes> const& passes,
                                std::vector<std::vector<int>> const& here, constants const& c) {
  double const one_tick = execution_detail::tick_of(q, passes);
  costs const cost = execution_detail::costs_of(q, stages, passes, 1, one_tick, c);
  std::vector<double> hidden(stages.size(), 0.0);
  if (!cost.passes.overlapped.are_given()) return hidden;
  for (std::vector<int> const& on_device : here)
    for (int ahead : on_device)
      for (int behind : on_device)
        for (pass_kind const kind : pair_costs::backwards) {
          pass const forward{pass_kind::forward, ahead, 0}, back{kind, behind, 0};
          tick const saved = cost.of(forward, 0) + cost.of(back, 0) - cost.of_pair(forward, back, 0);
          double& most = hidden[static_cast<std::size_t>(ahead)];
          most = max_of(most, one_tick * static_cast<double>(saved));
        }
  return hidden;
}

bool has_uneven_rounds(question const& q, std::vector<stage_passes> const& passes) {
  if (q.layout.chunks == 1 || q.layout.is_executed()) return false;
  std::vector<double> devices(static_cast<std::size_t>(q.layout.pipeline));
  double rounds = 0, longest = 0, busiest = 0;
  for (std::size_t s = 0; s < passes.size(); ++s) {
    double& device = devices[s % devices.size()];
    device += passes[s].seconds();
    busiest = max_of(busiest, device);
    longest = max_of(longest, passes[s].seconds());
    if (s % devices.size() + 1 < devices.size()) continue;
    rounds += longest;
    longest = 0;
  }
  constexpr double as_good_as_even = 1.01;
  return rounds > as_good_as_even * busiest;
}

double interleaved_seconds(question const& q, std::vector<stage_passes> const& passes) {
  double const one_tick = execution_detail::tick_of(q, passes);
  auto const last_end = [&](int m) {
    must_be_small(m, static_cast<double>(passes.size()));
    catalog::shape s = shape_of(q.layout, m);
    s.group = min_of(m, q.layout.pipeline);
    schedule const made = catalog::in_groups(catalog::depth_first(s.p, s.v, s.group), s, 2);
    return static_cast<double>(
        makespan(retime(made, {execution_detail::pass_costs_of(passes, 1, one_tick), 0})));
  };
  execution_detail::sample const sizes = execution_detail::sample_of_groups(q);
  double const many = last_end(sizes.many);
  if (sizes.few == 0) return one_tick * many;
  double const further = (q.micro_batches() - sizes.many) / static_cast<double>(sizes.many - sizes.few);
  return one_tick * (many + further * (many - last_end(sizes.few)));
}

double passes_of_interleaved(question const& q) {
  execution_detail::sample const sizes = execution_detail::sample_of_groups(q);
  return 2.0 * q.layout.pipeline * q.layout.chunks * (sizes.many + sizes.few);
}

}  // namespace ashlar::cost
