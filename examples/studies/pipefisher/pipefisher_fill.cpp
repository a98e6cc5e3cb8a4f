// Second-order work in the bubbles of GPipe, 1F1B and Chimera (PipeFisher, arXiv 2211.14133): whole
// schedules, label by label, and steps and utilisation of cases made of measured layers (DATA_DIR holds
// layer_profiles.csv). best_fit is held against that and against the bound, under the same margin and
// the same order of work: each refresh by itself, and interlocked with the next one.
#include "pipefisher_cases.hpp"
#include "pipefisher_schedules.hpp"

#include <nlohmann/json.hpp>

#include <iostream>
#include <string>

int main(int argc, char** argv) {
  return systems::run(
      argc, argv, [](nlohmann::json const& gold, std::string const& data, systems::report& r) {
        systems::best_fit_scores scores;
        if (gold.contains("cases")) {
          systems::profiles const all(data);
          for (nlohmann::json const& row : gold.at("cases")) systems::compare_case(row, all, r, scores);
        } else {
          systems::compare_schedules(gold, r, scores);
        }
        auto const say = [&](std::string const& what, systems::best_fit_score const& s) {
          std::cout << what << " takes no more steps than published on " << s.not_worse << " of "
                    << s.devices << " devices; on " << s.impossible
                    << " no schedule does that has all work after its inputs\n";
          r.holds(what + " takes no more steps than published on nine of ten devices that can",
                  10 * s.not_worse >= 9 * (s.devices - s.impossible));
        };
        say("best_fit", scores.alone);
        say("best_fit, interlocked,", scores.interlocked);
      });
}
