// Time against a limit on workspace: the two halves of a transformer block take their sequences in
// parts. Each part's time is measured, the divisions follow from these times, and are measured in turn;
// all give the same bits.
//
//   bench_plan_divided [ROUNDS]
#include "gpt/divided.hpp"

#include "../processor_time.hpp"
#include "gpt/worker.hpp"
#include <ashlar/plan/parts/choose.hpp>
#include <ashlar/plan/parts/divide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

namespace {

using namespace ashlar;

constexpr gpt::config shape{.blocks = 1,
                            .width = 192,
                            .heads = 4,
                            .context = 16,
                            .sequences = 64,
                            .micro_batches = 1,
                            .stages = 1};
constexpr gpt::block_half halves[] = {gpt::block_half::attention, gpt::block_half::mlp};

class measured_block {
 public:
  explicit measured_block(int rounds)
      : rounds_(rounds), w_(shape, 1), input_(elements()), stream_(elements()) {
    for (std::size_t i = 0; i < input_.size(); ++i)
      input_.data()[i] = static_cast<float>(i * 7919 % 1013) / 500 - 1;
  }

  // Nanoseconds of processor time of one half on as many sequences as the parts have, the least of all
  // rounds.
  tick time(gpt::block_half half, std::vector<int> const& parts) {
    gpt::array<float> workspace(workspace_of(half, parts));
    tick least = max_tick;
    for (int round = 0; round < rounds_; ++round) {
      std::copy_n(input_.data(), input_.size(), stream_.data());
      double const seconds = bench::processor_seconds([&] { run(half, parts, workspace); });
      least = std::min(least, static_cast<tick>(seconds * 1e9 + 0.5));
    }
    return least;
  }
  static std::size_t workspace_of(gpt::block_half half, std::vector<int> const& parts) {
    std::size_t most = 0;
    for (int part : parts) most = std::max(most, gpt::workspace_of<float>(shape, half, part));
    return most;
  }

  // The result of the whole block.
  gpt::array<float> result(std::vector<std::vector<int>> const& parts) {
    std::copy_n(input_.data(), input_.size(), stream_.data());
    for (std::size_t i = 0; i < 2; ++i) {
      gpt::array<float> workspace(workspace_of(halves[i], parts[i]));
      run(halves[i], parts[i], workspace);
    }
    gpt::array<float> copied(elements());
    std::copy_n(stream_.data(), stream_.size(), copied.data());
    return copied;
  }

 private:
  static std::size_t elements() { return static_cast<std::size_t>(shape.rows() * shape.width); }

  void run(gpt::block_half half, std::vector<int> const& parts, gpt::array<float>& workspace) {
    gpt::carver<float const> from(w_.weights(0).data());
    gpt::stage_parameters<float const> const weights(from, gpt::shape_of(shape, 0));
    gpt::forward_in_parts<float>(shape, weights.blocks[0], half, parts,
                                 {stream_.data(), shape.rows(), shape.width, shape.width},
                                 workspace.span());
  }

  int rounds_;
  gpt::worker<float> w_;
  gpt::array<float> input_, stream_;
};

}  // namespace

int main(int argc, char** argv) try {
  measured_block block(argc > 1 ? std::atoi(argv[1]) : 20);
  std::vector<std::vector<division_option>> options(2);
  for (std::size_t i = 0; i < 2; ++i)
    for (int sequences = 1; sequences <= shape.sequences; sequences *= 2)
      options[i].push_back(
          {sequences,
           {.time = block.time(halves[i], {sequences}),
            .memory = static_cast<byte_count>(gpt::workspace_of<float>(shape, halves[i], sequences)
                                              * sizeof(float))}});
  std::vector<std::vector<division>> fronts;
  std::vector<std::vector<variant>> things;
  for (std::vector<division_option> const& each : options) {
    fronts.push_back(divide(shape.sequences, each, part_sizes::powers_of_two));
    things.emplace_back();
    for (division const& d : fronts.back()) things.back().push_back(d.what);
  }
  byte_count whole = 0;
  for (std::vector<division_option> const& each : options) whole += each.back().what.memory;
  std::vector<std::vector<int>> const undivided(2, std::vector<int>(1, shape.sequences));
  gpt::array<float> const expected = block.result(undivided);

  std::printf(
      "| pool, KiB | used, KiB | parts of attention | of the MLP | planned, ms | measured, ms | bits |\n"
      "|---:|---:|---|---|---:|---:|---|\n");
  tick undivided_time = 0;
  for (std::vector<division_option> const& each : options) undivided_time += each.back().what.time;
  std::printf("| | %d | 1 of %d | 1 of %d | | %.2f | |\n", static_cast<int>(whole / 1024),
              shape.sequences, shape.sequences, static_cast<double>(undivided_time) / 1e6);
  bool is_same = true;
  for (byte_count limit = whole; limit > 0; limit /= 2) {
    choice const best = choose(things, limit);
    if (best.of.empty()) {
      std::printf("| %d | nothing fits: %d bytes short | | | | | |\n", static_cast<int>(limit / 1024),
                  static_cast<int>(best.missing));
      break;
    }
    std::vector<std::vector<int>> parts(2);
    tick measured = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      for (int part : fronts[i][static_cast<std::size_t>(best.of[i])].parts)
        parts[i].push_back(options[i][static_cast<std::size_t>(part)].samples);
      measured += block.time(halves[i], parts[i]);
    }
    bool const same = std::ranges::equal(block.result(parts).span(), expected.span());
    is_same = is_same && same;
    std::printf("| %d | %d | %d of %d | %d of %d | %.2f | %.2f | %s |\n", static_cast<int>(limit / 1024),
                static_cast<int>(best.what.memory / 1024), static_cast<int>(parts[0].size()),
                parts[0][0], static_cast<int>(parts[1].size()), parts[1][0],
                static_cast<double>(best.what.time) / 1e6, static_cast<double>(measured) / 1e6,
                same ? "equal" : "differ");
  }
  return is_same ? 0 : 1;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
