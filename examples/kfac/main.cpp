// Second-order training in the bubbles: while two devices train a small GPT, they sum the curvature of
// their linear layers and invert it where the pipeline idles. The weights are, bit by bit, those of a
// pipeline that does the same when its steps are over. With "--measure TEXT" (a file or a folder) it
// compares optimizers at equal steps, and how long an update takes with the work here and there.
#include "gpt/batch.hpp"
#include "kfac/measure.hpp"
#include "kfac/optimizer.hpp"
#include "kfac/work.hpp"
#include "kfac/worker.hpp"
#include <ashlar/catalog/one_f_one_b.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

using namespace ashlar;

// The plan of two devices for an update: two steps of 1F1B. Ticks are guesses; kfac::measure() finds
// them.
struct update_plan {
  gpt::config shape{.blocks = 4, .width = 32, .heads = 4, .context = 32, .sequences = 4, .stages = 2};
  schedule step = catalog::one_f_one_b(devices{2}) | repeat(micro_batches{4})
                  | retime(costs(stage_cost{20, 20, 20}));
  work_graph work = kfac::work_for(step, shape, {.add_inputs = 3, .add_gradients = 3, .invert = 3});
  filling filled = fill_steps(step, work);

  update_plan() { shape.micro_batches = filled.filled.micro_batch_count(); }
  int steps() const { return *std::ranges::max_element(filled.steps); }
};

bool gives_the_same_weights(update_plan const& p) {
  std::string const line =
      "a schedule is a value; everything is a function from one value to the next. ";
  std::vector<gpt::token> text;
  for (int i = 0; i < 10; ++i) text.insert(text.end(), line.begin(), line.end());
  kfac::worker<float> in_bubbles(p.shape, 1), at_end(p.shape, 1);
  host::runtime filled(lower(p.filled.filled), in_bubbles),
      appended(lower(kfac::work_at_end(p.step, p.work, p.steps())), at_end);
  bool same = true;
  for (std::uint64_t i = 0; i < 3; ++i) {
    for (auto* w : {&in_bubbles, &at_end}) w->set_batch(gpt::sample(text, p.shape, 1, i));
    filled.run();
    appended.run();
    for (auto* w : {&in_bubbles, &at_end}) kfac::update(*w, {});
    for (int s = 0; s < p.shape.stages; ++s)
      same = same && std::ranges::equal(in_bubbles.weights(s), at_end.weights(s));
  }
  return same;
}

}  // namespace

int main(int argc, char** argv) try {
  update_plan const p;
  if (argc == 3 && std::string(argv[1]) == "--measure") {
    kfac::measure(p.shape, p.step, p.filled, argv[2]);
    return 0;
  }
  std::printf(
      "all work is done in %d steps of the pipeline, which take %s\n", p.steps(),
      makespan(p.filled.filled) == p.steps() * p.filled.step ? "as long as without it" : "longer");
  for (int d = 0; d < p.step.device_count(); ++d)
    std::printf("device %d is busy for %.0f %% of them\n", d, 100 * utilisation(p.filled, d));
  bool const same = gives_the_same_weights(p);
  std::printf("after 3 updates the weights are %s\n",
              same ? "those of the work after the steps" : "others");
  return same ? 0 : 1;
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
