#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/plan/parts/choose.hpp>

#include <utility>

namespace ashlar {

choice chooser::run() {
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
  // The bound is rounded, and costs are whole.
  double const bound = at_least_ * (1 - 1e-9);
  c.at_least = bound >= static_cast<double>(c.what.cost()) ? c.what.cost() : static_cast<tick>(bound);
  return c;
}

int chooser::cheapest_at(std::size_t thing, double byte, double ticks) const {
  int found = 0;
  for (int k = 1; k < static_cast<int>(things_[thing].size()); ++k) {
    variant const &a = at(thing, k), &b = at(thing, found);
    double const x = priced(a, byte, ticks), y = priced(b, byte, ticks);
    if (x < y || (x <= y && (a.memory < b.memory || (a.memory == b.memory && a.cost() < b.cost()))))
      found = k;
  }
  return found;
}

byte_count chooser::take_at(double byte, double ticks) {
  byte_count sum = 0;
  for (std::size_t i = 0; i < things_.size(); ++i) {
    taken_[i] = cheapest_at(i, byte, ticks);
    sum = saturating_sum(sum, at(i, taken_[i]).memory);
  }
  return sum;
}

void chooser::find_price() {
  used_ = take_at(price_ = 0, 1);
  if (used_ <= limit_) return;
  double low = 0, high = 1;
  while (take_at(high, 1) > limit_ && high < 1e18) low = high, high *= 4;
  for (int halvings = 0; halvings < 60; ++halvings) {
    double const middle = (low + high) / 2;
    (take_at(middle, 1) > limit_ ? low : high) = middle;
  }
  used_ = take_at(price_ = high, 1);
  // If no finite price fits, the smallest variants are taken.
  if (used_ > limit_) used_ = take_at(1, 0);
}

void chooser::fill_up() {
  for (std::size_t i = 0; i < things_.size(); ++i)
    for (int k = 0; k < static_cast<int>(things_[i].size()); ++k) {
      variant const &now = at(i, taken_[i]), &other = at(i, k);
      if (other.cost() >= now.cost() || used_ - now.memory + other.memory > limit_) continue;
      used_ += other.memory - now.memory;
      taken_[i] = k;
    }
}

void chooser::leave_out(dynamic_array<label>& front) {
  if (front.size() <= most_labels) return;
  dynamic_array<double> bounds;
  for (label const& l : front) bounds.push_back(l.bound);
  merge_sort(bounds, [](double a, double b) { return a < b; });
  double const most = bounds[most_labels];
  auto ties = most_labels;  // how many with exactly this bound there is room for
  for (label const& l : front) ties -= l.bound < most;
  dynamic_array<label> kept;
  for (label const& l : front)
    if (l.bound < most || (l.bound <= most && ties > 0 && ties-- > 0))
      kept.push_back(l);
    else
      at_least_ = min_of(at_least_, l.bound);
  front = std::move(kept);
}

std::vector<int> chooser::complete() {
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
        label l{saturating_sum(layers[i][b].memory, at(i, k).memory),
                saturating_sum(layers[i][b].cost, at(i, k).cost()), static_cast<int>(b), k};
        l.bound = static_cast<double>(l.cost) + rest
                  + price_ * (static_cast<double>(l.memory) - static_cast<double>(limit_));
        if (l.memory <= limit_ && l.bound <= known + slack) next.push_back(l);
      }
    layers[i + 1] = pareto_front(std::move(next), [](label const& l) {
      return variant{l.cost, l.memory, 0};
    });
    leave_out(layers[i + 1]);
  }
  if (layers.back().empty() || static_cast<double>(layers.back().back().cost) > known) return taken_;
  std::vector<int> of(things_.size(), 0);
  int which = static_cast<int>(layers.back().size()) - 1;  // the cheapest
  for (std::size_t i = things_.size(); i-- > 0;) {
    label const& l = nth(layers[i + 1], which);
    of[i] = l.taken;
    which = l.before;
  }
  return of;
}

choice choose(std::vector<std::vector<variant>> const& things, byte_count limit) {
  for (std::vector<variant> const& each : things) {
    if (each.empty()) refuse({.broken = rule::counts_are_positive});
    for (variant const& v : each) {
      if (v.memory < 0 || v.memory >= max_tick) refuse({.broken = rule::sizes_fit, .number = v.memory});
      for (tick const t : {v.time, v.penalty})
        if (t < 0 || t >= max_tick) refuse({.broken = rule::ticks_fit, .number = t});
    }
  }
  if (limit <= -max_tick || limit >= max_tick) refuse({.broken = rule::sizes_fit, .number = limit});
  return chooser(things, limit).run();
}

}  // namespace ashlar
