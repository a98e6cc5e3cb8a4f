// The performance model of PipeFisher (arXiv 2211.14133) at the sampled points: sequences a second, and
// steps from refresh to refresh. DATA_DIR holds layer_profiles.csv.
#include "../report.hpp"
#include "pipefisher_profiles.hpp"
#include "refresh_model.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace {

using namespace ashlar;
using nlohmann::json;

struct point {
  explicit point(json const& row)
      : model(row.at("model")),
        gpu(row.at("gpu")),
        schedule(row.at("schedule")),
        p(row.at("depth").get<int>()),
        m(row.at("n_micro").get<int>()),
        micro_batch(row.at("micro_batch")) {}

  std::string name() const {
    return model + " on " + gpu + ", " + schedule + ", depth " + std::to_string(p.value) + ", "
           + std::to_string(m.value) + " micro-batches of " + std::to_string(micro_batch) + ", ";
  }
  refresh_model at(systems::profiles const& all, bool recomputes) const {
    bool const is_chimera = schedule == "chimera" || schedule == "Chimera";
    return model_refresh(all.of(model, gpu, micro_batch), p, m, is_chimera, recomputes);
  }
  double per_second(double milliseconds) const { return m.value * micro_batch / milliseconds * 1000; }

  std::string model, gpu, schedule;
  devices p;
  micro_batches m;
  int micro_batch;
};

}  // namespace

int main(int argc, char** argv) {
  return systems::run(argc, argv, [](json const& gold, std::string const& data, systems::report& r) {
    systems::profiles const all(data);
    double const close = 1e-9;
    for (char const* list : {"depth_eq_nmicro", "sweep"})
      for (json const& row : gold.at(list)) {
        point const at(row);
        refresh_model const plain = at.at(all, false), again = at.at(all, true);
        auto const compare = [&](char const* key, double computed) {
          if (row.contains(key)) r.near(at.name() + key, computed, row.at(key), close);
        };
        compare("tput_base", at.per_second(plain.step));
        compare("tput_recompute", at.per_second(again.step));
        compare("tput_pipefisher", at.per_second(plain.with_work));
        compare("tput_pipefisher_recompute", at.per_second(again.with_work));
        compare("curv_inv_over_bubble", plain.steps);
        compare("curv_inv_over_bubble_recompute", again.steps);
      }
  });
}
