// Measures the gain of choosing bits product by product: a small GPT is trained, its products are
// quantised within a limit on their memory, and it is run on text that it has not seen. Times are
// processor times.
//
//   bench_plan_bit_widths [TEXT [STEPS]]     a file or folder of text; 300 steps
#include "gpt/bit_widths.hpp"

#include "../processor_time.hpp"
#include "gpt/corpus.hpp"
#include "gpt/worker.hpp"
#include <ashlar/catalog/gpipe.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace ashlar;

constexpr gpt::config shape{.blocks = 4,
                            .width = 96,
                            .heads = 4,
                            .context = 64,
                            .sequences = 4,
                            .micro_batches = 4,
                            .stages = 1};

void train(gpt::worker<float>& w, std::span<gpt::token const> text, int steps) {
  program const step = lower(catalog::gpipe(devices{1}, micro_batches{shape.micro_batches})
                             | repeat(micro_batches{shape.micro_batches}) | squeeze());
  sequential run(step, w);
  for (int i = 0; i < steps; ++i) {
    w.set_batch(gpt::sample(text, shape, 1, static_cast<std::uint64_t>(i)));
    run.run();
    gpt::update(std::vector{&w}, {});
  }
}

void print(char const* name, std::vector<int> const& bits, choice const& c, gpt::worker<float> const& w,
           std::vector<gpt::batch> const& unseen) {
  gpt::quantised_model<float> const model(shape, w.weights(0), bits);
  double loss = 0;
  double const seconds = bench::processor_seconds([&] {
    for (gpt::batch const& each : unseen) loss += gpt::loss_of(model, shape, each);
  });
  int count[9] = {};
  for (int each : bits) ++count[each];
  std::printf("| %s | %d | %d / %d / %d | %.4f | %.4f | %.0f |\n", name, static_cast<int>(c.what.memory),
              count[3], count[4], count[8],
              static_cast<double>(c.what.penalty) / gpt::penalties_in_a_nat,
              loss / static_cast<double>(unseen.size()),
              shape.tokens() * static_cast<double>(unseen.size()) / seconds);
}

}  // namespace

int main(int argc, char** argv) try {
  gpt::corpus const text = gpt::read_corpus(argc > 1 ? argv[1] : "docs");
  text.require_context(shape.context);
  gpt::worker<float> w(shape, 1);
  train(w, text.training(), argc > 2 ? std::atoi(argv[2]) : 300);
  gpt::batch const calibration = gpt::sample(text.training(), shape, 2, 0);
  std::vector<gpt::batch> unseen;
  for (std::uint64_t i = 0; i < 16; ++i) unseen.push_back(gpt::sample(text.validation(), shape, 3, i));
  auto const widths = gpt::measured_widths<float>(shape, std::as_const(w).weights(0), calibration);

  std::printf(
      "| bits | bytes | products in 3 / 4 / 8 bits | penalty, nats | held-out loss, nats | tokens/s |\n"
      "|---|---:|---:|---:|---:|---:|\n");
  for (int which : {0, 1, 2}) {
    choice const uniform = gpt::uniform_width(widths, which);
    print(("all " + std::to_string(gpt::bit_widths[static_cast<std::size_t>(which)])).c_str(),
          gpt::bits_of(uniform), uniform, w, unseen);
    choice const chosen = choose(widths, uniform.what.memory);
    print("chosen, as many bytes", gpt::bits_of(chosen), chosen, w, unseen);
  }
  // These limits lie between two uniform widths.
  choice const low = gpt::uniform_width(widths, 0), middle = gpt::uniform_width(widths, 1),
               high = gpt::uniform_width(widths, 2);
  for (auto const& [name, limit] :
       {std::pair{"chosen, halfway 3 to 4", (low.what.memory + middle.what.memory) / 2},
        {"chosen, halfway 4 to 8", (middle.what.memory + high.what.memory) / 2}}) {
    choice const chosen = choose(widths, limit);
    print(name, gpt::bits_of(chosen), chosen, w, unseen);
  }
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
