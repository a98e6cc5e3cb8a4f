// Definitions of schedule_slack.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/lists.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/model/dependencies.hpp>
#include <ashlar/model/pass_table.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/study/schedule_slack.hpp>

#include <cstddef>
#include <utility>

namespace ashlar::study_detail {

// Passes and pairs as nodes in an order that goes forward only, and their waits.
class delayed_paths {
 public:
  // Requires a squeezed schedule, and refers to it.
  explicit delayed_paths(schedule const& s)
      : s_(s), node_(s.stage_count(), s.micro_batch_count(), s.work.view(), nobody) {
    number_passes();
    add_links();
    add_arcs();
    sort();
  }

  std::vector<link_slack> slacks() {
    tick const whole = makespan(s_);
    add_floats(whole);
    for (std::size_t i = 0; i < links_.size(); ++i)
      links_[i].slack = slack_of(static_cast<int>(i), whole);
    return std::move(links_);
  }

 private:
  static constexpr int nobody = -1;

  struct arc {
    int from = 0;
    tick delay = 0;
    int link = nobody;
  };
  // The longest path to the end of a node, and of several that with most transfers of the link.
  struct path {
    tick length = 0;  // with the delay; may saturate
    tick count = 0;   // transfers of the link
    tick rest = 0;    // without the delay
    bool operator<(path const& other) const {
      return length != other.length ? length < other.length : count < other.count;
    }
  };

  void number_passes() {
    for (std::size_t d = 0; d < s_.order.size(); ++d)
      for (time_slot const& t : s_.order[d]) {
        for (pass const* what = &t.what; what != nullptr; what = t.after(what))
          node_.at(*what) = static_cast<int>(length_.size());
        length_.push_back(s_.end_of(t, static_cast<int>(d)) - t.start);
        device_.push_back(static_cast<int>(d));
      }
    what_ = lists<pass>(length_.size(), [&](auto add) {
      for (auto const& order : s_.order)
        for (timed_pass const t : each_pass(order)) add(node_.at(t.what), t.what);
    });
  }

  int link_between(int from, int to) const {
    std::size_t at = nth(first_link_, from);
    while (links_[at].to != to) ++at;
    return static_cast<int>(at);
  }

  template <class Visit>
  void for_each_transfer(pass const& what, Visit visit) {
    if (what.kind == pass_kind::work) return;
    int const route = nth(s_.route, what.micro_batch), here = s_.device_of(what);
    for_each_input(s_.graph, what, [&](ashlar::result r, int stage, int micro_batch) {
      if (int const from = node_.at(micro_batch, stage, r); from != nobody)
        visit(from, s_.where.device_of(route, stage, r), here);
    });
  }

  void add_links() {
    std::vector<std::vector<link_slack>> by_sender(s_.order.size());
    for (std::size_t x = 0; x < what_.size(); ++x)
      for (pass const& what : what_[x])
        for_each_transfer(what, [&](int, int from, int to) {
          if (from == to) return;
          std::vector<link_slack>& own = nth(by_sender, from);
          std::size_t at = 0;
          while (at < own.size() && own[at].to < to) ++at;
          if (at == own.size() || own[at].to != to)
            own.insert(own.begin() + static_cast<std::ptrdiff_t>(at), {from, to});
          ++own[at].transfers;
        });
    for (std::vector<link_slack> const& own : by_sender) {
      first_link_.push_back(links_.size());
      links_.insert(links_.end(), own.begin(), own.end());
    }
  }

  void add_arcs() {
    arcs_ = lists<arc>(length_.size(), [&](auto add) {
      for (std::size_t x = 0; x < what_.size(); ++x) {
        if (x > 0 && device_[x] == device_[x - 1]) add(x, arc{static_cast<int>(x) - 1});
        for (pass const& what : what_[x]) {
          for_each_transfer(what, [&](int before, int from, int to) {
            bool const local = from == to;
            add(x, arc{before, local ? 0 : s_.cost.transfer(from, to),
                       local ? nobody : link_between(from, to)});
          });
          for_each_work_input(s_.work.view(), what, [&](pass before, tick delay) {
            if (int const from = node_.at(before); from != nobody) add(x, arc{from, delay});
          });
        }
      }
    });
  }

  // Sorts depth-first, without recursion. The order of a schedule that could be squeezed has no cycle.
  void sort() {
    dynamic_array<std::size_t> next(length_.size(), 0);
    dynamic_array<char> is_done(length_.size(), 0);
    dynamic_array<int> open;
    for (std::size_t x = 0; x < length_.size(); ++x) {
      open.push_back(static_cast<int>(x));
      while (!open.empty()) {
        int const top = open.back();
        list_view<arc> const needs = nth(arcs_, top);
        if (nth(is_done, top) != 0) {
          open.pop_back();
        } else if (nth(next, top) < needs.size()) {
          if (int const before = needs[nth(next, top)++].from; nth(is_done, before) == 0)
            open.push_back(before);
        } else {
          nth(is_done, top) = 1;
          sorted_.push_back(top);
          open.pop_back();
        }
      }
    }
    end_ = std::vector<path>(length_.size());
  }

  path longest(int link, tick delay) {
    path all;
    for (int const x : sorted_) {
      path start;
      for (arc const& a : nth(arcs_, x)) {
        path reached = nth(end_, a.from);
        reached.rest += a.delay;
        reached.count += a.link == link ? 1 : 0;
        reached.length = saturating_sum(reached.rest, saturating_product(reached.count, delay));
        if (start < reached) start = reached;
      }
      start.rest += nth(length_, x);
      start.length = saturating_sum(start.length, nth(length_, x));
      nth(end_, x) = start;
      if (all < start) all = start;
    }
    return all;
  }

  // Finds how late one transfer may be alone, for the one on each link that tolerates least: its link
  // tolerates no more.
  void add_floats(tick whole) {
    longest(nobody, 0);
    std::vector<tick> rest(length_.size(), 0);  // that must follow the end of a node
    for (link_slack& l : links_) l.slack = whole;
    for (std::size_t i = sorted_.size(); i-- > 0;) {
      int const x = sorted_[i];
      tick const from_start = nth(rest, x) + nth(length_, x);
      for (arc const& a : nth(arcs_, x)) {
        tick const after = from_start + a.delay;
        if (after > nth(rest, a.from)) nth(rest, a.from) = after;
        if (a.link == nobody) continue;
        tick& slack = links_[static_cast<std::size_t>(a.link)].slack;
        slack = min_of(slack, whole - nth(end_, a.from).length - after);
      }
    }
  }

  tick slack_of(int link, tick within) {
    for (tick delay = links_[static_cast<std::size_t>(link)].slack;;) {
      if (delay == 0) return 0;
      path const found = longest(link, delay);
      if (found.length <= within) return delay;
      delay = (within - found.rest) / found.count;
    }
  }

  schedule const& s_;
  pass_table<int> node_;
  std::vector<tick> length_;  // by node
  std::vector<int> device_;   // by node
  lists<pass> what_;          // by node
  lists<arc> arcs_;           // by node: its waits
  std::vector<link_slack> links_;
  std::vector<std::size_t> first_link_;  // by sender
  std::vector<int> sorted_;
  std::vector<path> end_;
};

}  // namespace ashlar::study_detail

namespace ashlar {

ASHLAR_INLINE std::vector<link_slack> link_slacks(schedule s) {
  s = squeeze(static_cast<schedule&&>(s));
  return study_detail::delayed_paths(s).slacks();
}

}  // namespace ashlar
