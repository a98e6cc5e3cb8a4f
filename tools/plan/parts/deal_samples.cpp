#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/plan/parts/deal_samples.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ashlar::plan_detail {

// Ticks of a pass with `percent` of attention, scaled by these shares of tokens and of squared tokens.
inline double part_of(tick pass, int percent, double tokens, double squares) {
  return static_cast<double>(pass) * ((100 - percent) * tokens + percent * squares) / 100;
}

inline double all_passes(sequence_cost const& c, int length) {
  double const share = static_cast<double>(length) / c.tokens, square = share * share;
  return part_of(c.whole.forward, c.attention.forward, share, square)
         + part_of(c.whole.backward_input, c.attention.backward_input, share, square)
         + part_of(c.whole.backward_weight, 0, share, square);
}

inline void must_be_sequence_cost(sequence_cost const& c) {
  if (c.tokens < 1) refuse({.broken = rule::counts_are_positive, .number = c.tokens});
  for (int const percent : {c.attention.forward, c.attention.backward_input})
    if (percent < 0 || percent > 100) refuse({.broken = rule::sizes_fit, .number = percent});
  for (tick const time : {c.whole.forward, c.whole.backward_input, c.whole.backward_weight})
    if (time < 0) refuse({.broken = rule::no_duration_is_negative, .number = time});
}

inline void must_have_tokens(std::vector<int> const& lengths) {
  for (std::size_t i = 0; i < lengths.size(); ++i)
    if (lengths[i] < 1)
      refuse({.broken = rule::counts_are_positive,
              .first = {.index = static_cast<int>(i)},
              .number = lengths[i]});
}

// Finds the first place whose number is at most a limit, while numbers change: a tree of minima.
class first_at_most {
 public:
  explicit first_at_most(std::size_t count) {
    while (leaves_ < count) leaves_ *= 2;
    least_.assign(2 * leaves_, max_tick);
    for (std::size_t i = 0; i < count; ++i) set(i, 0);
  }

  void set(std::size_t at, std::int64_t number) {
    std::size_t i = at + leaves_;
    least_[i] = number;
    for (i /= 2; i > 0; i /= 2) least_[i] = min_of(least_[2 * i], least_[2 * i + 1]);
  }

  // Returns an index beyond the last place if there is none.
  std::size_t find(std::int64_t most) const {
    if (least_[1] > most) return leaves_;
    std::size_t i = 1;
    while (i < leaves_) i = 2 * i + (least_[2 * i] > most ? 1 : 0);
    return i - leaves_;
  }

 private:
  std::size_t leaves_ = 1;
  std::vector<std::int64_t> least_;
};

class sample_deal {
 public:
  sample_deal(std::vector<int> const& tokens, sequence_cost const& cost, int m, std::int64_t most)
      : tokens_(tokens),
        most_(most),
        dealt_(static_cast<std::size_t>(m)),
        time_(dealt_.size(), 0),
        held_(dealt_.size(), 0) {
    for (int const length : tokens) weight_.push_back(all_passes(cost, length));
    for (std::size_t i = 0; i < tokens.size(); ++i) by_weight_.push_back(static_cast<int>(i));
    merge_sort(by_weight_, [&](int a, int b) { return nth(tokens_, a) > nth(tokens_, b); });
  }

  dealt_samples run() {
    if (!deal_longest_first()) deal_by_tokens();
    while (considered_ < most_considered && shorten()) {
    }
    dealt_samples made;
    made.longest = time_[longest_one()];
    made.least = least();
    for (std::vector<int>& own : dealt_) merge_sort(own, [](int a, int b) { return a < b; });
    made.micro_batches = std::move(dealt_);
    return made;
  }

 private:
  static constexpr std::size_t nothing = ~std::size_t{0};
  static constexpr std::int64_t most_considered = 20'000'000;  // moves: some seconds

  // Keeps the samples of a micro-batch in the order of their lengths, longest first.
  void add(int sample, std::size_t to) {
    std::vector<int>& own = dealt_[to];
    own.insert(first_below(own, nth(tokens_, sample)), sample);
    time_[to] += nth(weight_, sample);
    held_[to] += nth(tokens_, sample);
  }

  // The first of at most this many tokens.
  std::vector<int>::iterator first_below(std::vector<int>& own, std::int64_t tokens) const {
    return std::partition_point(own.begin(), own.end(),
                                [&](int sample) { return nth(tokens_, sample) > tokens; });
  }

  bool has_room(std::size_t micro_batch, std::int64_t more) const {
    return held_[micro_batch] + more <= most_;
  }

  // While micro-batches are empty, the next samples go there, so none stays empty. Samples come by their
  // tokens, longest first, so a micro-batch with room for one has room for the next, too, until it gets
  // more.
  bool deal_longest_first() {
    auto const is_later = [this](std::size_t a, std::size_t b) {
      return time_[a] != time_[b] ? time_[a] > time_[b] : a > b;
    };
    auto const is_fuller = [this](std::size_t a, std::size_t b) { return held_[a] > held_[b]; };
    std::vector<std::size_t> with_room, full;  // heaps: the shortest, and the emptiest, on top
    for (std::size_t k = 0; k < dealt_.size(); ++k) with_room.push_back(k);
    for (int const sample : by_weight_) {
      std::int64_t const more = nth(tokens_, sample);
      while (!full.empty() && has_room(full.front(), more)) {
        std::pop_heap(full.begin(), full.end(), is_fuller);
        with_room.push_back(full.back());
        full.pop_back();
        std::push_heap(with_room.begin(), with_room.end(), is_later);
      }
      if (with_room.empty()) return false;
      std::pop_heap(with_room.begin(), with_room.end(), is_later);
      std::size_t const best = with_room.back();
      with_room.pop_back();
      add(sample, best);
      full.push_back(best);
      std::push_heap(full.begin(), full.end(), is_fuller);
    }
    return true;
  }

  // Deals to the first micro-batch with room. Then each empty one takes the shortest sample of one that
  // has several.
  void deal_by_tokens() {
    for (std::size_t k = 0; k < dealt_.size(); ++k) {
      dealt_[k].clear();
      time_[k] = 0;
      held_[k] = 0;
    }
    first_at_most held(dealt_.size());
    for (int const sample : by_weight_) {
      std::size_t const k = held.find(most_ - nth(tokens_, sample));
      if (k >= dealt_.size())
        refuse({.broken = rule::memory_is_within_budget, .first = {.index = sample}, .number = most_});
      add(sample, k);
      held.set(k, held_[k]);
    }
    for (std::size_t k = 0, from = 0; k < dealt_.size(); ++k) {
      if (!dealt_[k].empty()) continue;
      while (dealt_[from].size() < 2) ++from;
      int const sample = dealt_[from].back();
      remove(from, dealt_[from].size() - 1);
      add(sample, k);
    }
  }

  void remove(std::size_t from, std::size_t at) {
    int const sample = dealt_[from][at];
    dealt_[from].erase(dealt_[from].begin() + static_cast<std::ptrdiff_t>(at));
    time_[from] -= nth(weight_, sample);
    held_[from] -= nth(tokens_, sample);
  }

  std::size_t longest_one() const {
    std::size_t most = 0;
    for (std::size_t k = 1; k < time_.size(); ++k)
      if (time_[k] > time_[most]) most = k;
    return most;
  }

  // Makes the move or exchange after which the longer of the two micro-batches is shortest. False if
  // none shortens the longest one by a millionth.
  bool shorten() {
    std::size_t const longest = longest_one();
    double best = time_[longest] * (1 - 1e-6);
    std::size_t to = dealt_.size(), mine = 0, theirs = nothing;
    for (std::size_t k = 0; k < dealt_.size(); ++k) {
      if (k == longest) continue;
      std::vector<int>& other = dealt_[k];
      auto const consider = [&](std::size_t i, std::size_t j) {
        int const a = dealt_[longest][i];
        double const off = nth(weight_, a) - (j == nothing ? 0 : nth(weight_, other[j]));
        std::int64_t const more =
            std::int64_t{nth(tokens_, a)} - (j == nothing ? 0 : nth(tokens_, other[j]));
        double const after = max_of(time_[longest] - off, time_[k] + off);
        if (after >= best || !has_room(k, more) || !has_room(longest, -more)) return;
        best = after;
        to = k;
        mine = i;
        theirs = j;
      };
      double const half = (time_[longest] - time_[k]) / 2;
      considered_ += static_cast<std::int64_t>(dealt_[longest].size());
      for (std::size_t i = 0; i < dealt_[longest].size(); ++i) {
        int const a = dealt_[longest][i];
        if (dealt_[longest].size() > 1) consider(i, nothing);
        // Swaps with a sample that fits both ways and brings the two micro-batches closest to each
        // other.
        std::int64_t const own = nth(tokens_, a);
        auto const from = first_below(other, own + (most_ - held_[longest])),
                   end = first_below(other, own - (most_ - held_[k]) - 1);
        auto const near = std::partition_point(
            from, end, [&](int sample) { return nth(weight_, sample) > nth(weight_, a) - half; });
        if (near != end) consider(i, static_cast<std::size_t>(near - other.begin()));
        if (near != from) consider(i, static_cast<std::size_t>(near - other.begin()) - 1);
      }
    }
    if (to == dealt_.size()) return false;
    int const a = dealt_[longest][mine];
    remove(longest, mine);
    if (theirs != nothing) {
      int const b = dealt_[to][theirs];
      remove(to, theirs);
      add(b, longest);
    }
    add(a, to);
    return true;
  }

  double least() const {
    double sum = 0;
    for (double const w : weight_) sum += w;
    double most = max_of(sum / static_cast<double>(dealt_.size()), nth(weight_, by_weight_[0]));
    if (by_weight_.size() > dealt_.size())  // two of these share a micro-batch
      most = max_of(
          most, nth(weight_, by_weight_[dealt_.size() - 1]) + nth(weight_, by_weight_[dealt_.size()]));
    return most;
  }

  std::vector<int> const& tokens_;
  std::int64_t most_;
  std::vector<double> weight_;           // by sample, ticks
  std::vector<int> by_weight_;           // samples, those that take longest first
  std::vector<std::vector<int>> dealt_;  // by micro-batch
  std::vector<double> time_;             // by micro-batch
  std::vector<std::int64_t> held_;       // by micro-batch, tokens
  std::int64_t considered_ = 0;          // moves and exchanges of a sample
};

}  // namespace ashlar::plan_detail

namespace ashlar {

stage_cost sequence_cost::of(std::vector<int> const& lengths) const {
  plan_detail::must_be_sequence_cost(*this);
  plan_detail::must_have_tokens(lengths);
  double shares = 0, squares = 0;
  for (int const length : lengths) {
    double const share = static_cast<double>(length) / tokens;
    shares += share;
    squares += share * share;
  }
  auto const ticks = [&](tick pass, int percent) -> tick {
    double const time = plan_detail::part_of(pass, percent, shares, squares);
    constexpr double most = 1e18;
    if (time >= most) return max_tick;
    auto const down = static_cast<tick>(time);
    return down + (time - static_cast<double>(down) > 1e-9 ? 1 : 0);
  };
  return {.forward = ticks(whole.forward, attention.forward),
          .backward_input = ticks(whole.backward_input, attention.backward_input),
          .backward_weight = ticks(whole.backward_weight, 0)};
}

pass_costs dealt_samples::costs_of(std::vector<int> const& tokens, sequence_cost const& cost) const {
  std::vector<stage_cost> each;
  for (std::vector<int> const& own : micro_batches) {
    std::vector<int> lengths;
    for (int const sample : own) lengths.push_back(nth(tokens, sample));
    each.push_back(cost.of(lengths));
  }
  return pass_costs::by_stage_and_micro_batch(std::move(each), static_cast<int>(micro_batches.size()));
}

dealt_samples deal_samples(std::vector<int> const& tokens, sequence_cost const& cost, micro_batches m,
                           std::int64_t most_tokens) {
  if (m.value < 1) refuse({.broken = rule::counts_are_positive, .number = m.value});
  if (tokens.size() < static_cast<std::size_t>(m.value))
    refuse({.broken = rule::counts_are_positive,
            .number = static_cast<std::int64_t>(tokens.size()) - m.value});
  plan_detail::must_be_sequence_cost(cost);
  plan_detail::must_have_tokens(tokens);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] > most_tokens)
      refuse({.broken = rule::memory_is_within_budget,
              .first = {.index = static_cast<int>(i)},
              .number = tokens[i]});
  return plan_detail::sample_deal(tokens, cost, m.value, most_tokens).run();
}

}  // namespace ashlar
