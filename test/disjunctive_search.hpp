// Whether a training step on a chain of stages can be as short as asked, by deciding for two passes of a
// device at a time which one is first, and following what each decision implies. Exact like
// exhaustive_search, and fast enough for five devices and four micro-batches; it has no code in common
// with that or with what it tests.
#pragma once

#include <ashlar/search/problem.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace disjunctive_search {

using namespace ashlar;

// Takes a chain with split backwards on one route, and links of one latency. Micro-batches are alike, so
// each kind of pass takes them in order; chunks of a sequence go backward in reverse.
class decision {
 public:
  // `is_span`: each device's time counts from its own first start, else from the first of all.
  decision(search_problem const& problem, bool is_span, tick length)
      : problem_(problem), m_(problem.m.value * problem.sequence_chunks), length_(length) {
    for (int s = 0; s < problem.where.stage_count(); ++s)
      for (int i = 0; i < m_; ++i) {
        std::size_t* const place = &numbers_.emplace_back()[0];
        std::fill(place, place + kinds.size(), none);
        bool const again = problem.limit.memory.of(s, i).checkpoint != stage_memory::all;
        for (std::size_t k = 0; k < kinds.size(); ++k) {
          if (kinds[k] == pass_kind::recompute && !again) continue;
          place[k] = passes_.size();
          passes_.push_back({s, i, kinds[k], problem.where.device_of(0, s),
                             problem.cost.passes.of(s, i).of(kinds[k])});
        }
      }
    starts_ = is_span ? static_cast<std::size_t>(problem.where.device_count()) : 1;
    later_.assign(size() * size(), unknown);
    for (std::size_t x = 0; x < size(); ++x) at(later_, x, x) = 0;
    for (std::size_t x = 0; x < passes_.size(); ++x) fix_pass(x);
  }

  // Returns none after more than `most_nodes` decisions.
  std::optional<bool> is_possible(std::int64_t most_nodes) {
    nodes_left_ = most_nodes;
    bool const found = holds_ && decide(later_);
    return found || nodes_left_ >= 0 ? std::optional<bool>(found) : std::nullopt;
  }

 private:
  struct one_pass {
    int stage, micro_batch;
    pass_kind kind;
    int device;
    tick takes;
  };
  static constexpr std::array<pass_kind, 4> kinds{pass_kind::forward, pass_kind::recompute,
                                                  pass_kind::backward_input, pass_kind::backward_weight};
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  static constexpr tick unknown = std::numeric_limits<tick>::min() / 4;
  using matrix = std::vector<tick>;  // by how much, at least, one begins later than another

  std::size_t size() const { return passes_.size() + starts_; }
  std::size_t number(int stage, int i, pass_kind kind) const {
    auto const k = static_cast<std::size_t>(std::find(kinds.begin(), kinds.end(), kind) - kinds.begin());
    return numbers_[static_cast<std::size_t>(stage * m_ + i)][k];
  }
  std::size_t start_of(int device) const {
    return passes_.size() + (starts_ == 1 ? 0 : static_cast<std::size_t>(device));
  }
  tick& at(matrix& later, std::size_t x, std::size_t y) const { return later[x * size() + y]; }
  tick at(matrix const& later, std::size_t x, std::size_t y) const { return later[x * size() + y]; }

  // This is an involution.
  int in_turn(int i) const {
    int const q = problem_.sequence_chunks;
    return i / q * q + q - 1 - i % q;
  }

  void fix_pass(std::size_t x) {
    auto const [s, i, kind, device, takes] = passes_[x];
    fix(start_of(device), x, 0);
    fix(x, start_of(device), takes - length_);
    bool const is_forward = kind == pass_kind::forward;
    int const turn = is_forward ? i : in_turn(i);
    if (turn > 0) after(number(s, is_forward ? i - 1 : in_turn(turn - 1), kind), x);
    int const neighbour = is_forward ? s - 1 : s + 1;
    if ((is_forward || kind == pass_kind::backward_input) && neighbour >= 0
        && neighbour < problem_.where.stage_count())
      after(number(neighbour, i, kind), x);
    if (is_forward) return;
    std::size_t before = number(s, i, pass_kind::forward);
    if (kind == pass_kind::backward_weight) before = number(s, i, pass_kind::backward_input);
    if (kind == pass_kind::backward_input && number(s, i, pass_kind::recompute) != none)
      before = number(s, i, pass_kind::recompute);
    after(before, x);
  }
  void after(std::size_t x, std::size_t y) {
    bool const is_hop = passes_[x].device != passes_[y].device;
    fix(x, y, passes_[x].takes + (is_hop ? problem_.cost.on.links.inside.latency : 0));
  }
  void fix(std::size_t x, std::size_t y, tick least) { holds_ = holds_ && follow(later_, x, y, least); }

  // Makes y begin at least `least` later than x, and follows this for all others; false if it cannot be.
  bool follow(matrix& later, std::size_t x, std::size_t y, tick least) const {
    if (at(later, x, y) >= least) return true;
    if (at(later, y, x) != unknown && least + at(later, y, x) > 0) return false;
    for (std::size_t a = 0; a < size(); ++a) {
      tick const to_x = at(later, a, x);
      if (to_x == unknown) continue;
      for (std::size_t b = 0; b < size(); ++b)
        if (tick const from_y = at(later, y, b); from_y != unknown)
          at(later, a, b) = std::max(at(later, a, b), to_x + least + from_y);
    }
    return true;
  }

  bool can_precede(matrix const& later, std::size_t x, std::size_t y) const {
    return at(later, y, x) == unknown || at(later, y, x) <= -passes_[x].takes;
  }
  bool precedes(matrix const& later, std::size_t x, std::size_t y) const {
    return at(later, x, y) >= passes_[x].takes;
  }
  bool is_decided(matrix const& later, std::size_t x, std::size_t y) const {
    return precedes(later, x, y) || precedes(later, y, x);
  }
  template <class Function>
  void for_each_pair(Function f) const {
    for (std::size_t x = 0; x < passes_.size(); ++x)
      for (std::size_t y = x + 1; y < passes_.size(); ++y)
        if (passes_[x].device == passes_[y].device) f(x, y);
  }

  // Makes every decision that has only one outcome; false if there is none.
  bool imply(matrix& later) const {
    for (bool is_changed = true, holds = true; is_changed;) {
      is_changed = false;
      for_each_pair([&](std::size_t x, std::size_t y) {
        if (!holds || is_decided(later, x, y)) return;
        bool const forth = can_precede(later, x, y), back = can_precede(later, y, x);
        if (forth && back) return;
        holds = forth ? follow(later, x, y, passes_[x].takes)
                      : back && follow(later, y, x, passes_[y].takes);
        is_changed = true;
      });
      for (int e = 0; holds && e < problem_.where.device_count(); ++e)
        holds = has_time(later, e) && has_room(later, e);
      if (!holds) return false;
    }
    return true;
  }

  // Whether a device could do its work between the earliest starts and the latest ends, if passes could
  // be interrupted: the one that has to end first is done first.
  bool has_time(matrix const& later, int device) const {
    struct work {
      tick release, due, left;
    };
    std::vector<work> all;
    std::size_t const start = start_of(device);
    for (std::size_t x = 0; x < passes_.size(); ++x)
      if (tick const takes = passes_[x].takes; passes_[x].device == device)
        all.push_back({at(later, start, x), takes - at(later, x, start), takes});
    for (tick now = 0;;) {
      work* next = nullptr;
      tick until = std::numeric_limits<tick>::max();
      for (work& w : all)
        if (w.left > 0 && w.release <= now && (next == nullptr || w.due < next->due)) next = &w;
      for (work const& w : all)
        if (w.left > 0 && w.release > now) until = std::min(until, w.release);
      if (next == nullptr) {
        if (until == std::numeric_limits<tick>::max()) return true;
        now = until;
        continue;
      }
      tick const step = std::min(next->left, until - now);
      now += step;
      next->left -= step;
      if (now + next->left > next->due) return false;
    }
  }

  // Whether a device can hold what it does at each pass that takes memory: of each micro-batch at least
  // what it keeps there in the best of the orders that are left.
  bool has_room(matrix const& later, int device) const {
    byte_count resident = 0;
    for (int s = 0; s < problem_.where.stage_count(); ++s) {
      stage_memory const& m = problem_.limit.memory.of(s);
      if (problem_.where.device_of(0, s) == device)
        resident += m.weights + m.optimizer_state + m.weight_gradient;
    }
    std::vector<byte_count> const& budgets = problem_.limit.budget;
    byte_count const budget = budgets[budgets.size() == 1 ? 0 : static_cast<std::size_t>(device)];
    for (std::size_t x = 0; x < passes_.size(); ++x) {
      if (passes_[x].device != device || passes_[x].kind == pass_kind::backward_weight) continue;
      byte_count held = resident;
      for (std::size_t f = 0; f < passes_.size(); ++f)
        if (passes_[f].device == device && passes_[f].kind == pass_kind::forward)
          held += least_held(later, f, x);
      if (held > budget) return false;
    }
    return true;
  }
  byte_count least_held(matrix const& later, std::size_t f, std::size_t x) const {
    auto const [s, i, kind, device, takes] = passes_[f];
    stage_memory const& m = problem_.limit.memory.of(s, i);
    std::size_t const again = number(s, i, pass_kind::recompute);
    std::size_t const w = number(s, i, pass_kind::backward_weight);
    bool const has_begun = x == f || precedes(later, f, x);
    if (!has_begun || (x != w && !precedes(later, x, w))) return 0;
    return again == none || x == again || precedes(later, again, x) ? m.stash : m.checkpoint;
  }

  bool decide(matrix later) {
    if (--nodes_left_ < 0 || !imply(later)) return false;
    // The pair with the least room: one of its outcomes is soon seen to be impossible.
    std::optional<std::pair<std::size_t, std::size_t>> tightest;
    tick least_room = std::numeric_limits<tick>::max();
    for_each_pair([&](std::size_t x, std::size_t y) {
      if (is_decided(later, x, y)) return;
      tick const room = -passes_[x].takes - at(later, y, x) - passes_[y].takes - at(later, x, y);
      if (room >= least_room) return;
      least_room = room;
      tightest = {x, y};
    });
    if (!tightest) return true;
    auto const [x, y] = *tightest;
    for (auto const& [first, second] : {std::pair(x, y), std::pair(y, x)}) {
      matrix next = later;
      if (follow(next, first, second, passes_[first].takes) && decide(std::move(next))) return true;
    }
    return false;
  }

  search_problem problem_;
  int m_;
  tick length_;
  std::vector<one_pass> passes_;
  std::vector<std::array<std::size_t, 4>> numbers_;  // by stage, micro-batch and kind
  std::size_t starts_ = 0;
  matrix later_;
  bool holds_ = true;
  std::int64_t nodes_left_ = 0;
};

}  // namespace disjunctive_search
