// Loss scaling and clipping by the global norm in the program: the bits of the sequential run, also when
// steps are skipped, and of a plain run where nothing is clipped.
#include "gpt/loss_scaling.hpp"

#include "support.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace {

using scaling = gpt::loss_scaling_worker<float>;

// Its first steps overflow: numbers scaled by 2^126 have squares beyond any float.
constexpr gpt::loss_scaling too_much{.first = 0x1p126, .growth = 4, .interval = 2, .backoff = 0x1p-60};

ashlar::program measured_program(char const* name, int ranks) {
  ashlar::schedule const s =
      ashlar::catalog::find(name)->make({ashlar::devices{3}, ashlar::micro_batches{6}});
  return lower(s, {.data_ranks = ranks, .step = ashlar::optimizer_step::after_norm});
}

class scaled_ranks {
 public:
  scaled_ranks(ashlar::program const& p, gpt::loss_scaling how, double clip) {
    gpt::config shape = gpt_test::tiny(p.stage_count());
    shape.micro_batches = p.micro_batch_count();
    shape.data_ranks = p.data_ranks;
    for (int rank = 0; rank < p.data_ranks; ++rank)
      all_.push_back(std::make_unique<scaling>(shape, 3, how, gpt::adam_options{.clip = clip},
                                               gpt::site_in(p, rank)));
  }
  std::vector<scaling*> list() const {
    std::vector<scaling*> pointers;
    for (auto const& w : all_) pointers.push_back(w.get());
    return pointers;
  }
  scaling& operator[](std::size_t rank) const { return *all_[rank]; }
  void set_batch(std::uint64_t step) const {
    std::uint64_t next = step * all_.size();
    for (auto const& w : all_) w->set_batch(gpt_test::batch_for(w->shape(), next++));
  }

 private:
  std::vector<std::unique_ptr<scaling>> all_;
};

bool same_weights(gpt::worker<float> const& a, gpt::worker<float> const& b) {
  bool same = true;
  for (int stage = 0; stage < a.shape().stages; ++stage)
    same = same && std::ranges::equal(a.weights(stage), b.weights(stage));
  return same;
}

}  // namespace

TEST_CASE("loss scaling: steps that overflow are skipped, with the bits of the sequential run") {
  for (char const* name : {"1f1b", "zb-h1", "v-half"})
    for (int ranks : {1, 2}) {
      CAPTURE(name);
      CAPTURE(ranks);
      ashlar::program const p = measured_program(name, ranks);
      scaled_ranks const found(p, too_much, 0.1), expected(p, too_much, 0.1), fresh(p, too_much, 0.1);
      ashlar::host::runtime runtime(p, found.list());
      ashlar::sequential reference(p, expected.list());
      for (std::uint64_t step = 0; step < 6; ++step) {
        found.set_batch(step);
        expected.set_batch(step);
        runtime.run();
        reference.run();
        for (std::size_t rank = 0; rank < found.list().size(); ++rank) {
          CHECK(same_weights(found[rank], expected[rank]));
          CHECK(same_weights(found[rank], found[0]));
          for (int stage = 0; stage < p.stage_count(); ++stage) {
            CHECK(found[rank].scale(stage) == expected[rank].scale(stage));
            CHECK(found[rank].scale(stage) == found[0].scale(0));
          }
        }
        int const skipped = found[0].scale(0).skipped;
        CHECK(found[0].updates(0) == static_cast<int>(step) + 1 - skipped);
        if (found[0].updates(0) == 0) CHECK(same_weights(found[0], fresh[0]));
      }
      CHECK(found[0].scale(0).skipped > 0);
      CHECK(found[0].updates(0) > 2);
    }
}

TEST_CASE("loss scaling: a power of two changes no bit, whatever it grows to") {
  ashlar::program const p = measured_program("1f1b", 1);
  scaled_ranks const found(p, {.first = 0x1p10, .growth = 8, .interval = 1}, 0),
      plain(p, {.first = 1, .growth = 1}, 0);
  ashlar::host::runtime scaled(p, found.list()), unscaled(p, plain.list());
  for (std::uint64_t step = 0; step < 3; ++step) {
    found.set_batch(step);
    plain.set_batch(step);
    scaled.run();
    unscaled.run();
    CHECK(same_weights(found[0], plain[0]));
  }
  CHECK(found[0].scale(0).scale == 0x1p19);
}

TEST_CASE("loss scaling: what one number decides") {
  gpt::loss_scaling const how{.first = 8, .growth = 2, .interval = 2, .backoff = 0.5};
  gpt::adam_options const options{.clip = 3};
  gpt::loss_scale s{.scale = 8};
  CHECK(s.step(64, how, options) == 1.0 / 8);         // a norm of 1
  CHECK(s.step(64.0 * 36, how, options) == 0.5 / 8);  // of 6: clipped to 3
  CHECK(s == gpt::loss_scale{.scale = 16, .good_steps = 0, .skipped = 0});
  CHECK(s.step(std::numeric_limits<double>::quiet_NaN(), how, options) == 0);
  CHECK(s.step(std::numeric_limits<double>::infinity(), how, options) == 0);
  CHECK(s == gpt::loss_scale{.scale = 4, .good_steps = 0, .skipped = 2});
}
