#include "plan/executed_plans.hpp"

#include "command.hpp"
#include "plan/executed_entries.hpp"
#include "predict/best_layouts.hpp"
#include "predict/layout_words.hpp"
#include "predict/names.hpp"
#include "predict/question_options.hpp"
#include "predict/words.hpp"
#include "report/interrupt_watch.hpp"
#include <ashlar/core/refuse.hpp>
#include <ashlar/cost/choose/dealing.hpp>
#include <ashlar/cost/choose/dealing_by_speed.hpp>
#include <ashlar/cost/choose/layout_sizes.hpp>
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/step/memory.hpp>
#include <ashlar/render/diagnosis.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

namespace tool {

namespace {

using ashlar::catalog::entry;
using ashlar::cost::question;
using ashlar::cost::recomputation;
using ashlar::cost::schedule_traits;
using ashlar::cost::stage;

constexpr double executed_passes = 60'000;  // of a schedule; more take too long to be tried in dozens

// Asks; `why` has the first reason if there is no such run: not every schedule is for these sizes.
bool is_answered(predicted_plan& plan, std::string& why) {
  try {
    answer_it(plan.run);
    return true;
  } catch (usage_error const& e) {
    if (why.empty()) why = e.what();
  }
  return false;
}

// The stages of each device in proportion to its speed.
std::vector<stage> dealt_by_speed(question const& q, ashlar::cost::constants const& c) {
  try {
    return deal_by_speed(q, placement_of(q), c);
  } catch (ashlar::cost::unpredictable const&) {
    return {};
  }
}

// The best division into `stages` stages, if each were a device.
std::vector<stage> dealt_in_a_row(question q, int stages, ashlar::cost::constants const& c) {
  if (q.cluster.has_several_kinds()) return dealt_by_speed(q, c);
  q.cluster.kinds.front().devices = q.cluster.device_count() / q.layout.pipeline * stages;
  q.layout.pipeline = stages;
  q.layout.chunks = 1;
  q.layout.order = ashlar::cost::closed_form{};
  q.layout.lanes.reset();
  try {
    check(q);
    return deal_layers(q, c).stages;
  } catch (ashlar::cost::unpredictable const&) {
    return {};
  }
}

// The order of passes stays as it was executed, and with it how many micro-batches are held.
bool fits_with(predicted_plan const& plan, recomputation again) {
  question q = plan.run.asked;
  q.layout.recompute = again;
  ashlar::cost::constants const& c = plan.run.constants.values;
  return fits(q, memory_of(q, stages_of(q), c, plan.run.answer.step.run), c);
}

double seconds_run_again(predicted_plan const& plan, recomputation again) {
  question q = plan.run.asked;
  q.layout.recompute = again;
  double seconds = 0;
  for (ashlar::cost::stage_passes const& s : passes_of(q, stages_of(q), plan.run.constants.values))
    seconds += s.backward.seconds();
  return seconds;
}

// Recomputes the cheapest parts that make it fit. Gives up where the plan could not be shown then.
bool is_made_to_fit(predicted_plan& plan, schedule_traits const& traits, bound_of_shown const& bound) {
  question& q = plan.run.asked;
  std::vector<recomputation> sets = ashlar::cost::layouts_detail::part_sets_of(q.model);
  sets.push_back(recomputation::full);
  q.layout.recompute_in = {};
  std::vector<std::pair<double, recomputation>> cheapest;
  for (recomputation again : sets) cheapest.emplace_back(seconds_run_again(plan, again), again);
  std::stable_sort(cheapest.begin(), cheapest.end(),
                   [](auto const& a, auto const& b) { return a.first < b.first; });
  std::vector<recomputation> too_slow;  // cheaper than those that come now
  auto const fits_so = [&](recomputation again) { return fits_with(plan, again); };
  for (auto const& [seconds, again] : cheapest) {
    q.layout.recompute = again;
    if (bound.is_exceeded_by(bound.least_of(q, traits, plan.run.constants.values))) {
      too_slow.push_back(again);
      continue;
    }
    if (!fits_so(again)) continue;
    if (std::any_of(too_slow.begin(), too_slow.end(), fits_so)) return false;
    q.layout.recompute = again;
    plan.run.recompute = recompute_word(q);
    std::string unused;
    return is_answered(plan, unused) && plan.run.answer.fits;
  }
  return false;
}

// Chunks to try: as the layout has them; if it has one, those that pairs may have.
std::vector<int> chunks_for(predicted_plan const& plan, entry const& e, bool pairs) {
  int const chunks = plan.run.asked.layout.chunks;
  bool const has_chunks =
      e.uses(ashlar::parameter::chunk_count) || e.uses(ashlar::parameter::wave_count);
  if (!has_chunks) return {1};
  return chunks == 1 && pairs ? std::vector{2, 4, 8} : std::vector{std::max(2, chunks)};
}

// A layout with a schedule of the catalog in its chunks, to be executed.
struct trial {
  schedule_traits traits;
  std::vector<predicted_plan> divisions;  // even, and the best for as many stages in a row
  double least = 0;                       // that the study may make of any of them
};

// Notes the first reason.
void note(std::string& why, std::string const& reason) {
  if (why.empty()) why = reason;
}

// Empty if there is no such run; else `why` says the first reason.
std::vector<predicted_plan> divisions_of(predicted_plan const& plan, entry const& e, int chunks,
                                         std::string& why) {
  predicted_plan made = plan;
  question& q = made.run.asked;
  q.layout.chunks = chunks;
  q.layout.order = &e;
  q.layout.stages.clear();
  q.layout.counts_ends = false;
  made.run.layout.clear();
  made.run.schedule = e.name;
  made.bound = 0;
  if (96.0 * q.layout.pipeline * q.layout.pipeline > executed_passes) {
    note(why, "its passes are too many to be tried");
    return {};
  }
  int stages = 0;
  try {
    stages = ashlar::cost::stage_count(q);
  } catch (ashlar::cost::unpredictable const& x) {
    note(why, sentence_of(x, q));
    return {};
  } catch (ashlar::violation const& v) {
    note(why, ashlar::explain(v.why));
    return {};
  }
  if (stages > q.model.layer_count()) {
    note(why, fmt::format("it has {} stages, and the model {} layers", stages, q.model.layer_count()));
    return {};
  }
  std::vector<predicted_plan> all{made};
  q.layout.stages = dealt_in_a_row(q, stages, made.run.constants.values);
  if (q.layout.stages.empty()) return all;
  settle_stages(made.run);
  all.push_back(std::move(made));
  return all;
}

// The least that the study may make of a plan. One that does not fit may recompute less than it was
// planned to.
double least_of(predicted_plan const& p, schedule_traits const& traits, bool may_run_again,
                bound_of_shown const& bound) {
  question q = p.run.asked;
  double const as_it_is = bound.least_of(q, traits, p.run.constants.values);
  if (!may_run_again || q.layout.recompute == recomputation::none) return as_it_is;
  q.layout.recompute = recomputation::none;
  return std::min(as_it_is, bound.least_of(q, traits, p.run.constants.values));
}

// The best division that fits, among those that may still be shown; else `why` says the first reason.
std::optional<predicted_plan> executed(trial& t, bool may_run_again, bound_of_shown const& bound,
                                       std::string& why) {
  std::optional<predicted_plan> best;
  for (predicted_plan& each : t.divisions) {
    if (bound.is_exceeded_by(least_of(each, t.traits, may_run_again, bound))) continue;
    if (!is_answered(each, why)) continue;
    if (!each.run.answer.fits && !(may_run_again && is_made_to_fit(each, t.traits, bound))) {
      note(why, "it does not fit on the best layouts");
      continue;
    }
    if (!best || each.run.answer.step.seconds < best->run.answer.step.seconds) best = std::move(each);
  }
  return best;
}

}  // namespace

std::vector<std::string> add_executed(std::vector<predicted_plan>& plans,
                                      std::vector<predicted_plan> const& for_pairs,
                                      std::vector<entry const*> const& entries, bool may_run_again,
                                      shown_plans const* shown) {
  std::vector<predicted_plan> bases;
  for (predicted_plan const& each : plans)
    if (each.run.asked.layout.pipeline > 1 && bases.size() < executed_layouts) bases.push_back(each);
  interrupt_watch const watch;
  bound_of_shown bound(shown, plans);
  std::vector<trial> trials;
  std::vector<std::optional<predicted_plan>> found;  // by trial
  auto const run = [&](std::size_t i, std::string& why) {
    found[i] = executed(trials[i], may_run_again, bound, why);
    trials[i].divisions.clear();
    if (found[i]) bound.count(*found[i]);
  };
  std::vector<std::string> left_out;
  std::string why;  // of the entry that is tried
  for (entry const* e : entries) {
    bool const pairs = has_pairs(*e);
    schedule_traits const traits = traits_of(*e);
    why.clear();
    bool is_any = false;
    auto const try_on = [&](std::vector<predicted_plan> const& layouts) {
      for (predicted_plan const& base : layouts)
        for (int const chunks : chunks_for(base, *e, pairs)) {
          if (interrupt_watch::has_come()) return;
          trials.push_back({traits, divisions_of(base, *e, chunks, why)});
          found.emplace_back();
          if (shown != nullptr) continue;
          run(trials.size() - 1, why);
          is_any = is_any || found.back();
        }
    };
    try_on(bases);
    if (pairs) try_on(for_pairs);
    if (shown == nullptr && !is_any)
      left_out.push_back(
          fmt::format("{}: {}", e->name, why.empty() ? "no layout that fits has a pipeline" : why));
  }
  if (shown != nullptr) {
    std::vector<std::size_t> order;
    for (trial& each : trials) {
      each.least = std::numeric_limits<double>::infinity();
      for (predicted_plan const& p : each.divisions)
        each.least = std::min(each.least, least_of(p, each.traits, may_run_again, bound));
      order.push_back(order.size());
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return trials[a].least < trials[b].least; });
    for (std::size_t const i : order) {
      if (interrupt_watch::has_come() || bound.is_exceeded_by(trials[i].least)) break;
      run(i, why);
    }
  }
  std::set<std::string> known;
  for (predicted_plan const& each : plans) known.insert(options_of(each.run));
  for (std::optional<predicted_plan>& each : found)
    if (each && known.insert(options_of(each->run)).second) plans.push_back(std::move(*each));
  return left_out;
}

}  // namespace tool
