// Alternatives that a paper compares, in the order that it reports and in the order that simulation
// predicts: each study of GOLD.json names a model, a machine, alternatives with their configurations,
// and pairs of them with what the first gained over the second.
#include "../formulas/step_model.hpp"
#include "../report.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/plan/parts/partition.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace ashlar;
using namespace formulas;
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

training_layout layout_of(json const& a) {
  return {.micro_batch = a.value("micro_batch", 1),
          .tensor = a.value("tensor", 1),
          .pipeline = a.at("pipeline"),
          .data = a.value("data", 1),
          .again = a.value("recomputation", "none") == "full"        ? recomputation::full
                   : a.value("recomputation", "none") == "attention" ? recomputation::attention
                                                                     : recomputation::none,
          .sequence_parallel = a.value("sequence_parallel", false)};
}

// Throughput in sequences a second.
double throughput(json const& study, json const& a) {
  catalog::entry const* const entry = catalog::find(a.at("schedule").get<std::string>());
  if (entry == nullptr) throw std::runtime_error("no schedule " + a.at("schedule").dump());
  training_layout const l = layout_of(a);
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

// Bytes of the fullest device, with flash attention.
double bytes_of(json const& study, training_layout const& l, schedule const& s) {
  transformer const model = model_of(study.at("model"));
  kept_widths widths;
  widths.scores = 0;
  memory_model const held = stage_bytes(
      model, l, sharding_level::none, {uniform_partition(model.layers, s.stage_count()), true}, widths);
  std::vector<byte_count> const peaks = peak_memory(s, held);
  return static_cast<double>(*std::max_element(peaks.begin(), peaks.end()));
}

// The best throughput of some schedules, each with every configuration whose ranks are powers of two
// and that leaves a tenth of the memory free, in sequences a second.
double best_throughput(json const& study, json const& a) {
  double best = 0;
  int const count = study.at("devices"), batch = study.at("batch"),
            layers = study.at("model").at("layers"), node = study.at("machine").at("devices_per_node");
  double const memory = study.at("machine").at("memory_bytes");
  for (json const& name : a.at("best_of"))
    for (int t = 1; t <= node; t *= 2)
      for (int p = 2; p * t <= count; p *= 2)
        for (int size = 1; size <= 8; size *= 2)
          for (char const* again : {"none", "full"}) {
            catalog::entry const* const entry = catalog::find(name.get<std::string>());
            int const data = count / t / p, stages = entry->placed == placement_kind::v ? 2 * p : p;
            if (stages > layers || batch % (data * size) != 0) continue;
            json const one{{"schedule", name}, {"tensor", t},         {"pipeline", p},
                           {"data", data},     {"micro_batch", size}, {"recomputation", again}};
            schedule const s = entry->make({.p = devices{p}, .m = micro_batches{batch / data / size}});
            if (bytes_of(study, layout_of(one), s) > 0.9 * memory) continue;
            best = std::max(best, throughput(study, one));
          }
  return best;
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
