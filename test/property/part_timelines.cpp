// Parts of passes on two resources a device: what must hold of the times, and a graph of all parts.
#include "catalog_cases.hpp"
#include "random.hpp"
#include "random_cases.hpp"
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/simulate/part_timeline.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

using namespace random_case;

namespace {

std::vector<pass_part> random_part_list(dice& d, bool exchanges, bool is_backward) {
  std::vector<pass_part> all;
  for (int i = d.between(d.percent(10) ? 0 : 1, 6); i > 0; --i)
    all.push_back({exchanges && d.percent(45) ? part_resource::exchange : part_resource::compute,
                   d.percent(10) ? 0 : d.between(1, 9), is_backward && d.percent(40)});
  return all;
}

part_costs random_part_costs(dice& d, int stage_count, bool exchanges) {
  part_costs c{.how = static_cast<braiding>(d.between(0, 2))};
  for (int i = d.percent(40) ? 1 : stage_count; i > 0; --i)
    c.stages.push_back({random_part_list(d, exchanges, false), random_part_list(d, exchanges, true)});
  return c;
}

schedule under(schedule s, part_costs const& c) {
  costs cost = s.cost;
  cost.passes = costs_of(c);
  return retime(std::move(s), cost);
}

// Computes when parts start and passes end if each waits for all that it must, as the longest paths of a
// graph whose nodes are parts, and begins and ends of passes. Written apart from what it judges. There
// may be several shortest braids; which one counts is read off the times.
class graph_of_parts {
 public:
  graph_of_parts(schedule const& s, part_costs const& c, part_timeline const& judged)
      : s_(s), c_(c), judged_(judged) {
    for (int d = 0; d < s.device_count(); ++d) add_device(static_cast<std::size_t>(d));
    for (auto const& each : passes_) {
      pass const& what = each.first;
      for_each_input(s.graph, what, [&](result r, int stage, int k) {
        auto const found = by_result_.find({k, stage, r});
        if (found == by_result_.end()) return;
        int const from = s.device_of({what.kind, stage, what.micro_batch});
        add_edge(passes_.at(found->second).second, each.second.first,
                 s.cost.transfer(from, s.device_of(what)));
      });
    }
    relax();
  }

  tick end_of(pass const& what) const { return at_[passes_.at(what).second]; }
  tick start_of(std::size_t device, std::size_t part) const { return at_[parts_.at(device).at(part)]; }
  std::size_t part_count(std::size_t device) const { return parts_.at(device).size(); }

 private:
  struct order_of_passes {
    bool operator()(pass const& a, pass const& b) const {
      return std::tuple(a.kind, a.stage, a.micro_batch) < std::tuple(b.kind, b.stage, b.micro_batch);
    }
  };

  std::size_t node() {
    edges_.emplace_back();
    return edges_.size() - 1;
  }
  void add_edge(std::size_t from, std::size_t to, tick length) { edges_[from].push_back({to, length}); }

  std::vector<pass_part> list_of(pass const& what) const {
    stage_parts const& s =
        c_.stages.size() == 1 ? c_.stages[0] : c_.stages.at(static_cast<std::size_t>(what.stage));
    if (what.kind == pass_kind::forward || what.kind == pass_kind::recompute) return s.forward;
    std::vector<pass_part> all;
    for (pass_part const& part : s.backward)
      if (what.kind == pass_kind::backward
          || part.of_weights == (what.kind == pass_kind::backward_weight))
        all.push_back(part);
    return all;
  }

  // A part of one of the passes of a slot, by its number in the pass.
  struct turn {
    bool second;
    std::size_t number;
  };

  // The backward's run, the forward's run, and so on.
  static std::vector<turn> turns_of(std::vector<pass_part> const& ahead,
                                    std::vector<pass_part> const& back) {
    auto const runs_of = [](std::vector<pass_part> const& all, bool second) {
      std::vector<std::vector<turn>> runs;
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (i == 0 || all[i].on != all[i - 1].on || (all[i].of_weights && all[i - 1].of_weights))
          runs.emplace_back();
        runs.back().push_back({second, i});
      }
      return runs;
    };
    auto const a = runs_of(ahead, false), b = runs_of(back, true);
    std::vector<turn> all;
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i)
      for (auto const* runs : {&b, &a})
        if (i < runs->size()) all.insert(all.end(), (*runs)[i].begin(), (*runs)[i].end());
    return all;
  }

  void add_device(std::size_t d) {
    std::array<std::size_t, 2> free{node(), node()};  // the end of what a resource has run last
    std::size_t number = 0;
    std::vector<std::size_t>& parts = parts_.emplace_back();
    std::vector<timed_part> const& seen = judged_.devices.at(d).parts;
    for (time_slot const& t : s_.order[d]) {
      std::array<std::vector<pass_part>, 2> lists{list_of(t.what), {}};
      if (t.is_pair()) lists[1] = list_of(t.beside);
      std::array<std::size_t, 2> begin{}, end{}, ready{};
      for (std::size_t i = 0; i < (t.is_pair() ? 2U : 1U); ++i) {
        pass const& what = i == 0 ? t.what : t.beside;
        begin[i] = ready[i] = node();
        end[i] = node();
        add_edge(begin[i], end[i], 0);
        passes_[what] = {begin[i], end[i]};
        if (result const r = result_of(what.kind); r != result::none)
          by_result_[{what.micro_batch, what.stage, r}] = what;
        if (std::all_of(lists[i].begin(), lists[i].end(),
                        [](pass_part const& p) { return p.duration == 0; })) {
          add_edge(free[0], begin[i], 0);
          free[0] = begin[i];
        }
      }
      std::vector<turn> turns;
      if (!t.is_pair()) {
        turns = turns_of(lists[0], {});
      } else if (c_.how != braiding::best) {
        turns = turns_of(lists[0], lists[1]);
      } else {
        for (timed_part const& p : seen)
          if (auto const own = static_cast<std::size_t>(p.of); own == number || own == number + 1)
            turns.push_back({own != number, static_cast<std::size_t>(p.number)});
      }
      for (turn const& each : turns) {
        std::size_t const i = each.second ? 1 : 0;
        pass_part const& part = lists[i].at(each.number);
        if (part.duration == 0) continue;
        std::size_t const start = node(), over = node();
        parts.push_back(start);
        add_edge(ready[i], start, 0);
        add_edge(free.at(static_cast<std::size_t>(part.on)), start, 0);
        add_edge(start, over, part.duration);
        add_edge(over, end[i], 0);
        free.at(static_cast<std::size_t>(part.on)) = over;
        if (c_.how != braiding::in_turn_delayed || !part.of_weights) ready[i] = over;
      }
      number += t.is_pair() ? 2 : 1;
    }
  }

  void relax() {
    std::vector<int> before(edges_.size(), 0);
    for (auto const& from : edges_)
      for (auto const& [to, length] : from) ++before[to];
    at_.assign(edges_.size(), 0);
    std::vector<std::size_t> ready;
    for (std::size_t n = 0; n < edges_.size(); ++n)
      if (before[n] == 0) ready.push_back(n);
    std::size_t done = 0;
    for (; done < ready.size(); ++done) {
      std::size_t const n = ready[done];
      for (auto const& [to, length] : edges_[n]) {
        at_[to] = std::max(at_[to], at_[n] + length);
        if (--before[to] == 0) ready.push_back(to);
      }
    }
    REQUIRE(done == edges_.size());
  }

  schedule const& s_;
  part_costs const& c_;
  part_timeline const& judged_;
  std::vector<std::vector<std::pair<std::size_t, tick>>> edges_;
  std::map<pass, std::pair<std::size_t, std::size_t>, order_of_passes> passes_;  // begin and end
  std::map<std::tuple<int, int, result>, pass> by_result_;
  std::vector<std::vector<std::size_t>> parts_;
  std::vector<tick> at_;
};

// Checks a schedule under costs_of(c).
void check_part_times(schedule const& s, part_costs const& c) {
  part_timeline const t = time_parts(s, c);
  graph_of_parts const graph(s, c, t);
  tick last = 0;
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    device_parts const& own = t.devices[d];
    std::array<tick, 2> free{0, 0}, busy{0, 0};
    REQUIRE(own.parts.size() == graph.part_count(d));
    for (std::size_t i = 0; i < own.parts.size(); ++i) {
      timed_part const& p = own.parts[i];
      auto const on = static_cast<std::size_t>(p.on);
      CHECK(p.start >= free.at(on));
      CHECK(p.start == graph.start_of(d, i));
      free.at(on) = p.end;
      busy.at(on) += p.end - p.start;
    }
    CHECK((busy[0] == own.computing && busy[1] == own.exchanging));
    CHECK(t.makespan >= std::max(own.computing, own.exchanging));
    REQUIRE(own.passes.size() == pass_count(s.order[d]));
    std::size_t i = 0;
    for (timed_pass const pass_of_today : each_pass(s.order[d])) {
      pass_of_parts const& p = own.passes[i++];
      CHECK(p.what == pass_of_today.what);
      CHECK(p.end == graph.end_of(p.what));
      // Passes end no later than where each is one time and waits for more.
      CHECK(p.end <= s.end_of(pass_of_today, static_cast<int>(d)));
      CHECK((p.start >= 0 && p.start <= p.end));
      last = std::max(last, p.end);
    }
  }
  CHECK(t.makespan == last);
  CHECK(t.makespan <= makespan(s));
}

// Pairs whose parts are read off the times have one of the shortest braids.
void check_braids(schedule const& s, part_costs const& c) {
  part_timeline const t = time_parts(s, c);
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    int number = 0;
    for (time_slot const& slot : s.order[d]) {
      if (slot.is_pair()) {
        std::array<tick, 2> free{0, 0}, far{0, 0};
        for (timed_part const& p : t.devices[d].parts) {
          if (p.of != number && p.of != number + 1) continue;
          tick& ready = far.at(static_cast<std::size_t>(p.of - number));
          tick& resource = free.at(static_cast<std::size_t>(p.on));
          ready = resource = std::max(ready, resource) + p.end - p.start;
        }
        stage_parts const
            &ahead = c.stages[c.stages.size() == 1 ? 0 : static_cast<std::size_t>(slot.what.stage)],
            &back = c.stages[c.stages.size() == 1 ? 0 : static_cast<std::size_t>(slot.beside.stage)];
        CHECK(std::max(far[0], far[1])
              == best_braid(parts_of(ahead, pass_kind::forward), parts_of(back, slot.beside.kind)));
      }
      number += slot.is_pair() ? 2 : 1;
    }
  }
}

schedule apart(schedule s) {
  for (auto& order : s.order) order = without_pairs(order);
  return s;
}

TEST_CASE("parts of the catalog's schedules, with and without pairs") {
  dice d(7);
  int pairs = 0, shorter = 0, hidden = 0;
  for (catalog_case const& each : catalog_cases({2, 4}, {4, 12}, costs(stage_cost{}, 1))) {
    CAPTURE(each);
    schedule const published = each.schedule();
    for (int round = 0; round < 3; ++round) {
      part_costs c = random_part_costs(d, published.stage_count(), true);
      schedule const s = under(published, c);
      check_part_times(s, c);
      bool const has_pairs = s != apart(s);
      pairs += has_pairs;
      shorter += time_parts(s, c).makespan < makespan(s);
      if (!has_pairs) continue;
      check_part_times(under(apart(s), c), c);
      c.how = braiding::best;
      check_braids(s, c);
      hidden += time_parts(s, c).makespan < time_parts(apart(s), c).makespan;
    }
  }
  CHECK(pairs > 20);
  CHECK(shorter > 100);
  CHECK(hidden > 10);
}

TEST_CASE("parts of random schedules") {
  FOR_SEEDS(400) {
    CAPTURE(seed);
    block const b = random_block(d);
    INFO(words(b));
    schedule s = repeat(b, random_count(d, b, 3));
    s.cost.on.speeds.clear();
    part_costs const c = random_part_costs(d, s.stage_count(), d.percent(80));
    check_part_times(under(s, c), c);
  }
}

// Passes run one after another, as they do where they are one time, and as their program runs.
TEST_CASE("parts of which none exchanges") {
  auto const check_equal = [](schedule const& s, part_costs const& c) {
    part_timeline const t = time_parts(s, c);
    CHECK(t.makespan == makespan(s));
    for (std::size_t device = 0; device < s.order.size(); ++device)
      for (std::size_t i = 0; i < s.order[device].size(); ++i)
        CHECK(t.devices[device].passes[i].end == s.end_of(s.order[device][i], static_cast<int>(device)));
    simulation_options o;
    o.cost = s.cost;
    o.latency_holds_lane = false;
    CHECK(simulate(lower(s), o).makespan() == t.makespan);
  };
  dice of_catalog(11);
  for (catalog_case const& each : catalog_cases({2, 4}, {4, 12}, costs(stage_cost{}, 1))) {
    CAPTURE(each);
    schedule const published = each.schedule();
    part_costs const c = random_part_costs(of_catalog, published.stage_count(), false);
    check_equal(under(apart(published), c), c);
    schedule const s = under(published, c);
    CHECK(time_parts(s, c).makespan <= makespan(s));
  }
  FOR_SEEDS(200) {
    CAPTURE(seed);
    block const b = random_block(d);
    INFO(words(b));
    schedule s = repeat(b, random_count(d, b, 2));
    s.cost.on.speeds.clear();
    part_costs const c = random_part_costs(d, s.stage_count(), false);
    check_equal(under(s, c), c);
  }
}

}  // namespace
