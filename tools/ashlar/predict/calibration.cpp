#include "predict/calibration.hpp"

#include "command.hpp"
#include "predict/embedded.hpp"
#include "predict/runs_file.hpp"
#include "predict/words.hpp"
#include "report/table.hpp"
#include <ashlar/cost/step/calibrate.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace tool {

namespace {

double mean_error(std::vector<double> const& ratios) {
  double sum = 0;
  for (double each : ratios) sum += std::fabs(each - 1);
  return sum / static_cast<double>(ratios.size());
}

// Ratios of measured to predicted: the middle of each tenth of runs at both ends.
std::string spread_words(std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  auto const at = [&](double share) {
    return 1 / ratios[static_cast<std::size_t>(share * static_cast<double>(ratios.size() - 1) + 0.5)];
  };
  return fmt::format("nine of ten took {:.2f} to {:.2f} times what was predicted", at(0.95), at(0.05));
}

// Within how much runs of a kind are apart, now that some are known: as many of other sources count as
// `PRIOR` in bench/predict/spreads.py. Doubts about constants stand for the distance between sources.
void learn(ashlar::cost::spread& known, std::vector<double> const& alone) {
  constexpr double prior = 3;
  double squares = prior * known.within * known.within;
  for (double ratio : alone) squares += std::log(ratio) * std::log(ratio);
  known.own_runs += static_cast<int>(alone.size());
  known.within = std::sqrt(squares / (prior + static_cast<double>(alone.size())));
  known.between = 0;
}

// Whether all steps of both lists are predicted to take as long.
bool are_predicted_alike(std::vector<ashlar::cost::question> const& some,
                         std::vector<ashlar::cost::question> const& others,
                         ashlar::cost::constants const& c) {
  auto const seconds = [&](ashlar::cost::question const& q) {
    return step_of(q, stages_of(q), c).seconds;
  };
  for (std::size_t i = 0; i < some.size(); ++i)
    if (std::abs(seconds(some[i]) - seconds(others[i])) > 0) return false;
  return true;
}

// Assumed facts that the runs contradict: with another value, errors and the changes of constants that
// they take are less likely to be noise, by two standard deviations.
std::string contradictions(std::vector<ashlar::cost::question> const& asked,
                           std::vector<double> const& measured, fitted_constants const& start,
                           double misfit) {
  using namespace ashlar::cost;
  constexpr double much = 4;
  std::string text;
  for (std::size_t i = 0; i < fact_table.size(); ++i)
    for (std::size_t value = 0; value < fact_table[i].values.size(); ++value) {
      if (fact_table[i].values[value] == nullptr) continue;
      std::vector<question> others = asked;
      bool is_new = true;
      for (question& q : others) {
        bool const is_assumed = q.program.facts.of[i] == given_facts::not_said;
        is_new = is_new && is_assumed && stack_of(q).facts.of[i] != value;
        q.program.facts.of[i] = static_cast<unsigned char>(value);
      }
      if (!is_new || are_predicted_alike(asked, others, start.values)) continue;
      calibration const other = calibrate(others, measured, start.values, start.spread);
      if (other.misfit < misfit - much)
        text += fmt::format("These runs look as if --fact {}={} ({}): mean error {} % fitted\n",
                            fact_table[i].name, fact_table[i].values[value], fact_table[i].meaning,
                            percent(mean_error(other.after), 1));
    }
  return text;
}

}  // namespace

calibration_report calibrate_to(std::string const& runs_path, fitted_constants const& start) {
  std::vector<measured_run> const runs = read_runs(runs_path, start);
  std::vector<ashlar::cost::question> asked;
  std::vector<double> measured;
  for (measured_run const& run : runs) {
    if (!(run.seconds > 0))
      throw usage_error(fmt::format("'{}', line {}: lacks step_seconds", runs_path, run.line));
    asked.push_back(run.asked.asked);
    measured.push_back(run.seconds);
    try {
      check(asked.back());
      stages_of(asked.back());
    } catch (ashlar::cost::unpredictable const& e) {
      throw usage_error(
          fmt::format("'{}', line {}: {}", runs_path, run.line, sentence_of(e, asked.back())));
    }
  }
  ashlar::cost::calibration const found = calibrate(asked, measured, start.values, start.spread);

  std::vector<double> const left_out = ratios_left_out(asked, measured, start.values, start.spread);

  calibration_report report;
  report.text =
      fmt::format("{} runs; mean error {} % with the constants as they were, {} % fitted", runs.size(),
                  percent(mean_error(found.before), 1), percent(mean_error(found.after), 1));
  if (left_out.empty())
    report.text += "\nToo few runs to say how well this predicts others: that takes ten.\n";
  else
    report.text += fmt::format(", {} % of runs that had no part in the fit\nOf these, {}\n",
                               percent(mean_error(left_out), 1), spread_words(left_out));
  std::vector<std::vector<std::string>> rows{{"constant", "was", "is", "known to"}};
  auto file = nlohmann::ordered_json::parse(embedded_constants());
  for (ashlar::cost::named_constant const& each : ashlar::cost::constant_names)
    file["constants"][each.name]["value"] = found.fitted.*each.value;
  std::vector<std::size_t> const& fitted = found.doubts.of;
  file["doubts"] = {{"constants", nlohmann::json::array()}, {"covariance", found.doubts.covariance}};
  for (std::size_t i = 0; i < fitted.size(); ++i) {
    ashlar::cost::named_constant const& each = ashlar::cost::constant_names[fitted[i]];
    double const was = start.values.*each.value, is = found.fitted.*each.value,
                 known_to = std::sqrt(found.doubts.covariance[i * fitted.size() + i]);
    file["constants"][each.name]["spread"] = known_to;
    file["doubts"]["constants"].push_back(each.name);
    if (std::fabs(is / was - 1) > 0.005)
      rows.push_back(
          {each.name, fmt::format("{:.3g}", was), fmt::format("{:.3g}", is),
           fmt::format("{:.0f} %, was {:.0f} %", 100 * known_to, 100 * start.spread[fitted[i]])});
  }
  report.text += contradictions(asked, measured, start, found.misfit);
  for (std::size_t kind = 0; kind < ashlar::cost::run_kind_count; ++kind) {
    ashlar::cost::spread known = start.around.steps.kinds[kind];
    std::vector<double> alone;
    for (std::size_t i = 0; i < asked.size(); ++i)
      if (static_cast<std::size_t>(run_kind_of(asked[i])) == kind) alone.push_back(found.alone[i]);
    if (alone.empty() || known.runs == 0) continue;
    learn(known, alone);
    char const* const name = name_of(static_cast<ashlar::cost::run_kind>(kind));
    auto& of = file["steps"]["kinds"][name];
    of["within"] = known.within;
    of["between"] = known.between;
    of["own_runs"] = known.own_runs;
    report.text += fmt::format(
        "{}: runs are taken to be {:.0f} % apart, and what is left open about "
        "constants counts in place of other sources\n",
        name, 100 * known.within);
  }
  if (rows.size() > 1) report.text += "\n" + table(rows, 1);
  std::vector<std::vector<std::string>> worst{{"line", "measured s", "was", "is"}};
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < runs.size(); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::fabs(std::log(found.after[a])) > std::fabs(std::log(found.after[b]));
  });
  for (std::size_t i = 0; i < std::min<std::size_t>(5, order.size()); ++i) {
    std::size_t const run = order[i];
    worst.push_back({fmt::format("{}", runs[run].line), fmt::format("{:.4g}", measured[run]),
                     fmt::format("{:+.0f} %", 100 * (found.before[run] - 1)),
                     fmt::format("{:+.0f} %", 100 * (found.after[run] - 1))});
  }
  report.text += "\nThe runs that are furthest off:\n" + table(worst);
  report.constants = file.dump(1) + "\n";
  return report;
}

}  // namespace tool
