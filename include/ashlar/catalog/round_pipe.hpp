// RoundPipe: devices have no stages of their own. The model is cut into tasks, for forwards and for
// backwards apart, and these go around the devices; weights come from the host. Luo, Gao, Zheng, Lu and
// Shu: Efficient Training on Multiple Consumer GPUs with RoundPipe (2026, arXiv 2604.27085), and their
// code, github.com/ITcarrot/RoundPipe at e813c67.
#pragma once

#include <ashlar/catalog/shape.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/residency_rules.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar::catalog {

// How many consecutive layers each task has. Layers are stages.
struct round_pipe_cut {
  std::vector<int> forwards = {};  // from the first layer on
  // From the last layer on. The first of these tasks runs forwards and backwards of its layers; the
  // others recompute.
  std::vector<int> backwards = {};

  constexpr int task_count() const { return static_cast<int>(forwards.size() + backwards.size()); }
  // Each layer has one backward.
  constexpr int layer_count() const {
    int sum = 0;
    for (int const each : backwards) sum += each;
    return sum;
  }

  friend constexpr bool operator==(round_pipe_cut const&, round_pipe_cut const&) = default;
};

// Whether each layer has its forward in one task and its backward in one.
constexpr diagnosis check(round_pipe_cut const& cut) {
  int forwards = 0;
  for (auto const* list : {&cut.forwards, &cut.backwards})
    for (int const each : *list)
      if (each < 1) return {.broken = rule::counts_are_positive, .number = each};
  if (cut.backwards.empty()) return {.broken = rule::counts_are_positive};
  for (int const each : cut.forwards) forwards += each;
  int const needed = cut.layer_count() - cut.backwards[0];
  if (forwards != needed) return wrong_size(table::stages_of_route, forwards, needed);
  return {};
}

// The measures of a model's layers. Sizes may be left out.
struct round_pipe_layers {
  std::vector<tick> forwards, backwards;     // times, of backwards with the recompute
  std::vector<byte_count> weights = {};      // of a layer
  std::vector<byte_count> in_training = {};  // with its gradients
  byte_count limit = 0;                      // of a task's layers
};

namespace round_pipe_detail {

// Cuts layers, in the order of `at(0)`, `at(1)`, …, greedily into tasks.
template <class Layer>
constexpr std::vector<int> greedy(int count, tick most, std::vector<tick> const& times,
                                  std::vector<byte_count> const& sizes, byte_count limit, Layer at) {
  std::vector<int> cuts;
  tick time = 0;
  byte_count size = 0;
  for (int i = 0; i < count; ++i) {
    tick const more = nth(times, at(i));
    byte_count const bytes = sizes.empty() ? 0 : nth(sizes, at(i));
    if (cuts.empty() || time + more > most || (!sizes.empty() && size + bytes > limit)) {
      cuts.push_back(0);
      time = size = 0;
    }
    ++cuts.back();
    time += more;
    size += bytes;
  }
  return cuts;
}

constexpr round_pipe_cut cut_within(round_pipe_layers const& layers, tick most) {
  int const count = static_cast<int>(layers.backwards.size());
  auto const from_end = [&](int i) { return count - 1 - i; };
  // The task of the loss, from the end; it may have none, where the last layer alone takes too long.
  std::vector<int> const last =
      greedy(count, most, layers.backwards, layers.in_training, layers.limit, from_end);
  int const kept = count - last[0];
  round_pipe_cut cut;
  cut.forwards = greedy(kept, most, layers.forwards, layers.weights, layers.limit,
                        [&](int i) { return kept - 1 - i; });
  reverse(cut.forwards);
  cut.backwards =
      greedy(kept, most, layers.backwards, layers.in_training, layers.limit, [](int i) { return i; });
  cut.backwards.push_back(last[0]);
  reverse(cut.backwards);
  return cut;
}

}  // namespace round_pipe_detail

// The cut of their ModelExecutePlan.auto for training in one call: of all bounds on the time of a task
// between that of the longest layer and `percent` of it, the one with the least product of bound and
// tasks, of which `least_tasks` count at least. Within a bound, tasks are filled greedily: forwards and
// the task of the loss from the last layer down, backwards from the first layer up. Throws violation:
// rule::counts_are_positive without layers, rule::tables_agree for lists of other lengths,
// rule::memory_is_within_budget for a layer over the limit. O(layers^3).
constexpr round_pipe_cut plan_round_pipe(round_pipe_layers const& layers, int least_tasks,
                                         int percent = 110) {
  std::size_t const count = layers.backwards.size();
  if (count == 0) refuse({.broken = rule::counts_are_positive});
  if (layers.forwards.size() != count)
    refuse(wrong_size(table::stage_costs, layers.forwards.size(), static_cast<std::int64_t>(count)));
  for (auto const* sizes : {&layers.weights, &layers.in_training}) {
    if (!sizes->empty() && sizes->size() != count)
      refuse(wrong_size(table::stage_memory, sizes->size(), static_cast<std::int64_t>(count)));
    for (byte_count const size : *sizes)
      if (size > layers.limit) refuse({.broken = rule::memory_is_within_budget, .number = size});
  }
  tick longest = 0;
  for (std::size_t i = 0; i < count; ++i)
    longest = max_of(longest, max_of(layers.forwards[i], layers.backwards[i]));
  dynamic_array<tick> bounds;
  for (auto const* times : {&layers.forwards, &layers.backwards})
    for (std::size_t first = 0; first < count; ++first) {
      tick sum = 0;
      for (std::size_t i = first; i < count; ++i) {
        sum += (*times)[i];
        if (sum * 100 > longest * percent) break;
        if (sum >= longest) bounds.push_back(sum);
      }
    }
  merge_sort(bounds, [](tick a, tick b) { return a < b; });
  round_pipe_cut best;
  tick least = max_tick;
  for (tick const most : bounds) {
    round_pipe_cut cut = round_pipe_detail::cut_within(layers, most);
    tick const cost = most * max_of(cut.task_count(), least_tasks);
    if (cost >= least) continue;
    least = cost;
    best = std::move(cut);
  }
  return best;
}

namespace round_pipe_detail {

// The layers of a task: from the first on, and whether it has their forwards, their backwards.
struct task {
  int first = 0;
  int count = 0;
  bool forwards = false;
  bool backwards = false;
};

constexpr std::vector<task> tasks_of(round_pipe_cut const& cut) {
  std::vector<task> all;
  int next = 0;
  for (int const each : cut.forwards) {
    all.push_back({next, each, true, false});
    next += each;
  }
  next = cut.layer_count();
  for (int const each : cut.backwards) {
    next -= each;
    all.push_back({next, each, next + each == cut.layer_count(), true});
  }
  return all;
}

// Calls visit(device, task, round) for all tasks in the order in which they are dispatched.
template <class Visit>
constexpr void for_each_task(round_pipe_cut const& cut, int device_count, int rounds, Visit visit) {
  int next = 0;
  for (int round = 0; round < rounds; ++round)
    for (task const& t : tasks_of(cut)) visit(next++ % device_count, t, round);
}

}  // namespace round_pipe_detail

// The schedule of `rounds` rounds, each of m micro-batches: task after task goes to the next device,
// which runs it for all micro-batches of the round, the passes of one micro-batch after those of the one
// before. A layer's recompute stands before its backward. The stages of a round have their devices by a
// route. Squeezed. Throws violation with check(cut), rule::counts_are_positive, and as squeeze() does.
// Linear in passes.
constexpr schedule round_pipe(devices p, micro_batches m, round_pipe_cut const& cut, costs cost = {},
                              int rounds = 1) {
  must_be(check(cut));
  if (p.value < 1 || m.value < 1 || rounds < 1) refuse({.broken = rule::counts_are_positive});
  auto const layers = static_cast<std::size_t>(cut.layer_count());
  std::vector<std::vector<int>> forwards(static_cast<std::size_t>(rounds), std::vector<int>(layers)),
      backwards = forwards;
  std::vector<std::vector<pass>> orders(static_cast<std::size_t>(p.value));
  std::vector<int> route;
  for (int k = 0; k < rounds * m.value; ++k) route.push_back(k / m.value);
  round_pipe_detail::for_each_task(
      cut, p.value, rounds, [&](int device, round_pipe_detail::task const& t, int round) {
        for (int layer = t.first; layer < t.first + t.count; ++layer) {
          if (t.forwards) nth(nth(forwards, round), layer) = device;
          if (t.backwards) nth(nth(backwards, round), layer) = device;
        }
        for (int k = round * m.value; k < (round + 1) * m.value; ++k) {
          for (int i = 0; i < t.count && t.forwards; ++i)
            nth(orders, device).push_back({pass_kind::forward, t.first + i, k});
          for (int i = t.count; i-- > 0 && t.backwards;) {
            if (!t.forwards) nth(orders, device).push_back({pass_kind::recompute, t.first + i, k});
            nth(orders, device).push_back({pass_kind::backward, t.first + i, k});
          }
        }
      });
  return squeeze(schedule_from_orders(placement(p, forwards, backwards), std::move(route),
                                      std::move(cost), orders));
}

// The residency of its weights: a device has the layers of the task that it runs, from when the task
// before began there until their last pass.
constexpr residency round_pipe_residency(devices p, micro_batches m, round_pipe_cut const& cut,
                                         int rounds = 1) {
  must_be(check(cut));
  must_be(check_shape({.p = p, .m = m}));
  residency made;
  made.stays.resize(static_cast<std::size_t>(p.value));
  struct place {
    int before = 0, now = 0;  // the first passes of a device's last task, and of its next
  };
  std::vector<place> places(made.stays.size());
  round_pipe_detail::for_each_task(
      cut, p.value, rounds, [&](int device, round_pipe_detail::task const& t, int) {
        std::vector<weight_stay>& stays = nth(made.stays, device);
        place& at = nth(places, device);
        int const each = t.count * (t.backwards ? 2 : 1), end = at.now + each * m.value;
        for (int i = 0; i < t.count; ++i) {
          // A forward alone is the i-th from the front, a backward the i-th from the back.
          int const last = t.backwards ? end - 1 - (t.forwards ? i : 2 * i) : end - t.count + i;
          int fetch = at.before;
          for (weight_stay const& other : stays)
            if (other.stage == t.first + i) fetch = max_of(fetch, other.last + 1);
          stays.push_back({t.first + i, 0, fetch, last});
        }
        at = {at.now, end};
      });
  for (std::vector<weight_stay>& stays : made.stays) {
    merge_sort(stays, [](weight_stay const& a, weight_stay const& b) { return a.fetch < b.fetch; });
    residency_detail::assign_buffers(stays);
  }
  return made;
}

// The most layers that a task has. With that number of buffers of gradients, each is written back once
// in a round.
constexpr int most_layers(round_pipe_cut const& cut) {
  int most = 1;
  for (auto const* list : {&cut.forwards, &cut.backwards})
    for (int const each : *list) most = max_of(most, each);
  return most;
}

}  // namespace ashlar::catalog
