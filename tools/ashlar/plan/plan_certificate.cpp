#include "plan/plan_certificate.hpp"

#include "predict/dealt_layout.hpp"
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/step/memory.hpp>
#include <ashlar/cost/step/step.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace tool {

namespace {

using ashlar::cost::question;
using nlohmann::ordered_json;

constexpr std::int64_t of_roundings = 10;  // nanoseconds of the terms of a step

std::int64_t in_nanoseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

ordered_json json_of(weighed_layout const& w) {
  ordered_json row{{"layout", w.options}, {"micro_batches", w.micro_batches},
                   {"passes", w.passes},  {"fill", w.fill},
                   {"rest", w.rest},      {"bytes", w.bytes}};
  if (w.simulated > 0) row["simulated"] = w.simulated;
  return row;
}

std::int64_t time_of(weighed_layout const& w) { return w.simulated > 0 ? w.simulated : w.nanoseconds(); }

// Takes the simulated time where the passes and what the device waits for say too little.
void simulate_if_below(weighed_layout& w, std::int64_t least, question const& q,
                       ashlar::cost::constants const& c) {
  if (!w.fits || w.nanoseconds() >= least) return;
  double const seconds = step_of(q, stages_of(q), c).seconds;
  w.simulated = in_nanoseconds(seconds);
}

// Why the order of the plans has no certificate, or nothing.
std::string obstacle_of(predicted_request const& r, predicted_study const& s) {
  if (s.aim == plan_aim::cost) return "its layouts are on parts of the cluster";
  if (s.asked.asked.cluster.has_several_kinds()) return "its devices are of several kinds";
  if (!r.schedules.empty() || r.runs_in != nullptr) return "some schedules are left out";
  if (s.asked.asked.layout.lanes) return "lanes are simulated, and change the times of passes";
  if (!s.found.is_whole) return "the interrupt left layouts out";
  return {};
}

std::int64_t room_of(prediction const& p) {
  return static_cast<std::int64_t>(p.answer.capacity - p.constants.values.outside_bytes);
}

// Layouts are many: they are text.
void add_with(certificates& proofs, ordered_json const& plan, std::string const& layouts) {
  std::string text = plan.dump();
  text.pop_back();
  proofs.add(text + ",\"layouts\":[" + layouts + "]}");
}

void certify_order(certificates& proofs, predicted_request const& r, predicted_study const& s,
                   noted_layouts const& tried) {
  prediction const& first = s.plans[0].run;
  ashlar::cost::constants const& c = first.constants.values;
  std::string const claim = "that no layout is faster than " + rank_options(first.asked);
  if (std::string const why = obstacle_of(r, s); !why.empty()) return proofs.refuse(claim, why);
  std::int64_t const room = room_of(first);
  weighed_layout own = weigh(first.asked, c);
  simulate_if_below(own, in_nanoseconds(first.answer.step.seconds) - of_roundings, first.asked, c);
  std::int64_t const time = time_of(own), least = time - of_roundings;
  std::string rows;
  for (weighed_layout const& row : tried.weighed(least, c)) {
    if (row.fits ? time_of(row) < least : row.bytes <= room)
      return proofs.refuse(claim, "passes and bytes alone do not say so of " + row.options);
    rows += (rows.empty() ? "" : ",") + json_of(row).dump();
  }
  add_with(proofs,
           ordered_json{{"certificate", "plan"},
                        {"schedule", rank_options(first.asked)},
                        {"room", room},
                        {"first", json_of(own)},
                        {"nanoseconds", time},
                        {"least", least}},
           rows);
}

}  // namespace

std::int64_t weighed_layout::nanoseconds() const {
  std::int64_t all = 0;
  for (auto const& [forward, backward] : passes) all += forward + backward;
  return micro_batches * all + fill + rest;
}

weighed_layout weigh(question const& q, ashlar::cost::constants const& c) {
  using namespace ashlar::cost;
  std::vector<stage> const stages = stages_of(q);
  step_terms const step = step_of(q, stages, c, uneven_rounds::by_closed_form);
  std::vector<memory_parts> const held = memory_of(q, stages, c);
  weighed_layout made{.options = rank_options(q), .micro_batches = q.micro_batches(), .passes = {}};
  ashlar::placement const where = placement_of(q);
  for (int s = 0; s < where.stage_count(); ++s)
    if (where.device_of(0, s) == step.device) {
      stage_passes const& of = step.of_stages[static_cast<std::size_t>(s)];
      made.passes.emplace_back(in_nanoseconds(of.forward.seconds()),
                               in_nanoseconds(of.backward.seconds()));
    }
  // Uneven rounds wait for something else, at least for nothing.
  made.is_exact = !has_uneven_rounds(q, step.of_stages) && step.run.is_empty();
  made.fill = made.is_exact ? in_nanoseconds(step.bubble) : 0;
  made.rest = in_nanoseconds(step.seconds - step.passes - step.bubble);
  made.bytes = static_cast<std::int64_t>(peak_bytes(held));
  made.fits = fits(q, held, c);
  return made;
}

void noted_layouts::note(question const& q, ashlar::cost::constants const& c) {
  weighed_layout made = weigh(q, c);
  if (made.fits && made.is_exact) shortest_ = std::min(shortest_, made.nanoseconds());
  if (made.fits && !made.is_exact && made.nanoseconds() < shortest_)
    unclear_.push_back({all_.size(), q});
  all_.push_back(std::move(made));
}

std::vector<weighed_layout> noted_layouts::weighed(std::int64_t least,
                                                   ashlar::cost::constants const& c) const {
  std::vector<weighed_layout> made = all_;
  for (unclear_layout const& each : unclear_) simulate_if_below(made[each.number], least, each.asked, c);
  return made;
}

void certify(certificates& proofs, predicted_request const& r, predicted_study const& s,
             noted_layouts const& tried) {
  prediction const& first = s.plans[0].run;
  certify_order(proofs, r, s, tried);
  if (s.plans[0].bound <= 0) return;
  dealt_layout division{.run = first, .typed = first, .of_typed = {}, .bound = s.plans[0].bound};
  division.run.asked.layout.stages = stages_of(first.asked);
  if (std::string const why = certificate_obstacle(division); !why.empty())
    proofs.refuse("the division of the layers of " + rank_options(first.asked), why);
  else
    proofs.add(certificate_of(division));
}

void certify_none(certificates& proofs, predicted_study const& s, noted_layouts const& tried) {
  prediction const& smallest = s.smallest.run;
  std::string const claim = "that no layout fits";
  if (smallest.answer.memory.empty() || smallest.asked.cluster.has_several_kinds())
    return proofs.refuse(claim, "its devices are of several kinds");
  std::int64_t const room = room_of(smallest);
  std::string rows;
  for (weighed_layout const& row : tried.weighed(0, smallest.constants.values)) {
    if (row.bytes <= room) return proofs.refuse(claim, "the hosts have no room for " + row.options);
    rows += (rows.empty() ? "" : ",") + json_of(row).dump();
  }
  add_with(proofs,
           ordered_json{{"certificate", "plan"}, {"schedule", s.asked.model.name}, {"room", room}},
           rows);
}

}  // namespace tool
