#include "predict/report_words.hpp"

#include "predict/choices.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace tool {

std::string count_words(double n) {
  if (n >= 1e9) return fmt::format("{:.3f} billion", n / 1e9);
  if (n >= 1e6) return fmt::format("{:.1f} million", n / 1e6);
  return fmt::format("{:.0f}", n);
}

std::string gap_words(prediction const& p) {
  using ashlar::cost::interval_gap;
  ashlar::cost::measured_sizes const& l = p.constants.around.largest;
  auto const beyond = [](int size, char const* what) {
    return fmt::format("no published run has more than {} {}, so nothing shows how far off this is",
                       size, what);
  };
  switch (p.answer.gap) {
    case interval_gap::none:
      return "";
    case interval_gap::idle_stage:
      return "it does not run";
    case interval_gap::features:
      return "no published run shows how far off this is";
    case interval_gap::machine:
      return fmt::format("no published run is of {}, so nothing shows how far off this is",
                         p.asked.cluster.kinds.front().name);
    case interval_gap::sequence:
      return beyond(l.sequence, "tokens in a sequence");
    case interval_gap::devices:
      return beyond(l.devices, "devices");
    case interval_gap::pipeline:
      return beyond(l.pipeline, "pipeline ranks");
    case interval_gap::tensor:
      return beyond(l.tensor, "tensor ranks");
    case interval_gap::context:
      return beyond(l.context, "context ranks");
    case interval_gap::expert:
      return beyond(l.expert, "expert ranks");
  }
  return "";
}

ashlar::cost::spread const& steps_around(prediction const& p) {
  return p.constants.around.steps.kinds[static_cast<std::size_t>(p.answer.kind)];
}

ashlar::cost::spread const& peaks_around(prediction const& p) {
  return p.constants.around.peaks.kinds[static_cast<std::size_t>(p.answer.kind)];
}

std::vector<std::string> beyond_words(prediction const& p) {
  using ashlar::cost::unmeasured;
  std::vector<std::string> all;
  for (unmeasured each : p.answer.beyond) switch (each) {
      case unmeasured::kernels:
        all.push_back(words_for(kernels_of(p.asked)));
        break;
      case unmeasured::size:
        all.emplace_back("such a size");
        break;
      case unmeasured::recomputation:
        all.emplace_back("this recomputation");
        break;
      case unmeasured::offload:
        all.emplace_back("such an offload");
        break;
      case unmeasured::attention:
        all.emplace_back("this kernel of attention in this program");
        break;
      case unmeasured::dispatch:
        all.emplace_back("a dispatch in 8 bits");
        break;
      case unmeasured::schedule:
        all.emplace_back("this schedule");
        break;
      case unmeasured::shards:
        all.emplace_back("such shards");
        break;
      case unmeasured::program:
        all.push_back(fmt::format("such {}", fmt::join(unmeasured_facts(p.asked), ", ")));
        break;
    }
  return all;
}

}  // namespace tool
