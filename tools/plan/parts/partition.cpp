#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/plan/parts/partition.hpp>

#include <cstddef>
#include <cstdint>

namespace ashlar::plan_detail {

// Requires costs that are numbers, not negative, with sums without overflow. A cut after every layer
// that may end a stage has a volume and a link.
void must_be_costs(cut_costs const& c, std::size_t cut_count) {
  if (c.volume.size() + 1 < c.layer.size() || c.link.size() < cut_count)
    refuse({.broken = rule::tables_agree,
            .number = static_cast<std::int64_t>(c.volume.size() + 1 < c.layer.size() ? c.volume.size()
                                                                                     : c.link.size())});
  double volumes = 0, links = 0, sum = c.repeats;
  bool fits = c.repeats >= 0;
  for (double const each : c.volume) fits = fits && each >= 0, volumes += each;
  for (double const each : c.link) fits = fits && each >= 0, links += each;
  for (double const each : c.layer) fits = fits && each >= 0, sum += each;
  if (!fits || !(volumes <= 1e100 && links <= 1e100 && sum <= 1e100))
    refuse({.broken = rule::figures_are_in_range, .which = parameter::cut_figure});
}

}  // namespace ashlar::plan_detail

namespace ashlar {

double pipeline_time(cut_costs const& c, std::vector<int> const& sizes) {
  std::int64_t layers = 0;
  for (int const each : sizes) {
    if (each < 1) refuse({.broken = rule::counts_are_positive, .number = each});
    layers += each;
  }
  if (layers != static_cast<std::int64_t>(c.layer.size()))
    refuse({.broken = rule::tables_agree, .number = layers});
  plan_detail::must_be_costs(c, sizes.empty() ? 0 : sizes.size() - 1);
  double longest = 0, sum = 0;
  std::size_t at = 0;
  for (std::size_t stage = 0; stage < sizes.size(); ++stage) {
    double own = 0;
    for (int i = 0; i < sizes[stage]; ++i) own += c.layer[at++];
    longest = max_of(longest, own);
    sum += own;
    if (stage + 1 < sizes.size()) sum += c.volume[at - 1] * c.link[stage];
  }
  return c.repeats * longest + sum;
}

std::vector<int> uniform_partition(int layer_count, int stage_count, int before, int behind) {
  for (int const own : {before, behind})
    if (own < 0) refuse({.broken = rule::sizes_fit, .number = own});
  std::int64_t const rest = std::int64_t{layer_count} - before - behind;
  if (stage_count < 1 || rest < stage_count)
    refuse({.broken = rule::parameter_is_at_least,
            .number = stage_count,
            .which = parameter::layer_count,
            .given = rest});
  must_be(at_most(parameter::stage_count, stage_count, most_stages));
  int const shared = static_cast<int>(rest);
  std::vector<int> sizes;
  for (int stage = 0; stage < stage_count; ++stage)
    sizes.push_back(shared / stage_count + (stage < shared % stage_count ? 1 : 0));
  sizes.front() += before;
  sizes.back() += behind;
  return sizes;
}

}  // namespace ashlar

namespace ashlar::plan_detail {

void add(std::vector<cut_choice>& front, cut_choice const& made) {
  for (cut_choice const& c : front)
    if (c.longest <= made.longest && c.cuts <= made.cuts) return;
  std::size_t kept = 0;
  for (cut_choice const& c : front)
    if (c.longest < made.longest || c.cuts < made.cuts) front[kept++] = c;
  while (front.size() > kept) front.pop_back();
  front.push_back(made);
}

}  // namespace ashlar::plan_detail

namespace ashlar {

std::vector<int> best_partition(cut_costs const& c, int stage_count) {
  using plan_detail::cut_choice;
  int const n = static_cast<int>(c.layer.size());
  if (stage_count < 1 || n < stage_count)
    refuse({.broken = rule::parameter_is_at_least,
            .number = stage_count,
            .which = parameter::layer_count,
            .given = n});
  must_be(at_most(parameter::layer_count, n, plan_detail::most_cells / stage_count));
  plan_detail::must_be_costs(c, static_cast<std::size_t>(stage_count - 1));
  std::vector<double> until(1, 0.0);
  for (double each : c.layer) until.push_back(until.back() + each);
  auto const index = [n](int stage, int end) {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(n + 1)
           + static_cast<std::size_t>(end);
  };
  std::vector<std::vector<cut_choice>> fronts(index(stage_count, 0));
  for (int end = 1; end <= n; ++end) fronts[index(0, end)].push_back({.longest = nth(until, end)});
  for (int stage = 1; stage < stage_count; ++stage)
    for (int end = stage + 1; end <= n; ++end)
      for (int cut = stage; cut < end; ++cut) {
        auto const at = static_cast<std::size_t>(cut);
        double const own = nth(until, end) - until[at];
        double const more = c.volume[at - 1] * nth(c.link, stage - 1);
        auto const& before = fronts[index(stage - 1, cut)];
        for (std::size_t i = 0; i < before.size(); ++i)
          plan_detail::add(fronts[index(stage, end)], {.longest = max_of(before[i].longest, own),
                                                       .cuts = before[i].cuts + more,
                                                       .previous_end = cut,
                                                       .previous = static_cast<int>(i)});
      }
  auto const& last = fronts[index(stage_count - 1, n)];
  std::size_t best = 0;
  auto const time = [&](cut_choice const& made) { return c.repeats * made.longest + made.cuts; };
  for (std::size_t i = 1; i < last.size(); ++i)
    if (time(last[i]) < time(last[best])) best = i;
  std::vector<int> sizes;
  for (int stage = stage_count - 1, end = n; stage >= 0; --stage) {
    cut_choice const made = fronts[index(stage, end)][best];
    sizes.push_back(end - made.previous_end);
    end = made.previous_end;
    best = static_cast<std::size_t>(made.previous);
  }
  reverse(sizes);
  return sizes;
}

}  // namespace ashlar
