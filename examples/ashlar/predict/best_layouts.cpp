#include "predict/best_layouts.hpp"

#include "command.hpp"
#include "predict/choices.hpp"
#include "predict/words.hpp"
#include <ashlar/predict/layouts.hpp>

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace tool {

namespace {

using ashlar::predict::layouts_found;
using ashlar::predict::open_sizes;
using ashlar::predict::ranked_layout;

// A line on the terminal, from the second second on.
class tried_line {
 public:
  ~tried_line() {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
  }
  bool show(layouts_found const& found) {
    auto const now = clock::now();
    if (now - last_ < std::chrono::seconds(1) || isatty(STDERR_FILENO) == 0) return true;
    last_ = now;
    shown_ = true;
    fmt::print(stderr, "\r{} layouts tried, {} too large", found.tried, found.too_large);
    return true;
  }

 private:
  using clock = std::chrono::steady_clock;
  clock::time_point last_ = clock::now();
  bool shown_ = false;
};

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

[[noreturn]] void refuse_all(layouts_found const& found, fitted_constants const& c) {
  for (ashlar::predict::question const& q : found.refused) {
    try {
      predict_run(q, c.values, c.around);
    } catch (ashlar::predict::unpredictable const& e) {
      throw usage_error(
          fmt::format("no layout is possible; with {}, {}", rank_options(q), sentence_of(e, q)));
    }
  }
  throw usage_error("no layout that training programs run is possible");
}

}  // namespace

void choose_layout(prediction& p, option_words const& given, std::size_t most) {
  tried_line line;
  layouts_found const found =
      best_layouts(p.asked, sizes_left_open(given), p.constants.values, most,
                   [&](layouts_found const& so_far) { return line.show(so_far); });
  if (found.tried == 0) refuse_all(found, p.constants);
  p.layouts = {.tried = found.tried, .too_large = found.too_large, .best = {}};
  for (ranked_layout const& each : found.best)
    p.layouts.best.push_back({rank_options(each.asked), each.seconds, each.peak});
  p.asked = (found.best.empty() ? found.smallest : found.best).front().asked;
  if (given.count("recompute") == 0) p.recompute = word_for(recomputation_choices, p.asked.again);
}

}  // namespace tool
