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
#include <array>
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

// How far steps of this kind are, now that some runs of the source are known: the mean of a source is
// known as well as its runs say, and no worse than before.
ashlar::cost::spread learnt(ashlar::cost::spread s, std::size_t runs) {
  double const before = s.between * s.between, own = s.within * s.within;
  s.between = std::sqrt(before * own / (own + static_cast<double>(runs) * before));
  return s;
}

// Assumed facts that the runs contradict: with another value all of them are predicted much better.
std::string contradictions(std::vector<ashlar::cost::question> const& asked,
                           std::vector<double> const& measured, fitted_constants const& start,
                           double error) {
  using namespace ashlar::cost;
  constexpr double much = 0.75;
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
      if (!is_new) continue;
      double const other = mean_error(calibrate(others, measured, start.values).after);
      if (other < much * error)
        text += fmt::format("These runs look as if --fact {}={}: mean error {} % fitted\n",
                            fact_table[i].name, fact_table[i].values[value], percent(other, 1));
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
  ashlar::cost::calibration const found = calibrate(asked, measured, start.values);

  calibration_report report;
  report.text =
      fmt::format("{} runs; mean error {} % with the constants as they were, {} % fitted", runs.size(),
                  percent(mean_error(found.before), 1), percent(mean_error(found.after), 1));
  if (found.left_out.empty())
    report.text += "\nToo few runs to say how well this predicts others: that takes ten.\n";
  else
    report.text += fmt::format(", {} % of runs that had no part in the fit\nOf these, {}\n",
                               percent(mean_error(found.left_out), 1), spread_words(found.left_out));
  std::vector<std::vector<std::string>> rows{{"constant", "was", "is"}};
  auto file = nlohmann::ordered_json::parse(embedded_constants());
  for (ashlar::cost::named_constant const& each : ashlar::cost::constant_names) {
    double const was = start.values.*each.value, is = found.fitted.*each.value;
    file["constants"][each.name]["value"] = is;
    if (std::fabs(is / was - 1) > 0.005)
      rows.push_back({each.name, fmt::format("{:.3g}", was), fmt::format("{:.3g}", is)});
  }
  report.text += contradictions(asked, measured, start, mean_error(found.after));
  std::array<std::size_t, ashlar::cost::run_kind_count> of_kind{};
  for (auto const& q : asked) ++of_kind[static_cast<std::size_t>(run_kind_of(q))];
  for (std::size_t kind = 0; kind < of_kind.size(); ++kind) {
    ashlar::cost::spread const& known = start.around.steps.kinds[kind];
    if (of_kind[kind] == 0 || known.runs == 0) continue;
    double const between = learnt(known, of_kind[kind]).between;
    char const* const name = name_of(static_cast<ashlar::cost::run_kind>(kind));
    file["steps"]["kinds"][name]["between"] = between;
    report.text += fmt::format("{}: the interval is for {:.0f} % between sources, was {:.0f} %\n", name,
                               100 * between, 100 * known.between);
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
