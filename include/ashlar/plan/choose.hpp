// One variant for each of several things, within a limit on their total memory.
#pragma once

#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/plan/variants.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

struct choice {
  std::vector<int> of;     // the variant of each thing; empty if none fit
  variant what = {};       // all together
  byte_count missing = 0;  // bytes by which the smallest variants together pass the limit

  friend constexpr bool operator==(choice const&, choice const&) = default;
};

// The cheapest choice whose memory adds up to no more than the limit: the multiple-choice knapsack,
// solved exactly. Partial choices of which no other takes neither more memory nor more cost are
// completed thing by thing. Those are left out that cannot become better than a choice found before, by
// the bound that charges `price` for each byte (Lagrange); the price is the one at which the cheapest
// variants just fit. Of the pooled workspace of several kernels: the integer programme of μ-cuDNN,
// section III.C, without a solver.
class chooser {
 public:
  constexpr chooser(std::vector<std::vector<variant>> const& things, byte_count limit)
      : things_(things), limit_(limit), taken_(things.size(), 0) {}

  constexpr choice run() {
    choice c;
    byte_count smallest = 0;
    for (std::size_t i = 0; i < things_.size(); ++i)
      smallest = saturating_sum(smallest, at(i, cheapest_at(i, 1, 0)).memory);
    if (smallest > limit_) {
      c.missing = smallest - limit_;
      return c;
    }
    find_price();
    fill_up();
    c.of = complete();
    for (std::size_t i = 0; i < things_.size(); ++i) c.what = side_by_side(c.what, at(i, c.of[i]));
    return c;
  }

 private:
  struct label {
    byte_count memory = 0;
    tick cost = 0;
    int before = -1, taken = -1;
  };

  constexpr variant const& at(std::size_t thing, int which) const { return nth(things_[thing], which); }
  static constexpr double priced(variant const& v, double byte, double ticks) {
    return static_cast<double>(v.memory) * byte + static_cast<double>(v.cost()) * ticks;
  }
  // The variant of least memory * byte + cost * ticks; of equal ones that of least memory, then cost.
  constexpr int cheapest_at(std::size_t thing, double byte, double ticks) const {
    int found = 0;
    for (int k = 1; k < static_cast<int>(things_[thing].size()); ++k) {
      variant const &a = at(thing, k), &b = at(thing, found);
      double const x = priced(a, byte, ticks), y = priced(b, byte, ticks);
      if (x < y || (x <= y && (a.memory < b.memory || (a.memory == b.memory && a.cost() < b.cost()))))
        found = k;
    }
    return found;
  }
  constexpr byte_count take_at(double byte, double ticks) {
    byte_count sum = 0;
    for (std::size_t i = 0; i < things_.size(); ++i) {
      taken_[i] = cheapest_at(i, byte, ticks);
      sum = saturating_sum(sum, at(i, taken_[i]).memory);
    }
    return sum;
  }

  // The lowest price at which what is taken fits, by halving; free memory if that fits.
  constexpr void find_price() {
    used_ = take_at(price_ = 0, 1);
    if (used_ <= limit_) return;
    double low = 0, high = 1;
    while (take_at(high, 1) > limit_ && high < 1e18) low = high, high *= 4;
    for (int halvings = 0; halvings < 60; ++halvings) {
      double const middle = (low + high) / 2;
      (take_at(middle, 1) > limit_ ? low : high) = middle;
    }
    used_ = take_at(price_ = high, 1);
    // Where no finite price does, the smallest ones.
    if (used_ > limit_) used_ = take_at(1, 0);
  }

  // Spends what memory is left, one thing after the other: the choice that has to be improved on.
  constexpr void fill_up() {
    for (std::size_t i = 0; i < things_.size(); ++i)
      for (int k = 0; k < static_cast<int>(things_[i].size()); ++k) {
        variant const &now = at(i, taken_[i]), &other = at(i, k);
        if (other.cost() >= now.cost() || used_ - now.memory + other.memory > limit_) continue;
        used_ += other.memory - now.memory;
        taken_[i] = k;
      }
  }

  constexpr std::vector<int> complete() const {
    double known = 0, rest = 0;
    for (std::size_t i = 0; i < things_.size(); ++i) {
      known += static_cast<double>(at(i, taken_[i]).cost());
      rest += priced(at(i, cheapest_at(i, price_, 1)), price_, 1);
    }
    double const slack = 1 + 1e-9 * known;  // the bound is rounded
    std::vector<dynamic_array<label>> layers(things_.size() + 1);
    layers[0].push_back({});
    for (std::size_t i = 0; i < things_.size(); ++i) {
      rest -= priced(at(i, cheapest_at(i, price_, 1)), price_, 1);
      dynamic_array<label> next;
      for (std::size_t b = 0; b < layers[i].size(); ++b)
        for (int k = 0; k < static_cast<int>(things_[i].size()); ++k) {
          label const l{saturating_sum(layers[i][b].memory, at(i, k).memory),
                        saturating_sum(layers[i][b].cost, at(i, k).cost()), static_cast<int>(b), k};
          double const bound = static_cast<double>(l.cost) + rest
                               + price_ * (static_cast<double>(l.memory) - static_cast<double>(limit_));
          if (l.memory <= limit_ && bound <= known + slack) next.push_back(l);
        }
      layers[i + 1] = pareto_front(std::move(next), [](label const& l) {
        return variant{l.cost, l.memory, 0};
      });
    }
    std::vector<int> of(things_.size(), 0);
    int which = static_cast<int>(layers.back().size()) - 1;  // the cheapest
    for (std::size_t i = things_.size(); i-- > 0;) {
      label const& l = nth(layers[i + 1], which);
      of[i] = l.taken;
      which = l.before;
    }
    return of;
  }

  std::vector<std::vector<variant>> const& things_;
  byte_count limit_;
  std::vector<int> taken_;
  double price_ = 0;
  byte_count used_ = 0;
};

// Throws violation{rule::counts_are_positive} for a thing without variants.
constexpr choice choose(std::vector<std::vector<variant>> const& things, byte_count limit) {
  for (std::vector<variant> const& each : things)
    if (each.empty()) refuse({.broken = rule::counts_are_positive});
  return chooser(things, limit).run();
}

}  // namespace ashlar
