#include "predict/best_layouts.hpp"

#include "command.hpp"
#include "predict/layout_words.hpp"
#include "predict/words.hpp"
#include "report/interrupt_watch.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

namespace tool {

namespace {

using ashlar::cost::layouts_found;
using ashlar::cost::left_out;
using ashlar::cost::open_sizes;
using ashlar::cost::ranked_layout;
using ashlar::cost::requirement;

// A line on the terminal, shown after the first second.
class tried_line {
 public:
  ~tried_line() {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
  }
  void show(layouts_found const& found) {
    auto const now = clock::now();
    if (now - last_ < std::chrono::seconds(1) || isatty(STDERR_FILENO) == 0) return;
    last_ = now;
    shown_ = true;
    fmt::print(stderr, "\r{} layouts tried, {} too large", found.tried, found.too_large());
  }

 private:
  using clock = std::chrono::steady_clock;
  clock::time_point last_ = clock::now();
  bool shown_ = false;
};

[[noreturn]] void refuse_all(layouts_found const& found, fitted_constants const& c) {
  for (ashlar::cost::question const& q : found.refused) {
    try {
      predict_run(q, c.values, c.around);
    } catch (ashlar::cost::unpredictable const& e) {
      throw usage_error(
          fmt::format("no layout is possible; with {}, {}", rank_options(q), sentence_of(e, q)));
    }
  }
  throw usage_error("no layout that training programs run is possible");
}

constexpr std::array reasons{
    std::pair{left_out::too_large, "do not fit"},
    std::pair{left_out::slower, "were not checked: they are slower than the last of these"},
    std::pair{left_out::idle_stage, "leave a stage without a layer"},
    std::pair{left_out::tensor_is_apart, "have tensor ranks on several nodes"},
    std::pair{left_out::uneven_chunks,
              "have virtual stages of different length, or no whole groups of micro-batches"},
    std::pair{left_out::sharded_pipeline, "share weights or gradients beside a pipeline"},
    std::pair{left_out::unwanted, "are not run by the framework"}};

constexpr std::array requirements{
    std::pair{requirement::batch_divides, "micro-batches that do not divide the batch"},
    std::pair{requirement::heads_divide, "tensor ranks that do not divide the heads"},
    std::pair{requirement::kinds_have_whole_ranks,
              "tensor and context ranks that do not divide the devices of a kind"},
    std::pair{requirement::layers_are_measured,
              "tensor ranks that the model's layers were not measured on"},
    std::pair{requirement::experts_divide, "expert ranks that do not divide the experts"},
    std::pair{requirement::expert_ranks_divide_a_stage, "expert ranks that do not divide a stage's"},
    std::pair{requirement::context_divides_the_sequence,
              "context ranks that do not divide the sequence"},
    std::pair{requirement::towers_have_whole_inputs,
              "context ranks that divide inputs of a part before the decoder"},
    std::pair{requirement::cross_attention_has_one_stage,
              "pipeline ranks of a decoder that attends to an encoder"},
    std::pair{requirement::forwards_beside_are_few, "pipeline ranks beside frozen forwards"},
    std::pair{requirement::teachers_have_one_stage, "pipeline ranks beside a teacher"}};

}  // namespace

open_sizes sizes_left_open(option_words const& given) {
  auto const is_open = [&](char const* option) { return given.count(option) == 0; };
  bool const divides = is_open("layout");
  return {.micro_batch = is_open("micro-batch"),
          .tensor = is_open("tensor"),
          .pipeline = is_open("pipeline") && divides,
          .chunks = is_open("chunks") && divides,
          .context = is_open("context"),
          .expert = is_open("expert"),
          .expert_tensor = is_open("expert-tensor"),
          .data = is_open("data"),
          .shares = is_open("sharding"),
          .again = is_open("recompute"),
          .ends = is_open("ends-as-layers") && divides};
}

layouts_found search_layouts(prediction const& p, open_sizes const& open, std::size_t most,
                             ashlar::cost::layout_filter wanted) {
  tried_line line;
  interrupt_watch const watch;
  auto const goes_on = [&](layouts_found const& so_far) {
    line.show(so_far);
    return !interrupt_watch::has_come();
  };
  layouts_found found = best_layouts(p.asked, open, p.constants.values, most, goes_on, wanted);
  if (found.tried == 0 && found.count(left_out::unwanted) == 0) refuse_all(found, p.constants);
  return found;
}

std::string words_of_counts(layouts_found const& found) {
  std::string text = fmt::format("{} layouts were tried{}.\n", found.tried,
                                 found.is_whole ? "" : " until the interrupt; there may be better ones");
  for (auto const& [why, words] : reasons)
    if (long long const count = found.count(why); count > 0)
      text += fmt::format("  {} {}\n", count, words);
  long long others = found.count(left_out::refused);
  for (auto const& [broken, words] : requirements) {
    long long const count = found.by_requirement[static_cast<std::size_t>(broken)];
    others -= count;
    if (count > 0) text += fmt::format("  {} have {}\n", count, words);
  }
  if (others > 0) text += fmt::format("  {} have sizes that do not go together\n", others);
  return text;
}

void choose_layout(prediction& p, option_words const& given, std::size_t most) {
  layouts_found const found = search_layouts(p, sizes_left_open(given), most);
  p.layouts = {.tried = found.tried, .too_large = found.too_large(), .best = {}};
  for (ranked_layout const& each : found.best)
    p.layouts.best.push_back({rank_options(each.asked), each.seconds, each.peak});
  p.asked = (found.best.empty() ? found.smallest : found.best).front().asked;
  if (given.count("recompute") == 0) p.recompute = recompute_word(p.asked);
}

}  // namespace tool
