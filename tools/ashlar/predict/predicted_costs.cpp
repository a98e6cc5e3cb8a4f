// A run's predicted passes and messages as a file for --costs.
#include "predict/report.hpp"
#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/cost/step/exchanges.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace tool {

std::string costs_text(prediction const& p) {
  using ordered = nlohmann::ordered_json;
  ashlar::cost::question const& q = p.asked;
  ordered stages = ordered::array();
  for (ashlar::cost::stage_passes passes : p.answer.step.of_stages) {
    // Messages are told beside the passes.
    passes.forward.transfer = passes.backward.transfer = 0;
    stages.push_back({{"forward", passes.forward.seconds()},
                      {"backward_input", passes.input_seconds()},
                      {"backward_weight", passes.weight_seconds()}});
  }
  double bytes = 0;
  for (ashlar::cost::stage const& s : stages_of(q)) bytes = std::max(bytes, bytes_after(q, s));
  double const latency = transfer_seconds(q, 0, p.constants.values),
               seconds = transfer_seconds(q, bytes, p.constants.values);
  ordered costs{{"unit", "s"}, {"stages", stages}, {"message_bytes", static_cast<long long>(bytes)}};
  costs["links"]["inside"] = {{"latency", latency},
                              {"bytes_per_second", bytes / std::max(1e-12, seconds - latency)}};
  costs["measured"] = "predicted by ashlar predict: " + options_of(p);
  return ordered{{"costs", costs}}.dump(1) + "\n";
}

}  // namespace tool
