// Workloads whose best bubble is known, or nearly: proofs, known results, and results of the best public
// schedulers. Bubble rates are 1 - busiest work / span.
#pragma once

#include <ashlar/bounds/closed_forms.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/model/placement.hpp>

#include <array>
#include <vector>

namespace known_bubbles {

using namespace ashlar;

enum class model { uniform, large_vocabulary };

struct known {
  std::array<tick, 4> cost;  // forward, backward_input, backward_weight of a chunk, transfer
  int p, chunks_of_a_device, m, limit;
  double least, reached, published;
  model of = model::uniform;

  // Two chunks a device are the V-shaped placement.
  placement where() const { return chunks_of_a_device == 2 ? v_shape(devices{p}) : linear(devices{p}); }
  // A large vocabulary makes the last stage half as long again, in whole ticks.
  costs all_costs() const {
    auto const [f, b, w, transfer] = cost;
    if (of == model::uniform) return costs(stage_cost{f, b, w}, transfer);
    std::vector<stage_cost> each(static_cast<std::size_t>(p * chunks_of_a_device), {f, b, w});
    each.back() = {(3 * f + 1) / 2, (3 * b + 1) / 2, (3 * w + 1) / 2};
    return costs(each, transfer);
  }
  workload work() const {
    return {.where = where(),
            .micro_batch_count = m,
            .cost = all_costs(),
            .limit = chunk_activations(limit)};
  }
  double rate(tick span) const {
    return 1 - static_cast<double>(busiest_work(work())) / static_cast<double>(span);
  }
};

inline constexpr double rounding = 5.1e-5;  // of rates below
inline constexpr double nothing = 1;        // nobody publishes a schedule that fits

inline std::vector<known> const table{
    {{10, 13, 7, 1}, 8, 2, 16, 8, .2604, .2884, .3617},
    {{10, 13, 7, 1}, 8, 2, 64, 8, .0809, .1594, .2941},
    {{10, 13, 7, 1}, 8, 2, 64, 10, .0675, .0704, .0853},
    {{10, 13, 7, 1}, 8, 2, 64, 12, .0537, .0537, .0602},
    {{10, 13, 7, 1}, 8, 2, 64, 16, .0266, .0271, .0296},
    {{10, 13, 7, 1}, 4, 2, 8, 4, .2477, .3023, .3531},
    {{10, 13, 7, 1}, 4, 2, 8, 6, .1696, .1696, .1837},
    {{10, 13, 7, 1}, 4, 2, 8, 7, .1241, .1241, .1519},
    {{10, 13, 7, 1}, 4, 2, 8, 8, .0787, .0822, .0892},
    {{10, 13, 7, 1}, 16, 2, 64, 12, .2587, .3477, .3628},
    {{10, 13, 7, 1}, 16, 2, 64, 16, .1538, .1946, .3201},
    {{10, 13, 7, 1}, 16, 2, 64, 24, .1066, .1066, .1193},
    {{10, 13, 7, 1}, 16, 2, 64, 32, .0572, .0581, .0636},
    {{100, 104, 94, 7}, 8, 2, 32, 8, .1239, .1467, .1763},
    {{100, 104, 94, 7}, 8, 2, 32, 10, .0992, .0992, .1012},
    {{100, 104, 94, 7}, 8, 2, 32, 14, .0454, .0454, .0468},
    {{100, 104, 94, 7}, 8, 2, 32, 16, .0161, .0168, .0197},
    {{100, 104, 94, 7}, 16, 2, 32, 12, .2718, .3037, .3061},
    {{100, 104, 94, 7}, 16, 2, 32, 20, .1858, .1858, .1884},
    {{100, 104, 94, 7}, 16, 2, 32, 28, .0935, .0935, .0965},
    {{100, 104, 94, 7}, 16, 2, 32, 32, .0391, .0411, .0458},
    {{1, 1, 1, 0}, 8, 2, 16, 6, .2320, .2782, nothing},
    {{1, 1, 1, 0}, 8, 2, 16, 7, .2131, .2441, nothing},
    {{1, 1, 1, 0}, 8, 2, 16, 8, .1933, .1933, .1933},
    {{1, 1, 1, 0}, 8, 2, 16, 16, 0, 0, 0},
    {{10, 13, 7, 1}, 8, 2, 16, 8, .1214, .1585, nothing, model::large_vocabulary},
    {{10, 13, 7, 1}, 8, 2, 16, 12, .0425, .0448, nothing, model::large_vocabulary},
    {{10, 13, 7, 1}, 8, 2, 16, 16, .0114, .0114, nothing, model::large_vocabulary},
    {{20, 26, 14, 1}, 8, 1, 64, 7, .0751, .1045, .3922},
    {{20, 26, 14, 1}, 8, 1, 64, 6, .1534, .2043, .5890},
};

}  // namespace known_bubbles
