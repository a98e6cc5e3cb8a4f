// The embedding and the head as one matrix: any schedule, ranks and sharding give the bits of the
// sequential model.
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
#include <utility>
#include <vector>

using ashlar::sharding_level;
using gpt_test::tensors;
using gpt_test::tied;
using gpt_test::tiny;
using gpt_test::which;

namespace {

ashlar::program tied_program(ashlar::schedule const& s, int ranks = 1,
                             sharding_level level = sharding_level::none) {
  int const last = s.stage_count() - 1;
  return lower(s, {.data_ranks = ranks,
                   .sharding = level,
                   .shared_parameters = {last > 0 ? std::vector{0, last} : std::vector{0}}});
}

ashlar::program tied_program(char const* name, int p, int m, int ranks = 1,
                             sharding_level level = sharding_level::none) {
  return tied_program(ashlar::catalog::find(name)->make({ashlar::devices{p}, ashlar::micro_batches{m}}),
                      ranks, level);
}

// A worker for each rank of a program.
class workers {
 public:
  workers(ashlar::program const& p, gpt::config shape) {
    shape.micro_batches = p.micro_batch_count();
    shape.stages = p.stage_count();
    shape.data_ranks = p.data_ranks;
    for (int rank = 0; rank < p.data_ranks; ++rank)
      all_.push_back(std::make_unique<gpt::worker<float>>(shape, 3, gpt::site_in(p, rank)));
  }

  std::vector<gpt::worker<float>*> list() const {
    std::vector<gpt::worker<float>*> pointers;
    for (auto const& w : all_) pointers.push_back(w.get());
    return pointers;
  }
  gpt::worker<float>& operator[](std::size_t rank) const { return *all_[rank]; }
  gpt::config const& shape() const { return all_[0]->shape(); }

  void set_batch(std::uint64_t step) const {
    std::uint64_t next = step * all_.size();
    for (auto const& w : all_) w->set_batch(gpt_test::batch_for(w->shape(), next++));
  }
  // The values that are not this rank's do not matter.
  void spoil() const {
    for (auto const& w : all_)
      for (int group = 0; group < shape().groups(); ++group) {
        auto const mine = w->part(group, w->weights(group));
        for (float& x : w->weights(group))
          if (&x < mine.data() || &x >= mine.data() + mine.size())
            x = std::numeric_limits<float>::quiet_NaN();
      }
  }
  void update() const { gpt::update(list(), {.clip = 0.1}); }

 private:
  std::vector<std::unique_ptr<gpt::worker<float>>> all_;
};

void check_steps(ashlar::program const& p) {
  workers const expected(p, tied(tiny(1))), found(p, tied(tiny(1)));
  found.spoil();
  ashlar::sequential reference(p, expected.list());
  ashlar::host::runtime runtime(p, found.list());
  gpt::config const& shape = found.shape();
  for (std::uint64_t step = 0; step < 3; ++step) {
    expected.set_batch(step);
    found.set_batch(step);
    reference.run();
    runtime.run();
    expected.update();
    found.update();
    for (std::size_t rank = 0; rank < found.list().size(); ++rank) {
      gpt::worker<float>&a = found[rank], &b = expected[rank];
      CHECK(std::ranges::equal(a.losses(), b.losses()));
      for (int group = 0; group < shape.groups(); ++group)
        for (int copy = 0; copy < a.copies(group); ++copy) {
          CHECK(std::ranges::equal(a.part(group, a.gradient(group, copy)),
                                   b.part(group, b.gradient(group, copy))));
          CHECK(std::ranges::equal(a.part(group, a.weights(group, copy)),
                                   b.part(group, b.weights(group, copy))));
        }
      CHECK(std::ranges::equal(a.weights(shape.stages), found[0].weights(shape.stages)));
      CHECK(a.copies(shape.stages) == static_cast<int>(p.groups.holders(shape.stages).size()));
      CHECK(a.copies_agree());
      CHECK(std::ranges::none_of(a.weights(shape.stages), [](float x) { return std::isnan(x); }));
    }
  }
}

std::size_t collectives_of(ashlar::program const& p, int group) {
  return static_cast<std::size_t>(std::ranges::count_if(p.instructions, [&](auto const& i) {
    return i.code == ashlar::opcode::all_reduce && i.group == group && i.lane != ashlar::compute_lane;
  }));
}

}  // namespace

TEST_CASE("tied: every schedule gives the bits of the sequential model") {
  for (ashlar::catalog::entry const& e : ashlar::catalog::entries)
    for (auto const& [devices, micro_batches] : {std::pair{1, 2}, {2, 4}, {4, 8}}) {
      int const p = devices, m = micro_batches;  // clang 14 cannot capture a binding
      if (!e.check({ashlar::devices{p}, ashlar::micro_batches{m}}).ok()) continue;
      ashlar::program const made = tied_program(e.name, p, m);
      if (made.mode == ashlar::execution_mode::inference) continue;
      CAPTURE(e.name);
      CAPTURE(p);
      check_steps(made);
    }
}

TEST_CASE("tied: replicas of both ends are holders, each once") {
  ashlar::program const two = tied_program("chimera", 4, 8);
  CHECK(two.groups.holders(two.stage_count()).size() == 2);
  ashlar::catalog::shape shape{ashlar::devices{4}, ashlar::micro_batches{8}};
  shape.routes = 4;
  for (sharding_level level : {sharding_level::none, sharding_level::full}) {
    ashlar::program const four = tied_program(ashlar::catalog::find("chimera")->make(shape),
                                              level == sharding_level::none ? 1 : 2, level);
    CHECK(four.groups.holders(four.stage_count()).size() == 4);
    check_steps(four);
  }
}

TEST_CASE("tied: so do data-parallel ranks, whatever they shard") {
  for (char const* name : {"1f1b", "zb-h1", "v-half", "chimera", "1f1b-recompute"})
    for (int p : {1, 2, 4})
      for (sharding_level level : {sharding_level::none, sharding_level::optimizer,
                                   sharding_level::gradients, sharding_level::full})
        for (int ranks : {2, 3}) {
          ashlar::catalog::shape const shape{ashlar::devices{p}, ashlar::micro_batches{p}};
          if ((ranks == 3 && p != 2) || !ashlar::catalog::find(name)->check(shape).ok()) continue;
          CAPTURE(name);
          CAPTURE(p);
          CAPTURE(static_cast<int>(level));
          CAPTURE(ranks);
          check_steps(tied_program(name, p, p, ranks, level));
        }
}

TEST_CASE("tied: where the ends of the pipeline meet there is one copy, and nothing to reduce") {
  for (auto [name, p] : {std::pair{"1f1b", 1}, {"v-half", 2}, {"v-half", 4}}) {
    ashlar::program const made = tied_program(name, p, 4);
    CHECK(workers(made, tied(tiny(1)))[0].copies(made.stage_count()) == 1);
    CHECK(collectives_of(made, made.stage_count()) == 0);
  }
  ashlar::program const apart = tied_program("1f1b", 4, 4);
  CHECK(workers(apart, tied(tiny(1)))[0].copies(4) == 2);
  CHECK(collectives_of(apart, 4) == 2);
}

TEST_CASE("tied: it is another model, of the same parts") {
  auto const trained = [](gpt::config const& shape) {
    gpt::worker<double> w(shape, 3);
    gpt::sequential<double> run(w);
    for (std::uint64_t step = 0; step < 2; ++step) {
      w.set_batch(gpt_test::batch_for(shape, step));
      run.step();
      gpt::update(std::vector{&w}, {});
    }
    return tensors(w, which::weight);
  };
  auto const apart = trained(tiny(2)), together = trained(tied(tiny(2)));
  CHECK(apart.contains("head.weight"));
  CHECK(!together.contains("head.weight"));
  for (auto const& [name, values] : together) CHECK(values != apart.at(name));
}

TEST_CASE("tied: the gradient is the sum of those of the embedding and the head") {
  gpt::worker<double> apart(tiny(3), 3), together(tied(tiny(3)), 3);
  auto const set = [](gpt::worker<double>& w, int group, char const* name, auto const& values) {
    w.visit(group, [&](auto const& what, auto const& weight, auto const&) {
      if (what.name == name) std::ranges::copy(values, weight.data);
    });
  };
  auto const matrix = tensors(together, which::weight).at("embedding.tokens");
  set(apart, 0, "embedding.tokens", matrix);
  set(apart, 2, "head.weight", matrix);
  for (auto* w : {&apart, &together}) {
    w->set_batch(gpt_test::batch_for(w->shape()));
    gpt::sequential<double>(*w).step();
  }
  CHECK(std::ranges::equal(apart.losses(), together.losses()));
  auto const parts = tensors(apart, which::gradient), sum = tensors(together, which::gradient);
  auto const &embedding = parts.at("embedding.tokens"), &head = parts.at("head.weight");
  double squares = 0;
  for (std::size_t i = 0; i < matrix.size(); ++i)
    CHECK(sum.at("embedding.tokens")[i] == doctest::Approx(embedding[i] + head[i]).epsilon(1e-12));
  for (auto const& [name, values] : sum)
    for (double x : values) squares += x * x;
  CHECK(gpt::gradient_norm(std::vector{&together}) == doctest::Approx(std::sqrt(squares)));
}

TEST_CASE("tied: copies and shards count once in the norm") {
  auto const norm = [](int ranks, sharding_level level) {
    ashlar::program const p = tied_program("chimera", 4, 4, ranks, level);
    workers const w(p, tied(tiny(1)));
    for (gpt::worker<float>* one : w.list()) one->set_batch(gpt_test::batch_for(one->shape()));
    ashlar::host::runtime(p, w.list()).run();
    return gpt::gradient_norm(w.list());
  };
  // Each rank has the same batch, so that more of them change nothing.
  double const alone = norm(1, sharding_level::none);
  CHECK(alone > 0);
  for (sharding_level level : {sharding_level::none, sharding_level::optimizer,
                               sharding_level::gradients, sharding_level::full})
    CHECK(norm(2, level) == doctest::Approx(alone).epsilon(1e-5));
}

TEST_CASE("the norm has the same bits however the model is divided") {
  auto const norm = [](char const* name, int p, int ranks, sharding_level level) {
    ashlar::schedule const s =
        ashlar::catalog::find(name)->make({ashlar::devices{p}, ashlar::micro_batches{4}});
    ashlar::program const low = lower(s, {.data_ranks = ranks, .sharding = level});
    workers const w(low, tiny(1));
    // Halves of the same gradient are added without rounding.
    for (gpt::worker<float>* one : w.list()) one->set_batch(gpt_test::batch_for(one->shape()));
    ashlar::host::runtime(low, w.list()).run();
    return gpt::gradient_norm(w.list());
  };
  double const alone = norm("1f1b", 1, 1, sharding_level::none);
  CHECK(alone > 0);
  for (int const p : {2, 3})
    for (sharding_level level : {sharding_level::none, sharding_level::optimizer, sharding_level::full})
      CHECK(norm("zb-h1", p, 2, level) == alone);
  CHECK(norm("v-half", 2, 2, sharding_level::weights) == alone);
}

TEST_CASE("a worker keeps the groups of the devices that it is for") {
  ashlar::program const p = tied_program("1f1b", 4, 4, 2, sharding_level::full);
  gpt::config const shape = workers(p, tied(tiny(4))).shape();
  gpt::worker<float> whole(shape, 1, gpt::site_in(p, 0)),
      part(shape, 1, gpt::site_in(p, 0, [](int device) { return device == 3; }));
  CHECK(part.parameters() == whole.parameters());
  for (int g = 0; g < shape.groups(); ++g) {
    CAPTURE(g);
    CHECK(part.holds(g) == (g >= 3));  // the last stage, and what it ties
    CHECK(whole.holds(g));
    CHECK(part.elements(g) == whole.weights(g).size());
    CHECK(part.bytes(ashlar::slot_kind::weight, g) == whole.bytes(ashlar::slot_kind::weight, g));
    CHECK(part.squares(g) == gpt::exact_sum());
    if (part.holds(g))
      CHECK(std::ranges::equal(part.weights(g), whole.weights(g)));
    else
      CHECK(part.weights(g).empty());
  }
}
