#include "plan/executed_plans.hpp"

#include "command.hpp"
#include "predict/best_layouts.hpp"
#include "predict/layout_words.hpp"
#include "predict/names.hpp"
#include "predict/question_options.hpp"
#include "predict/words.hpp"
#include "report/interrupt_watch.hpp"
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/cost/choose/dealing.hpp>
#include <ashlar/cost/choose/dealing_by_speed.hpp>
#include <ashlar/cost/choose/layout_sizes.hpp>
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/step/memory.hpp>
#include <ashlar/render/diagnosis.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace tool {

namespace {

using ashlar::catalog::entry;
using ashlar::cost::question;
using ashlar::cost::stage;

constexpr double executed_passes = 60'000;  // of a schedule; more take too long to be tried in dozens

// The entry with few passes; none where it has no such schedule, or would have to search.
std::optional<ashlar::schedule> small_schedule(entry const& e) {
  ashlar::catalog::shape const few{
      .p = ashlar::devices{2}, .m = ashlar::micro_batches{8}, .v = ashlar::chunks{2}};
  if (e.is_searched || !e.check(few).ok()) return {};
  return e.make(few);
}

bool has_pairs(entry const& e) {
  std::optional<ashlar::schedule> const s = small_schedule(e);
  if (!s) return false;
  for (auto const& order : s->order)
    for (ashlar::time_slot const& t : order)
      if (t.is_pair()) return true;
  return false;
}

// Whether its stages are consecutive layers of a model.
bool is_of_layers(entry const& e) {
  std::optional<ashlar::schedule> const s = small_schedule(e);
  return !s || is_chain(s->graph);
}

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
  try {
    check(q);
    return deal_layers(q, c).stages;
  } catch (ashlar::cost::unpredictable const&) {
    return {};
  }
}

// The order of passes stays as it was executed, and with it how many micro-batches are held.
bool fits_with(predicted_plan const& plan, ashlar::cost::recomputation again) {
  question q = plan.run.asked;
  q.layout.recompute = again;
  ashlar::cost::constants const& c = plan.run.constants.values;
  return fits(q, memory_of(q, stages_of(q), c, plan.run.answer.step.run), c);
}

double seconds_run_again(predicted_plan const& plan, ashlar::cost::recomputation again) {
  question q = plan.run.asked;
  q.layout.recompute = again;
  double seconds = 0;
  for (ashlar::cost::stage_passes const& s : passes_of(q, stages_of(q), plan.run.constants.values))
    seconds += s.backward.seconds();
  return seconds;
}

// Recomputes the cheapest parts that make it fit.
bool is_made_to_fit(predicted_plan& plan) {
  question& q = plan.run.asked;
  std::vector<ashlar::cost::recomputation> sets = ashlar::cost::layouts_detail::part_sets_of(q.model);
  sets.push_back(ashlar::cost::recomputation::full);
  std::optional<std::pair<double, ashlar::cost::recomputation>> best;
  q.layout.recompute_in = {};
  for (ashlar::cost::recomputation again : sets) {
    if (!fits_with(plan, again)) continue;
    double const seconds = seconds_run_again(plan, again);
    if (!best || seconds < best->first) best = {seconds, again};
  }
  if (!best) return false;
  q.layout.recompute = best->second;
  plan.run.recompute = recompute_word(q);
  std::string unused;
  return is_answered(plan, unused) && plan.run.answer.fits;
}

// Chunks to try: as the layout has them; if it has one, those that pairs may have.
std::vector<int> chunks_for(predicted_plan const& plan, entry const& e, bool pairs) {
  int const chunks = plan.run.asked.layout.chunks;
  bool const has_chunks =
      e.uses(ashlar::parameter::chunk_count) || e.uses(ashlar::parameter::wave_count);
  if (!has_chunks) return {1};
  return chunks == 1 && pairs ? std::vector{2, 4, 8} : std::vector{std::max(2, chunks)};
}

// The layout with the catalog's schedule, if there is such a run and it fits; else `why` says the first
// reason.
std::optional<predicted_plan> executed(predicted_plan const& plan, entry const& e, int chunks,
                                       bool may_run_again, std::string& why) {
  auto const none = [&why](std::string const& reason) -> std::optional<predicted_plan> {
    if (why.empty()) why = reason;
    return {};
  };
  predicted_plan made = plan;
  question& q = made.run.asked;
  q.layout.chunks = chunks;
  q.layout.order = &e;
  q.layout.stages.clear();
  q.layout.counts_ends = false;
  made.run.layout.clear();
  made.run.schedule = e.name;
  made.bound = 0;
  if (96.0 * q.layout.pipeline * q.layout.pipeline > executed_passes)
    return none("its passes are too many to be tried");
  int stages = 0;
  try {
    stages = ashlar::cost::stage_count(q);
  } catch (ashlar::cost::unpredictable const& x) {
    return none(sentence_of(x, q));
  } catch (ashlar::violation const& v) {
    return none(ashlar::explain(v.why));
  }
  if (stages > q.model.layer_count())
    return none(fmt::format("it has {} stages, and the model {} layers", stages, q.model.layer_count()));
  std::optional<predicted_plan> best;
  auto const try_it = [&](predicted_plan each) {
    if (!is_answered(each, why)) return;
    if (!each.run.answer.fits && !(may_run_again && is_made_to_fit(each))) {
      none("it does not fit on the best layouts");
      return;
    }
    if (!best || each.run.answer.step.seconds < best->run.answer.step.seconds) best = std::move(each);
  };
  try_it(made);
  q.layout.stages = dealt_in_a_row(q, stages, made.run.constants.values);
  if (q.layout.stages.empty()) return best;
  settle_stages(made.run);
  try_it(made);
  return best;
}

}  // namespace

std::vector<entry const*> executed_entries(std::string const& names, bool& has_1f1b, bool& interleaves) {
  has_1f1b = interleaves = names.empty();
  std::vector<entry const*> all;
  if (names.empty()) {
    for (entry const& each : ashlar::catalog::entries)
      if (std::string_view(each.name) != "1f1b" && std::string_view(each.name) != "depth-first"
          && is_of_layers(each))
        all.push_back(&each);
    return all;
  }
  for (std::string_view rest = names;;) {
    auto const comma = rest.find(',');
    std::string const name(rest.substr(0, comma));
    entry const* const e = ashlar::catalog::find_any(name);
    if (e == nullptr)
      throw usage_error(
          fmt::format("--schedules takes names that `ashlar list` has, not '{}'", name.substr(0, 64)));
    if (std::string_view(e->name) == "1f1b") {
      has_1f1b = true;
    } else if (std::string_view(e->name) == "depth-first") {
      interleaves = true;
    } else if (is_of_layers(*e)) {
      all.push_back(e);
    } else {
      throw usage_error(fmt::format(
          "--schedules: {} is not planned: its stages are not consecutive layers, but shards of one "
          "layer among them, or stages beside each other",
          e->name));
    }
    if (comma == std::string_view::npos) return all;
    rest.remove_prefix(comma + 1);
  }
}

bool any_has_pairs(std::vector<entry const*> const& entries) {
  return std::any_of(entries.begin(), entries.end(), [](entry const* e) { return has_pairs(*e); });
}

std::vector<std::string> add_executed(std::vector<predicted_plan>& plans,
                                      std::vector<predicted_plan> const& for_pairs,
                                      std::vector<entry const*> const& entries, bool may_run_again) {
  std::vector<predicted_plan> bases;
  for (predicted_plan const& each : plans)
    if (each.run.asked.layout.pipeline > 1 && bases.size() < executed_layouts) bases.push_back(each);
  interrupt_watch const watch;
  std::string why;  // of the entry that is tried
  bool is_any = false;
  auto const try_it = [&](predicted_plan const& base, entry const& e, int chunks) {
    std::optional<predicted_plan> made = executed(base, e, chunks, may_run_again, why);
    if (!made) return;
    is_any = true;
    std::string const options = options_of(made->run);
    for (predicted_plan const& each : plans)
      if (options_of(each.run) == options) return;
    plans.push_back(std::move(*made));
  };
  auto const try_on = [&](std::vector<predicted_plan> const& layouts, entry const& e, bool pairs) {
    for (predicted_plan const& base : layouts)
      for (int const chunks : chunks_for(base, e, pairs)) {
        if (interrupt_watch::has_come()) return;
        try_it(base, e, chunks);
      }
  };
  std::vector<std::string> left_out;
  for (entry const* e : entries) {
    bool const pairs = has_pairs(*e);
    why.clear();
    is_any = false;
    try_on(bases, *e, pairs);
    if (pairs) try_on(for_pairs, *e, pairs);
    if (!is_any)
      left_out.push_back(
          fmt::format("{}: {}", e->name, why.empty() ? "no layout that fits has a pipeline" : why));
  }
  return left_out;
}

}  // namespace tool
