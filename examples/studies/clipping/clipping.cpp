// Micro-batch clipping, recomputed from the gradients of the micro-batches; and the number of them that
// wait for their norm at once, from lowered programs.
#include "gpt/clipping.hpp"

#include "../report.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/values/clip.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using nlohmann::json;
using numbers = std::vector<double>;

constexpr double precision = 1e-12;

struct clipped {
  numbers norms;
  gpt::least_norm least;
  numbers mean;
};

// Clips as the worker does: in one pass, with room for one gradient and the sum.
clipped clip(std::vector<numbers> const& gradients, std::optional<double> threshold) {
  clipped made{{}, {}, numbers(gradients.at(0).size(), 0.0)};
  for (numbers accumulator : gradients) {
    numbers copy(accumulator.size());
    double const norm =
        std::sqrt(gpt::take_gradient(std::span<double>(accumulator), std::span<double>(copy)));
    made.norms.push_back(norm);
    made.least.add(norm);
    gpt::add_scaled<double>(copy, gpt::clip_factor(norm, threshold), made.mean);
  }
  double const factor = threshold ? 1 : made.least.norm;
  for (double& g : made.mean) g *= factor / static_cast<double>(gradients.size());
  return made;
}

// The mean without any clipping.
numbers plain_mean(std::vector<numbers> const& gradients) {
  return clip(gradients, std::numeric_limits<double>::infinity()).mean;
}

void same_numbers(std::string const& what, numbers const& found, json const& gold, systems::report& r) {
  r.same(what + " in number", found.size(), gold.size());
  for (std::size_t i = 0; i < found.size() && i < gold.size(); ++i)
    r.near(what + '[' + std::to_string(i) + ']', found[i], gold[i], precision, 1e-15);
}

void check_case(std::string const& name, json const& gold, systems::report& r) {
  auto const gradients = gold.at("micro_gradients").get<std::vector<numbers>>();
  clipped const adaptive = clip(gradients, {});
  numbers const plain = plain_mean(gradients);
  same_numbers(name + "norms", adaptive.norms, gold.at("norms"), r);
  r.near(name + "rho", adaptive.least.norm, gold.at("rho"), precision);
  same_numbers(name + "adaptive_mean", adaptive.mean, gold.at("adaptive_mean"), r);
  same_numbers(name + "plain_mean", plain, gold.at("plain_mean"), r);
  for (auto const& [threshold, mean] : gold.at("fixed_threshold_mean").items())
    same_numbers(name + "fixed_threshold_mean " + threshold, clip(gradients, std::stod(threshold)).mean,
                 mean, r);
  for (auto const& [threshold, mean] : gold.at("clip_after_mean").items())
    same_numbers(name + "clip_after_mean " + threshold, clip({plain}, std::stod(threshold)).mean, mean,
                 r);
}

// Reads "D4_N8" of 1F1B. A backward takes two forwards' time, next to which clipping takes none.
void check_pending(std::string const& shape, json const& gold, systems::report& r) {
  std::size_t const n = shape.find("_N");
  if (shape.empty() || shape[0] != 'D' || n == std::string::npos)
    throw std::runtime_error(shape + " does not name devices and micro-batches");
  ashlar::schedule const s =
      ashlar::catalog::find("1f1b")->make({ashlar::devices{std::stoi(shape.substr(1, n - 1))},
                                           ashlar::micro_batches{std::stoi(shape.substr(n + 2))},
                                           ashlar::costs(ashlar::stage_cost{1000, 1000, 1000})});
  ashlar::program const p = lower(clip_micro_batches(s));
  r.holds(shape + " is proved", check(p).ok());
  r.same(shape + " devices", static_cast<std::size_t>(p.device_count()), gold.size());
  for (int d = 0; d < p.device_count() && d < static_cast<int>(gold.size()); ++d)
    r.same(shape + " pending on device " + std::to_string(d),
           count_slots(p.view(), d, ashlar::slot_kind::micro_gradient),
           gold[static_cast<std::size_t>(d)].get<int>());
}

}  // namespace

int main(int argc, char** argv) {
  return systems::run(argc, argv, [](json const& gold, std::string const&, systems::report& r) {
    int number = 0;
    for (json const& c : gold.at("cases")) check_case("case " + std::to_string(number++) + ": ", c, r);
    for (auto const& [shape, pending] : gold.at("peak_pending_gradient_buffers_1f1b").items())
      check_pending(shape, pending, r);
  });
}
