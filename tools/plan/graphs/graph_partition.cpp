#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/plan/graphs/graph_partition.hpp>

#include <utility>

namespace ashlar::plan_detail {

bool no_more(demand const& a, demand const& b, std::size_t sizes) {
  for (std::size_t x = 0; x < sizes; ++x)
    if (a[x] > b[x]) return false;
  return true;
}

}  // namespace ashlar::plan_detail

namespace ashlar {

graph_partitioner::graph_partitioner(operator_model const& model, operator_machine const& machine,
                                     operator_batch const& batch)
    : model_(model), machine_(machine), batch_(batch) {
  if (diagnosis const d = check(model, machine, batch); !d.ok()) refuse(d);
  for (int b = 1; b <= batch.largest_micro_batch && batch.samples % b == 0; b *= 2) {
    if (sizes_.size() == plan_detail::most_sizes)
      refuse({.broken = rule::parameter_is_at_most,
              .number = 1 << (plan_detail::most_sizes - 1),
              .which = parameter::micro_batch_count,
              .given = batch.largest_micro_batch});
    sizes_.push_back(b);
  }
  tree_ = series_parallel(model.graph);
  sums_ = part_sums(model, tree_, machine.bandwidth, batch.samples);
}

std::vector<std::vector<planned_stage>> graph_partitioner::stages_within(tick time) {
  time_ = time;
  plans_.clear();
  sums_.find_cuts(time);
  demand nothing = {};
  for (std::size_t x = 0; x < sizes_.size(); ++x) nothing[x] = sizes_[x];
  fronts const all = stages_of(tree_.root, nothing, machine_.device_count);
  std::vector<std::vector<planned_stage>> found;
  for (std::size_t d = 0; d < all.size(); ++d)
    for (state const& s : all[d]) {
      bool beaten = false;
      for (std::size_t e = 0; e < d; ++e)
        for (state const& other : all[e])
          beaten = beaten || plan_detail::no_more(other.asks, s.asks, sizes_.size());
      if (beaten) continue;
      found.emplace_back();
      collect(s.plan, found.back());
    }
  return found;
}

tick graph_partitioner::most_time() const {
  tick all = 0;
  for (operator_cost const& c : model_.cost)
    all += busy_of_stage(c, {1, 1}, batch_.samples) + sums_.messages_of(c);
  return all;
}

operator_cost graph_partitioner::difference(operator_cost a, operator_cost const& b) {
  a.launch -= b.launch;
  a.forward -= b.forward;
  a.backward_input -= b.backward_input;
  a.backward_weight -= b.backward_weight;
  a.weights -= b.weights;
  a.kept -= b.kept;
  return a;
}

graph_partitioner::demand graph_partitioner::asked_by(std::int64_t in_flight, int micro_batch) const {
  demand asks = {};
  for (std::size_t y = 0; y < sizes_.size(); ++y) asks[y] = in_flight + max_of(sizes_[y], micro_batch);
  return asks;
}

void graph_partitioner::insert(front& all, int position, demand const& asks, plan const& made) {
  for (state const& s : all)
    if (s.position <= position && plan_detail::no_more(s.asks, asks, sizes_.size())) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].position < position || !plan_detail::no_more(asks, all[i].asks, sizes_.size()))
      all[kept++] = all[i];
  while (all.size() > kept) all.pop_back();
  plans_.push_back(made);
  all.push_back({position, asks, static_cast<int>(plans_.size()) - 1});
}

graph_partitioner::fronts graph_partitioner::stages_of(int series, demand const& asks, int most) {
  graph_part const& part = tree_.of(series);
  series_table const& t = sums_.series(series);
  fronts all(static_cast<std::size_t>(most) + 1), done(static_cast<std::size_t>(most) + 1);
  all[0].push_back({static_cast<int>(part.parts.size()), asks, -1});
  for (int used = 0; used <= most; ++used)
    for (std::size_t n = 0; n < nth(all, used).size(); ++n) {
      state const now = nth(all, used)[n];
      if (now.position == 0) {
        nth(done, used).push_back(now);
        continue;
      }
      add_runs(all, series, t, now, used, most);
      int const before = now.position - 1, last = nth(part.parts, before);
      if (tree_.of(last).kind != part_kind::parallel
          || (before > 0 && nth(t.next_cut, before) != before))
        continue;
      fronts const branches = stages_of_branches(last, now.asks, most - used);
      for (std::size_t d = 1; d < branches.size(); ++d)
        for (state const& s : branches[d])
          insert(all[static_cast<std::size_t>(used) + d], before, s.asks,
                 {.next = now.plan, .beside = s.plan});
    }
  return done;
}

void graph_partitioner::add_runs(fronts& all, int series, series_table const& t, state const& now,
                                 int used, int most) {
  operator_cost const& whole = nth(t.until, now.position);
  for (std::size_t x = 0; x < sizes_.size(); ++x)
    for (int d = 1; d <= min_of(most - used, sizes_[x]); ++d) {
      stage_choice const how{sizes_[x], d};
      int low = 0, high = now.position;  // the first part of the longest run that fits
      while (low < high) {
        int const middle = (low + high) / 2;
        if (fits(difference(whole, nth(t.until, middle)), how, now.asks[x]))
          high = middle;
        else
          low = middle + 1;
      }
      if (low > 0) low = nth(t.next_cut, low);
      if (low >= now.position) continue;
      insert(nth(all, used + d), low, asked_by(now.asks[x], sizes_[x]),
             {.part = series, .first = low, .last = now.position, .how = how, .next = now.plan});
      if (low == 0) break;  // more devices are no better
    }
}

graph_partitioner::fronts graph_partitioner::stages_of_branches(int parallel, demand const& asks,
                                                                int most) {
  std::vector<int> const& branches = tree_.of(parallel).parts;
  std::size_t const count = branches.size();
  bool const any = count <= most_branches;
  std::vector<fronts> alone;
  for (int branch : branches) alone.push_back(stages_of(branch, asks, most));
  // Indexed by the set of branches in stages: any set, or the last ones.
  std::size_t const ends = any ? std::size_t{1} << count : count + 1;
  std::vector<fronts> of(ends, fronts(static_cast<std::size_t>(most) + 1));
  of[0][0].push_back({});
  for (std::size_t set = 0; set + 1 < ends; ++set) {
    // The next stages have the first branch that is not in stages yet.
    std::size_t first = 0;
    while (any ? (set >> first & 1) != 0 : first < set) ++first;
    extend(of[set], alone[first], of[any ? set | std::size_t{1} << first : set + 1], most);
    if (!any) {
      add_runs_of_branches(of, parallel, first, asks, most);
      continue;
    }
    for (std::size_t g = 0; g < ends; ++g) {
      if ((g & set) != 0 || (g >> first & 1) == 0 || (g & (g - 1)) == 0) continue;
      extend(of[set], together(parallel, g, asks, most), of[set | g], most);
    }
  }
  return of[ends - 1];
}

void graph_partitioner::add_runs_of_branches(std::vector<fronts>& of, int parallel, std::size_t first,
                                             demand const& asks, int most) {
  std::vector<int> const& branches = tree_.of(parallel).parts;
  std::vector<operator_cost> until(1);  // sums of the branches from the first one
  for (std::size_t i = first; i < branches.size(); ++i) {
    until.push_back(until.back());
    until.back().add(sums_.of(branches[i]));
  }
  for (std::size_t x = 0; x < sizes_.size(); ++x)
    for (int d = 1; d <= min_of(most, sizes_[x]); ++d) {
      stage_choice const how{sizes_[x], d};
      std::size_t low = 0, high = until.size() - 1;  // branches of the longest run that fits
      while (low < high) {
        std::size_t const middle = (low + high + 1) / 2;
        if (fits(until[middle], how, asks[x]))
          low = middle;
        else
          high = middle - 1;
      }
      if (low < 2) continue;  // a single branch has its own stages
      fronts run(static_cast<std::size_t>(most) + 1);
      insert(nth(run, d), 0, asked_by(asks[x], sizes_[x]),
             {.part = parallel,
              .first = static_cast<int>(first),
              .last = static_cast<int>(first + low),
              .how = how});
      extend(of[first], run, of[first + low], most);
      if (first + low == branches.size()) break;  // more devices are no better
    }
}

graph_partitioner::fronts graph_partitioner::together(int parallel, std::size_t set, demand const& asks,
                                                      int most) {
  std::vector<int> const& branches = tree_.of(parallel).parts;
  operator_cost sum;
  for (std::size_t i = 0; i < branches.size(); ++i)
    if ((set >> i & 1) != 0) sum.add(sums_.of(branches[i]));
  fronts all(static_cast<std::size_t>(most) + 1);
  for (std::size_t x = 0; x < sizes_.size(); ++x)
    for (int d = 1; d <= min_of(most, sizes_[x]); ++d) {
      stage_choice const how{sizes_[x], d};
      if (!fits(sum, how, asks[x])) continue;
      insert(nth(all, d), 0, asked_by(asks[x], sizes_[x]),
             {.part = parallel, .branches = static_cast<unsigned>(set), .how = how});
      break;
    }
  return all;
}

void graph_partitioner::extend(fronts const& some, fronts const& more, fronts& into, int most) {
  for (std::size_t d = 0; d < some.size(); ++d)
    for (state const& s : some[d])
      for (std::size_t e = 1; d + e <= static_cast<std::size_t>(most); ++e)
        for (state const& t : more[e]) {
          demand asks = {};
          for (std::size_t x = 0; x < sizes_.size(); ++x) asks[x] = max_of(s.asks[x], t.asks[x]);
          insert(into[d + e], 0, asks, {.next = s.plan, .beside = t.plan});
        }
}

void graph_partitioner::collect(int number, std::vector<planned_stage>& into) const {
  while (number >= 0) {
    plan const& p = nth(plans_, number);
    collect(p.beside, into);
    if (p.part >= 0) {
      planned_stage made{.operators = {}, .how = p.how};
      std::vector<int> const& parts = tree_.of(p.part).parts;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        bool const in = p.branches != 0 ? (p.branches >> i & 1U) != 0
                                        : static_cast<int>(i) >= p.first && static_cast<int>(i) < p.last;
        if (in) append(made.operators, tree_.of(parts[i]).members);
      }
      into.push_back(std::move(made));
    }
    number = p.next;
  }
}

}  // namespace ashlar
