// Alternatives that a paper compares, in the order that it reports and in the order that simulation
// predicts: each study of GOLD.json names a model, a machine, alternatives with their configurations,
// and pairs of them with what the first gained over the second.
#include "../report.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/plan.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace ashlar;
using systems::report;
using json = nlohmann::json;

transformer model_of(json const& m) {
  return {.layers = m.at("layers"),
          .hidden = m.at("hidden"),
          .feed_forward = 4 * m.at("hidden").get<double>(),
          .heads = m.at("heads"),
          .vocabulary = m.at("vocabulary"),
          .sequence = m.at("sequence")};
}

device_machine machine_of(json const& m) {
  return {.flops = m.at("flops"),
          .inside = m.at("node_bytes_per_s"),
          .between = m.at("network_bytes_per_s"),
          .memory = m.at("memory_bytes"),
          .node_size = m.at("devices_per_node")};
}

// Throughput in sequences a second.
double throughput(json const& study, json const& a) {
  catalog::entry const* const entry = catalog::find(a.at("schedule").get<std::string>());
  if (entry == nullptr) throw std::runtime_error("no schedule " + a.at("schedule").dump());
  training_layout const l{.micro_batch = a.value("micro_batch", 1),
                          .tensor = a.value("tensor", 1),
                          .pipeline = a.at("pipeline"),
                          .data = a.value("data", 1),
                          .again = a.value("recomputation", "none") == "full" ? recomputation::full
                                   : a.value("recomputation", "none") == "attention"
                                       ? recomputation::attention
                                       : recomputation::none,
                          .sequence_parallel = a.value("sequence_parallel", false)};
  int const batch = study.at("batch"), m = batch / (l.data * l.micro_batch);
  catalog::shape shape{.p = devices{l.pipeline}, .m = micro_batches{m}};
  shape.v = chunks{a.value("chunks", 1)};
  if (entry->uses(parameter::group_size)) shape.group = l.pipeline;
  schedule const s = entry->make(shape);
  transformer const model = model_of(study.at("model"));
  std::vector<stage_seconds> const times =
      stage_times(model, l, sharding_level::none,
                  {uniform_partition(model.layers, s.stage_count()), study.value("head", true)},
                  machine_of(study.at("machine")), {study.at("products"), study.at("exchange")});
  return batch
         / simulated_step(s, times,
                          a.value("blocking", false) ? message_mode::blocking : message_mode::beside);
}

// The best throughput that a planner finds with some schedules, each with its best configuration, in
// sequences a second.
double best_throughput(json const& study, json const& a) {
  plan_question q;
  q.model = model_of(study.at("model"));
  q.kinds[0].machine = machine_of(study.at("machine"));
  q.kinds[0].constants = {study.at("products"), study.at("exchange")};
  q.widths.scores = 0;  // flash attention
  q.kinds[0].count = study.at("devices");
  q.batch = study.at("batch");
  q.margin = 0.1;
  std::vector<catalog::entry const*> entries;
  for (json const& name : a.at("best_of")) entries.push_back(catalog::find(name.get<std::string>()));
  plan_answer const found = answer(q, entries, 1, [](plan_phase, std::size_t, std::size_t) {});
  return found.best.empty() ? 0 : q.batch / found.best[0].seconds;
}

}  // namespace

int main(int argc, char** argv) {
  return systems::run(argc, argv, [](json const& gold, std::string const&, report& r) {
    int agreed = 0, pairs = 0;
    for (json const& study : gold.at("studies")) {
      std::string const name = study.at("name");
      std::map<std::string, double> predicted;
      for (auto const& [key, a] : study.at("alternatives").items())
        predicted[key] = a.contains("best_of") ? best_throughput(study, a) : throughput(study, a);
      for (json const& pair : study.at("pairs")) {
        std::string const first = pair.at("first"), second = pair.at("second");
        double const gain = predicted.at(first) / predicted.at(second) - 1;
        bool const same = gain > 0;
        std::printf("%s: %s over %s: published %s, predicted %+.1f %%%s\n", name.c_str(), first.c_str(),
                    second.c_str(), pair.at("published").get<std::string>().c_str(), 100 * gain,
                    same ? "" : "  MISSED");
        ++pairs;
        agreed += same;
        r.holds(name + ": the published order of " + first + " and " + second, same);
      }
    }
    std::printf("the published order in %d of %d pairs\n", agreed, pairs);
  });
}
