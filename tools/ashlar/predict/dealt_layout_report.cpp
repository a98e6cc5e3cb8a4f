// The report of `ashlar layout`.
#include "predict/dealt_layout.hpp"
#include "predict/layout_words.hpp"
#include "report/table.hpp"
#include <ashlar/cost/choose/dealing.hpp>
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/step/execution.hpp>
#include <ashlar/cost/step/memory.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

using ashlar::cost::memory_parts;
using ashlar::cost::question;
using ashlar::cost::stage;
using ashlar::cost::stage_needs;

// Seconds and bytes of a stage.
struct stage_figures {
  stage has;
  int device = 0;
  double forward = 0, backward = 0;  // of a micro-batch
  double state = 0;                  // parameters, gradients, optimizer
  double kept = 0;                   // for the micro-batches that its device holds at once
  double logits = 0;
};

// The most bytes that the stage's micro-batches hold at once on this device.
double kept_on(prediction const& p, std::vector<stage_needs> const& needs, std::size_t s, int device) {
  question const& q = p.asked;
  ashlar::cost::execution const& run = p.answer.step.run;
  auto const d = static_cast<std::size_t>(device);
  if (run.is_empty())
    return needs[s].kept * in_flight(q, device)[s / static_cast<std::size_t>(q.layout.pipeline)];
  std::vector<double> of_this(needs.size());
  of_this[s] = needs[s].kept;
  return run.held(of_this)[d];
}

std::vector<stage_figures> figures_of(prediction const& p) {
  question const& q = p.asked;
  std::vector<stage> const stages = stages_of(q);
  std::vector<stage_needs> const needs = needs_of(q, stages, false, p.constants.values);
  ashlar::placement const where = placement_of(q);
  std::vector<stage_figures> all;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    int const device = where.device_of(0, static_cast<int>(s));
    double const kept = kept_on(p, needs, s, device);
    memory_parts const bytes = memory_of_device(q, needs[s], kept, 1, p.constants.values);
    ashlar::cost::stage_passes const& passes = p.answer.step.of_stages[s];
    all.push_back({.has = stages[s],
                   .device = device,
                   .forward = passes.forward.seconds(),
                   .backward = passes.backward.seconds(),
                   .state = bytes.parameters + bytes.gradients + bytes.optimizer,
                   .kept = kept,
                   .logits = bytes.logits});
  }
  return all;
}

std::string stages_table(prediction const& p) {
  std::vector<std::vector<std::string>> rows{{"stage", "device", "has", "forward, ms", "backward, ms",
                                              "state, GiB", "kept, GiB", "logits, GiB"}};
  int number = 0;
  for (stage_figures const& s : figures_of(p)) {
    std::string const letters = megatron_letters(s.has);
    rows.push_back({fmt::format("{}", number++), fmt::format("{}", s.device),
                    letters.empty() ? "-" : letters, fmt::format("{:.2f}", 1e3 * s.forward),
                    fmt::format("{:.2f}", 1e3 * s.backward), gibibytes(s.state), gibibytes(s.kept),
                    gibibytes(s.logits)});
  }
  return table(rows);
}

std::string name_of_typed(dealt_layout const& d) {
  return d.typed.layout.empty() ? d.of_typed : fmt::format("{} {}", d.of_typed, d.typed.layout);
}

}  // namespace

std::string text_of(dealt_layout const& d, bool explains) {
  auto const& a = d.run.answer;
  double const seconds = a.step.seconds, gap = 1 - d.bound / seconds;
  std::string text = fmt::format("{}\n{} a step; ", d.run.layout, seconds_words(seconds));
  text += gap < 1e-9     ? "no division is faster\n"
          : d.bound <= 0 ? "the best that was tried\n"
                         : fmt::format("no division takes less than {}, {} % less\n",
                                       seconds_words(d.bound), percent(gap, 1));
  text +=
      fmt::format("{} GiB of {} GiB on the fullest device\n", gibibytes(a.peak), gibibytes(a.capacity));
  if (!d.is_within)
    text += fmt::format("  No division fits: the limit was the peak of {}\n", name_of_typed(d));
  text += fmt::format("{}: {}, {:+.1f} %; {} GiB{}\n", name_of_typed(d),
                      seconds_words(d.typed.answer.step.seconds), 100 * d.lost(),
                      gibibytes(d.typed.answer.peak), d.typed.answer.fits ? "" : ", which does not fit");
  for (std::string const& note : remarks_on(d.run)) text += fmt::format("  {}\n", note);
  if (explains) text += fmt::format("\n{}", stages_table(d.run));
  return text;
}

std::string json_of(dealt_layout const& d) {
  using ordered = nlohmann::ordered_json;
  ordered stages = ordered::array();
  for (stage_figures const& s : figures_of(d.run))
    stages.push_back({{"device", s.device},
                      {"has", megatron_letters(s.has)},
                      {"first_layer", s.has.first},
                      {"layers", s.has.count},
                      {"forward_seconds", s.forward},
                      {"backward_seconds", s.backward},
                      {"state_bytes", s.state},
                      {"kept_bytes", s.kept},
                      {"logit_bytes", s.logits}});
  auto const figures = [](prediction const& p) {
    return ordered{{"step_seconds", p.answer.step.seconds}, {"peak_bytes", p.answer.peak}};
  };
  ordered root{{"layout", d.run.layout}};
  root.update(figures(d.run));
  root["bound_seconds"] = d.bound;
  root["fits"] = d.run.answer.fits;
  root["device_bytes"] = d.run.answer.capacity;
  root["against"] = figures(d.typed);
  root["against"]["layout"] = d.typed.layout;
  root["against"]["percent_slower"] = 100 * d.lost();
  root["stages"] = stages;
  root["torchtitan"] = ordered::array();
  for (stage const& s : d.run.asked.layout.stages) root["torchtitan"].push_back(torchtitan_modules(s));
  root["notes"] = remarks_on(d.run);
  return root.dump(1) + "\n";
}

std::string certificate_obstacle(dealt_layout const& d) {
  ashlar::cost::question const& q = d.run.asked;
  if (q.layout.is_executed()) return "its bound is of a schedule without a closed form";
  if (q.layout.chunks > 1) return "its bound is of virtual stages";
  if (q.cluster.has_several_kinds()) return "its devices are of several kinds";
  if (!d.is_within) return "no division fits";
  return {};
}

std::string certificate_of(dealt_layout const& d) {
  auto const whole = [](double value, double unit = 1) {
    return static_cast<std::int64_t>(value / unit);
  };
  constexpr double nanosecond = 1e-9;
  ashlar::cost::dealt_pieces const found = ashlar::cost::pieces_of(d.run.asked, d.run.constants.values);
  nlohmann::ordered_json pieces = nlohmann::ordered_json::array();
  std::int64_t longest = 0, sum = 0;
  for (ashlar::cost::dealt_piece const& p : found.all) {
    std::int64_t const pace = whole(p.pace, nanosecond), through = whole(p.through, nanosecond);
    pieces.push_back({p.first, p.end, pace, through, whole(p.resident), whole(p.kept)});
    auto const at = std::find(found.ends.begin(), found.ends.end(), p.end);
    if (at == found.ends.end() || (at == found.ends.begin() ? 0 : *(at - 1)) != p.first) continue;
    longest = std::max(longest, pace);
    sum += through;
  }
  std::int64_t const rounding = static_cast<std::int64_t>(found.ends.size()) + 1;
  return nlohmann::ordered_json{
      {"certificate", "division"},   {"schedule", d.run.layout},     {"parts", found.parts},
      {"pieces", std::move(pieces)}, {"in_flight", found.in_flight}, {"room", whole(found.room)},
      {"ends", found.ends},          {"nanoseconds", longest + sum}, {"least", longest + sum - rounding}}
      .dump();
}

}  // namespace tool
