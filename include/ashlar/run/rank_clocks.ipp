// Definitions of rank_clocks.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/run/rank_clocks.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

namespace ashlar {

namespace clock_detail {

struct cycle {
  std::vector<int> nodes = {};
  double mean = 0;
};

// Groups of ranks with known relative clocks, and the quickest message between each two.
class clock_groups {
 public:
  clock_groups(int ranks, std::vector<clocked_message> const& messages, std::vector<int> const& shared) {
    std::map<int, int> first_of;
    for (int r = 0; r < ranks; ++r)
      group_.push_back(shared.empty()
                           ? r
                           : first_of.try_emplace(shared[static_cast<std::size_t>(r)], r).first->second);
    ahead_.assign(group_.size(), 0.0);
    for (clocked_message const& m : messages) {
      auto const [at, first] = quickest_.try_emplace({m.from, m.to}, m.delay);
      if (!first) at->second = std::min(at->second, m.delay);
    }
    regroup();
  }

  std::vector<clocked_message> const& edges() const { return edges_; }
  std::vector<double> ahead() const {
    std::vector<double> all;
    for (double const a : ahead_) all.push_back(a - ahead_.front());
    return all;
  }

  // Sets the clocks of whole groups. `more` is subtracted, by group.
  void shift(std::vector<double> const& more) {
    for (std::size_t r = 0; r < group_.size(); ++r)
      ahead_[r] += more[static_cast<std::size_t>(group_[r])];
  }
  void merge(std::vector<int> const& groups) {
    for (int& g : group_)
      if (std::find(groups.begin(), groups.end(), g) != groups.end()) g = groups.front();
    regroup();
  }

  // The cycle of least mean delay, with clocks of groups under which no message takes less; none if
  // there is no cycle. Each cycle gives one with a lower mean, until there is none.
  std::optional<cycle> tightest(std::vector<double>& clocks) const {
    double bound = 1;
    for (clocked_message const& e : edges_) bound = std::max(bound, std::abs(e.delay) + 1);
    std::optional<cycle> best;
    while (true) {
      std::optional<cycle> found = cycle_below(best ? best->mean : bound, clocks);
      if (!found || (best && found->mean >= best->mean)) return best;
      best = std::move(found);
    }
  }

 private:
  void regroup() {
    std::map<std::pair<int, int>, double> least;
    for (auto const& [pair, delay] : quickest_) {
      auto const from = static_cast<std::size_t>(pair.first), to = static_cast<std::size_t>(pair.second);
      if (group_[from] == group_[to]) continue;
      double const now = delay - ahead_[to] + ahead_[from];
      auto const [at, first] = least.try_emplace({group_[from], group_[to]}, now);
      if (!first) at->second = std::min(at->second, now);
    }
    edges_.clear();
    for (auto const& [pair, delay] : least) edges_.push_back({pair.first, pair.second, delay});
  }

  // Bellman-Ford: shortest distances with the delay of a message reduced by `mean`, or a negative cycle.
  std::optional<cycle> cycle_below(double mean, std::vector<double>& distance) const {
    double const slack = 1e-9 * std::max(1.0, std::abs(mean));  // of rounding
    distance.assign(group_.size(), 0.0);
    std::vector<clocked_message const*> last(group_.size(), nullptr);
    int changed = -1;
    for (std::size_t round = 0; round <= group_.size(); ++round) {
      changed = -1;
      for (clocked_message const& e : edges_) {
        double const through = distance[static_cast<std::size_t>(e.from)] + e.delay - mean;
        if (through >= distance[static_cast<std::size_t>(e.to)] - slack) continue;
        distance[static_cast<std::size_t>(e.to)] = through;
        last[static_cast<std::size_t>(e.to)] = &e;
        changed = e.to;
      }
      if (changed < 0) return std::nullopt;
    }
    for (std::size_t back = 0; back < group_.size(); ++back)
      changed = last[static_cast<std::size_t>(changed)]->from;
    cycle found;
    int at = changed;
    do {
      clocked_message const& e = *last[static_cast<std::size_t>(at)];
      found.nodes.push_back(at);
      found.mean += e.delay;
      at = e.from;
    } while (at != changed);
    found.mean /= static_cast<double>(found.nodes.size());
    return found;
  }

  std::vector<int> group_ = {};  // by rank: the first rank of its group
  std::vector<double> ahead_ = {};
  std::map<std::pair<int, int>, double> quickest_ = {};  // by the ranks' own clocks
  std::vector<clocked_message> edges_ = {};              // between groups, by the clocks set so far
};

}  // namespace clock_detail

ASHLAR_INLINE rank_clocks clocks_of(int ranks, std::vector<clocked_message> const& messages,
                                    std::vector<int> const& shared) {
  clock_detail::clock_groups groups(ranks, messages, shared);
  rank_clocks all;
  bool first = true;
  for (clocked_message const& m : messages)
    if (!shared.empty()
        && shared[static_cast<std::size_t>(m.from)] == shared[static_cast<std::size_t>(m.to)]) {
      all.least_delay = first ? m.delay : std::min(all.least_delay, m.delay);
      first = false;
    }
  std::vector<double> clocks;
  while (!groups.edges().empty()) {
    if (std::optional<clock_detail::cycle> const tight = groups.tightest(clocks)) {
      if (first || tight->mean < all.least_delay) all.least_delay = tight->mean;
      first = false;
      groups.shift(clocks);  // delay − ahead(to) + ahead(from) is then no less than the mean
      groups.merge(tight->nodes);
      continue;
    }
    clocked_message const one = groups.edges().front();
    all.guessed = true;
    clocks.assign(static_cast<std::size_t>(ranks), 0.0);
    clocks[static_cast<std::size_t>(one.to)] = one.delay;
    groups.shift(clocks);
    groups.merge({one.from, one.to});
  }
  all.ahead = groups.ahead();
  return all;
}

}  // namespace ashlar
