// Programs with everything shared, proved while compiling.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/residency_rules.hpp>

using namespace ashlar;

template <sharding_level Level, int Buffers>
constexpr program shared() {
  return catalog::v_half(devices{3}) | repeat(micro_batches{4}) | squeeze()
         | lower(lower_options{.data_ranks = 8,
                               .reduction = gradient_reduction::eager_middle_last,
                               .sharding = Level,
                               .weight_buffers = Buffers,
                               .prefetch = 2,
                               .step = optimizer_step::after_norm});
}

static_assert(valid<shared<sharding_level::none, 1>>());
static_assert(valid<shared<sharding_level::optimizer, 1>>());
static_assert(valid<shared<sharding_level::gradients, 1>>());
static_assert(valid<shared<sharding_level::weights, 1>>());
static_assert(valid<shared<sharding_level::full, 1>>());
static_assert(valid<shared<sharding_level::full, 2>>());

template <bool Window>
constexpr program planned() {
  schedule const s = catalog::v_half(devices{3}) | repeat(micro_batches{4}) | squeeze();
  lower_options how{.data_ranks = 8, .sharding = sharding_level::weights};
  how.weights = planned_residency(s, {.stages = 1, .passes_ahead = 1, .window = Window});
  return lower(s, how);
}

static_assert(valid<planned<true>>());
static_assert(valid<planned<false>>());
