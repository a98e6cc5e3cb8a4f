// Names of layouts in reports and messages.
#include "report/layout_names.hpp"

#include "report/counted.hpp"

#include <fmt/core.h>

#include <cstddef>
#include <vector>

namespace tool {

using ashlar::placement_kind;

namespace {

// "0-2,4".
std::string words_of_stages(std::vector<int> const& stages) {
  std::string words;
  for (std::size_t i = 0, next = 0; i < stages.size(); i = next) {
    for (next = i + 1; next < stages.size() && stages[next] == stages[next - 1] + 1;) ++next;
    words += fmt::format("{}{}", i == 0 ? "" : ",", stages[i]);
    if (next - i > 1) words += fmt::format("-{}", stages[next - 1]);
  }
  return words;
}

std::string recomputed_words(ashlar::layout_choice const& choice) {
  if (choice.recomputed_chunks == 0) return "";
  if (choice.recomputed_chunks != ashlar::layout_choice::other_stages)
    return fmt::format(", {} recomputed", choice.recomputed_chunks);
  std::vector<int> const stages = ashlar::recomputed_stages(choice.problem);
  return fmt::format(", {} {} recomputed", stages.size() == 1 ? "stage" : "stages",
                     words_of_stages(stages));
}

}  // namespace

char const* name_of(ashlar::layer_division division) {
  switch (division) {
    case ashlar::layer_division::none:
      break;
    case ashlar::layer_division::even:
      return "evenly";
    case ashlar::layer_division::balanced:
      return "by time";
    case ashlar::layer_division::by_bound:
      return "by bound";
    case ashlar::layer_division::other:
      return "otherwise";
  }
  return "";
}

char const* shape_name(placement_kind shape) {
  switch (shape) {
    case placement_kind::linear:
      return "linear";
    case placement_kind::v:
      return "v";
    case placement_kind::looped:
      return "looped";
    case placement_kind::wave:
      return "wave";
    case placement_kind::given:
      return "own";
  }
  return "";
}

std::string layout_name(ashlar::layout_choice const& choice) {
  std::string const name = shape_name(choice.shape);
  bool const leaves_choice =
      choice.shape == placement_kind::looped || choice.shape == placement_kind::wave;
  return (leaves_choice ? name + ", " + counted(choice.chunk_count, "chunk") : name)
         + (choice.layers.empty() ? "" : fmt::format(", layers divided {}", name_of(choice.division)))
         + recomputed_words(choice)
         + (choice.sequence_chunks > 1 ? fmt::format(", sequences in {}", choice.sequence_chunks) : "")
         + (choice.micro_batches.empty() ? "" : ", micro-batches in another order");
}

}  // namespace tool
