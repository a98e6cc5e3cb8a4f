// Definitions of profiled_costs.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/run/profiled_costs.hpp>
#include <ashlar/run/rank_clocks.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace ashlar {

namespace profile_detail {

// A pass, the rank where it ran, and the time when the pass before it on that rank was done.
struct placed_pass {
  profiled_pass const* it = nullptr;
  int rank = 0;  // in the list of ranks
  std::int64_t ready = 0;
};

// The input that a pass needs of another stage, with the pass that gave it.
struct arrival {
  placed_pass from = {}, to = {};

  double delay(std::vector<double> const& ahead) const {
    return static_cast<double>(to.it->start - from.it->end) - ahead[static_cast<std::size_t>(to.rank)]
           + ahead[static_cast<std::size_t>(from.rank)];
  }
  // Whether the receiver was idle before it came.
  bool awaited(std::vector<double> const& ahead) const {
    return static_cast<double>(to.ready) - ahead[static_cast<std::size_t>(to.rank)]
           < static_cast<double>(from.it->end) - ahead[static_cast<std::size_t>(from.rank)];
  }
};

// Inputs between ranks, of whole steps.
ASHLAR_INLINE std::vector<arrival> arrivals(std::vector<profiled_rank> const& ranks) {
  using key = std::tuple<int, int, int, bool>;  // step, stage, micro-batch, whether a gradient
  std::map<key, placed_pass> senders;
  std::vector<std::pair<key, placed_pass>> receivers;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    // Input passes without kernels, as on the first stage, pass the wait for their gradients on to the
    // weight passes.
    std::vector<key> passed_on;
    for (profiled_pass const& p : ranks[r].passes) {
      std::int64_t const ready = ranks[r].on_gpu ? last : std::max(last, p.begin);
      placed_pass const here{&p, static_cast<int>(r), ready};
      last = p.end;
      bool const gradient = p.what.kind != pass_kind::forward;
      key const wanted{p.step, p.what.stage + (gradient ? 1 : -1), p.what.micro_batch, gradient};
      if (p.what.kind == pass_kind::backward_weight && std::erase(passed_on, wanted) > 0)
        receivers.push_back({wanted, here});
      if (gradient && !gives_input_gradient(p.what.kind)) continue;
      senders[{p.step, p.what.stage, p.what.micro_batch, gradient}] = here;
      if (ranks[r].on_gpu && p.start == p.end)
        passed_on.push_back(wanted);
      else
        receivers.push_back({wanted, here});
    }
  }
  std::vector<arrival> all;
  for (auto const& [wanted, receiver] : receivers)
    if (auto const sender = senders.find(wanted);
        sender != senders.end() && sender->second.rank != receiver.rank)
      all.push_back({sender->second, receiver});
  return all;
}

ASHLAR_INLINE rank_clocks clocks_by(std::vector<arrival> const& all,
                                    std::vector<profiled_rank> const& ranks) {
  std::map<std::string, int> hosts;
  std::vector<int> shared;
  for (profiled_rank const& one : ranks) {
    int const next = static_cast<int>(shared.size());
    shared.push_back(one.host.empty() ? next : hosts.try_emplace(one.host, next).first->second);
  }
  std::vector<clocked_message> messages;
  for (arrival const& a : all)
    messages.push_back({a.from.rank, a.to.rank, a.delay(std::vector<double>(ranks.size(), 0.0))});
  return clocks_of(static_cast<int>(ranks.size()), messages, shared);
}

ASHLAR_INLINE std::string in_us(double ns) {
  std::string text = std::to_string(std::llround(ns / 100));
  if (text.size() < 2) text.insert(0, "0");
  return text.insert(text.size() - 1, ".") + " us";
}

// Lists numbers as "1, 2 and 5".
ASHLAR_INLINE std::string listed(std::vector<int> const& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    text += (i == 0 ? "" : i + 1 < numbers.size() ? ", " : " and ") + std::to_string(numbers[i]);
  return text;
}

ASHLAR_INLINE std::string of_stages(std::vector<int> const& stages) {
  return (stages.size() == 1 ? "stage " : "stages ") + listed(stages);
}

// The times of a stage's passes, by kind.
using stage_samples = std::array<std::vector<double>, pass_kinds>;

class costs_maker {
 public:
  explicit costs_maker(std::vector<profiled_rank> const& ranks) {
    for (profiled_rank const& one : ranks)
      for (profiled_pass const& p : one.passes) {
        auto const stage = static_cast<std::size_t>(p.what.stage);
        if (samples_.size() <= stage) samples_.resize(stage + 1);
        samples_[stage][static_cast<std::size_t>(p.what.kind)].push_back(
            static_cast<double>(p.end - p.start));
      }
  }

  profiled_costs make() {
    profiled_costs all;
    std::vector<int> halved, never;
    for (std::size_t s = 0; s < samples_.size(); ++s) {
      using enum pass_kind;
      measured_time const fused = time(s, backward);
      std::array<measured_time, 4> stage{time(s, forward), time(s, backward_input),
                                         time(s, backward_weight), time(s, recompute)};
      if (stage[1].samples + stage[2].samples == 0 && fused.samples > 0) {
        bool const no_input = s == 0;
        stage[1] = fused.scaled(no_input ? 0 : 0.5);
        stage[2] = fused.scaled(no_input ? 1 : 0.5);
        if (!no_input) halved.push_back(static_cast<int>(s));
      } else if (fused.samples > 0) {
        compare(s, fused.median, stage[1].median + stage[2].median);
      }
      if (stage[0].samples + stage[1].samples + stage[2].samples == 0)
        never.push_back(static_cast<int>(s));
      all.measured.stages.push_back(stage);
    }
    fill(all.measured.stages, never);
    if (!never.empty())
      warn("no pass of " + of_stages(never) + " was seen: they count as the mean of the other stages");
    if (!halved.empty())
      warn("the backwards of " + of_stages(halved)
           + " are fused: their input and weight passes count as one half each");
    tell_spread();
    all.warnings = std::move(warnings_);
    return all;
  }

  void warn(std::string sentence) { warnings_.push_back(std::move(sentence)); }

 private:
  measured_time time(std::size_t stage, pass_kind kind) const {
    return measured_time_of(samples_[stage][static_cast<std::size_t>(kind)]);
  }
  void compare(std::size_t stage, double fused, double halves) {
    if (std::abs(fused - halves) > 0.2 * halves)
      warn("stage " + std::to_string(stage) + " has fused backwards, which take " + in_us(fused)
           + ", and input and weight passes, which take " + in_us(halves)
           + " together: the costs are those of the passes");
  }
  static void fill(std::vector<std::array<measured_time, 4>>& stages, std::vector<int> const& never) {
    double const seen = static_cast<double>(stages.size() - never.size());
    std::array<measured_time, 4> mean{};
    for (auto const& stage : stages)
      for (std::size_t kind = 0; kind < 3; ++kind)
        if (stage[0].samples + stage[1].samples + stage[2].samples > 0) {
          mean[kind].median += stage[kind].median / seen;
          mean[kind].low += stage[kind].low / seen;
          mean[kind].high += stage[kind].high / seen;
          mean[kind].samples += stage[kind].samples;
        }
    for (int const s : never) stages[static_cast<std::size_t>(s)] = mean;
  }
  void tell_spread() {
    int wide = 0, all = 0;
    double most = 0;
    std::string where;
    for (std::size_t s = 0; s < samples_.size(); ++s)
      for (std::size_t kind = 0; kind < samples_[s].size(); ++kind) {
        measured_time const t = time(s, static_cast<pass_kind>(kind));
        if (t.samples == 0 || t.median <= 0) continue;
        all++;
        double const spread = (t.high - t.low) / t.median;
        wide += spread > 0.2;
        if (spread <= most) continue;
        most = spread;
        where = std::to_string(s) + letter_of(static_cast<pass_kind>(kind)) + ": " + in_us(t.median)
                + ", quartiles " + in_us(t.low) + " and " + in_us(t.high);
      }
    if (wide > 0)
      warn("the times of " + std::to_string(wide) + " of " + std::to_string(all)
           + " kinds of passes lie apart, their quartiles by more than a fifth; most those of " + where);
  }

  std::vector<stage_samples> samples_ = {};
  std::vector<std::string> warnings_ = {};
};

}  // namespace profile_detail

ASHLAR_INLINE profiled_costs costs_of(std::vector<profiled_rank> ranks) {
  using namespace profile_detail;
  leave_out_waits(ranks);
  costs_maker maker(ranks);
  if (std::any_of(ranks.begin(), ranks.end(), [](profiled_rank const& one) { return !one.knows_waits; }))
    maker.warn(
        "operators and kernels were not recorded on some ranks: there, passes include the wait for "
        "their input");
  ranks = one_of_each(ranks);
  bool const whole = whole_steps(ranks) > 0;
  if (!whole)
    maker.warn(
        "the profile begins or ends within a step: transfers were not measured, as nobody knows "
        "which passes belong together");
  auto const between = whole ? arrivals(ranks) : std::vector<arrival>{};
  rank_clocks const clocks = clocks_by(between, ranks);
  if (clocks.guessed)
    maker.warn(
        "between some ranks messages go one way only: how their clocks differ was guessed, and "
        "transfers "
        "take longer than what was measured");
  if (clocks.least_delay < 0)
    maker.warn("for any setting of the clocks, a message came " + in_us(-clocks.least_delay)
               + " before it was sent: clocks drift, or annotations are not those of passes");
  std::vector<double> transfers;
  for (arrival const& a : between)
    if (a.awaited(clocks.ahead)) transfers.push_back(std::max(0.0, a.delay(clocks.ahead)));
  profiled_costs all = maker.make();
  if (!transfers.empty()) all.measured.inside = measured_link{.latency = measured_time_of(transfers)};
  all.clocks_ahead_ns = clocks.ahead;
  return all;
}

ASHLAR_INLINE std::vector<profiled_rank> typical_step(std::vector<profiled_rank> ranks) {
  using namespace profile_detail;
  leave_out_waits(ranks);
  ranks = one_of_each(ranks);
  int const steps = whole_steps(ranks);
  for (profiled_rank const& one : ranks)
    for (profiled_pass const& p : one.passes)
      if (p.step < 0 || p.step >= steps || min_of(p.begin, min_of(p.start, p.end)) <= -max_tick
          || max_of(p.begin, max_of(p.start, p.end)) >= max_tick)
        return {};
  if (steps == 0) return {};
  rank_clocks const clocks = clocks_by(arrivals(ranks), ranks);
  std::vector<std::pair<std::int64_t, std::int64_t>> spans(
      static_cast<std::size_t>(steps),
      {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()});
  for (std::size_t r = 0; r < ranks.size(); ++r)
    for (profiled_pass& p : ranks[r].passes) {
      auto const ahead = static_cast<std::int64_t>(std::llround(clocks.ahead[r]));
      p.begin -= ahead;
      p.start -= ahead;
      p.end -= ahead;
      auto& [from, to] = spans[static_cast<std::size_t>(p.step)];
      from = std::min(from, p.start);
      to = std::max(to, p.end);
    }
  std::vector<int> order;
  for (int step = 0; step < steps; ++step) order.push_back(step);
  merge_sort(order, [&](int a, int b) {
    auto const length = [&](int step) {
      return spans[static_cast<std::size_t>(step)].second - spans[static_cast<std::size_t>(step)].first;
    };
    return length(a) < length(b);
  });
  int const chosen = order[static_cast<std::size_t>(steps - 1) / 2];
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    std::vector<profiled_pass> kept;
    for (profiled_pass const& p : ranks[r].passes)
      if (p.step == chosen) {
        std::int64_t const first = spans[static_cast<std::size_t>(chosen)].first;
        kept.push_back({p.what, 0, p.begin - first, p.start - first, p.end - first});
      }
    ranks[r].rank = static_cast<int>(r);
    ranks[r].passes = std::move(kept);
  }
  return ranks;
}

}  // namespace ashlar
