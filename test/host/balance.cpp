// The load of experts over a batch: every backward on devices is shown the counts that the sequential
// reference shows it, of all ranks, step after step from zero.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>
#include <ashlar/values/balance.hpp>
#include <ashlar/values/coverage.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

using namespace ashlar;

namespace {

// A router that sends micro-batch k of rank r to one expert, (k + r + step) modulo their number.
class counting_router {
 public:
  static constexpr std::size_t experts = 3;
  using counts = std::array<double, experts>;

  counting_router(int stages, int micro_batches, int rank)
      : micro_batches_(micro_batches),
        rank_(rank),
        shown_(static_cast<std::size_t>(stages * micro_batches), counts{}) {}

  value_layout layout(value_key) const { return {sizeof(counts), 64, element_type::f64}; }
  void forward(auto&, frame const& f) {
    counts& own = as_counts(f.stash) = counts{};
    own[expert_of(f.what.micro_batch)] = 10;
  }
  void backward_input(auto&, frame const& f) {
    if (!f.work_inputs.empty())
      shown_[static_cast<std::size_t>(f.what.stage * micro_batches_ + f.what.micro_batch)] =
          as_counts(f.work_inputs[0]);
  }
  void backward(auto& q, frame const& f) { backward_input(q, f); }
  void backward_weight(auto&, frame const&) {}
  // `count` hands on what the forward kept; `add` adds the sum to the state; `show` hands on the state.
  void work(auto&, frame const& f) {
    if (f.work_state.empty()) {
      as_counts(f.work_output) = as_counts(f.work_inputs[0]);
      return;
    }
    for (work_port const& sum : f.work_inputs)
      for (std::size_t e = 0; e < experts; ++e) as_counts(f.work_state)[e] += as_counts(sum)[e];
    if (!f.work_output.empty()) as_counts(f.work_output) = as_counts(f.work_state);
  }

  std::size_t expert_of(int k) const { return static_cast<std::size_t>(k + rank_ + step) % experts; }
  std::vector<counts> const& shown() const { return shown_; }
  int step = 0;

 private:
  static counts& as_counts(buffer b) { return *reinterpret_cast<counts*>(b.data()); }

  int micro_batches_, rank_;
  std::vector<counts> shown_;  // by stage and micro-batch
};

class routers {
 public:
  explicit routers(program const& p) {
    for (int r = 0; r < p.data_ranks; ++r)
      all_.push_back(std::make_unique<counting_router>(p.stage_count(), p.micro_batch_count(), r));
  }
  std::vector<counting_router*> list() const {
    std::vector<counting_router*> pointers;
    for (auto const& w : all_) pointers.push_back(w.get());
    return pointers;
  }

 private:
  std::vector<std::unique_ptr<counting_router>> all_;
};

}  // namespace

TEST_CASE("balance: backwards are shown the counts of all ranks that are known, and no older ones") {
  for (char const* name : {"gpipe", "1f1b", "zb-h1"})
    for (int ranks : {1, 2}) {
      CAPTURE(name);
      CAPTURE(ranks);
      int const m = 8;
      schedule const plain = catalog::find(name)->make({devices{4}, micro_batches{m}});
      program const p = lower(balance_experts(plain, {0, 2}), {.data_ranks = ranks});
      routers const found(p), expected(p);
      host::runtime runtime(p, found.list());
      sequential reference(p, expected.list());
      for (int step = 0; step < 2; ++step) {
        for (auto* w : found.list()) w->step = step;
        for (auto* w : expected.list()) w->step = step;
        runtime.run();
        reference.run();
        for (int r = 0; r < ranks; ++r) {
          counting_router const& w = *found.list()[static_cast<std::size_t>(r)];
          CHECK(w.shown() == expected.list()[static_cast<std::size_t>(r)]->shown());
          for (int stage : {0, 2}) {
            auto const shares = coverage(plain, stage_id{stage});
            for (int k = 0; k < m; ++k) {
              // Micro-batches are known in their order on these schedules.
              counting_router::counts sum{};
              for (int known = 0; known < m * shares[static_cast<std::size_t>(k)]; ++known)
                for (auto const* of : found.list()) sum[of->expert_of(known)] += 10;
              CHECK(w.shown()[static_cast<std::size_t>(stage * m + k)] == sum);
            }
          }
        }
      }
    }
}
