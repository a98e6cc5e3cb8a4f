// Definitions of conforms.hpp.
#pragma once

#include <ashlar/conformance/conforms.hpp>
#include <ashlar/conformance/data_parallel_ranks.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/run/sequential.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>

namespace ashlar::conformance::conformance_detail {

ASHLAR_INLINE bool agree(std::span<double const> found, std::span<double const> expected,
                         numerics level) {
  if (level == numerics::ordered || found.size() != expected.size())
    return std::equal(found.begin(), found.end(), expected.begin(), expected.end());
  double largest = 0, apart = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    apart = std::max(apart, std::isfinite(found[i]) ? std::abs(found[i] - expected[i]) : INFINITY);
  }
  return apart <= any_order_bound * largest;
}

ASHLAR_INLINE void try_program(report& r, std::string const& name, function_ref<void(say_if)> act) {
  ++r.programs;
  auto const say = [&](bool holds, std::string const& what) {
    if (!holds) r.failures.push_back(name + ": " + what);
  };
  try {
    act(say);
  } catch (std::exception const& e) {
    say(false, e.what());
  }
}

}  // namespace ashlar::conformance::conformance_detail

namespace ashlar::conformance {

ASHLAR_INLINE report conforms(std::vector<sample_program> const& samples,
                              function_ref<void(program const&, network&)> run, numerics level,
                              std::size_t bytes) {
  report r;
  std::uint64_t seed = 1;
  for (sample_program const& sample : samples)
    conformance_detail::try_program(r, sample.name, [&](conformance_detail::say_if say) {
      program const& p = sample.program;
      network reference(p);
      sequential(p, reference).run();
      network::outcome const expected = reference.take();

      network found(p);
      found.delays = seed++;
      found.message_bytes = bytes;
      run(p, found);
      for (int group = 0; group < p.groups.count(); ++group) {
        int const calls =
            (p.mode == execution_mode::training) ? static_cast<int>(p.groups.holders(group).size()) : 0;
        say(found.reductions(group) == calls, "reduced() is not called once for each holder");
      }
      network::outcome const out = found.take();
      say(conformance_detail::agree(out.losses, expected.losses, level), "the losses differ");
      for (std::size_t part = 0; part < out.work.size(); ++part)
        say(conformance_detail::agree(out.work[part], expected.work[part], level),
            "what work made differs, at part " + std::to_string(part));
      for (std::size_t s = 0; s < out.gradients.size(); ++s)
        say(conformance_detail::agree(out.gradients[s], expected.gradients[s], level),
            "the gradients of stage " + std::to_string(s) + " differ");
      for (std::size_t g = 0; g < out.shared_gradients.size(); ++g)
        say(conformance_detail::agree(out.shared_gradients[g], expected.shared_gradients[g], level),
            "the gradients of what stages have in common differ");
    });
  return r;
}

ASHLAR_INLINE report ranks_conform(
    std::vector<sample_program> const& samples,
    function_ref<void(program const&, std::vector<sharded_network*> const&)> run, numerics level) {
  report r;
  std::uint64_t seed = 1;
  for (sample_program const& sample : samples)
    conformance_detail::try_program(r, sample.name, [&](conformance_detail::say_if say) {
      using conformance_detail::agree;
      program const& p = sample.program;
      data_parallel_ranks expected(p), found(p);
      found.spoil();
      found.delay(seed++);
      sequential reference(p, expected.workers());
      for (int step = 0; step < 2; ++step) {
        expected.forget();
        found.forget();
        reference.run();
        run(p, found.workers());
        for (int group = 0; group < p.groups.count(); ++group) {
          std::string const of =
              (group < p.stage_count() ? " of stage " + std::to_string(group)
                                       : std::string(" of what stages have in common"))
              + " differ";
          say(agree(found.gradient(group), expected.gradient(group), level), "the gradients" + of);
          say(p.mode == execution_mode::inference
                  ? found.gradient(group).empty()
                  : found.gradient(group).size() == found.weights(group).size(),
              "the sizes of the gradient and the weights" + of);
          say(agree(found.weights(group), expected.weights(group), level), "the weights" + of);
        }
        say(found.agrees(), "the ranks differ");
        for (std::size_t rank = 0; rank < found.workers().size(); ++rank) {
          sharded_network &mine = *found.workers()[rank], &its = *expected.workers()[rank];
          bool const one_has = std::isinf(mine.norm()) || std::isinf(its.norm());
          say(one_has ? mine.norm() == its.norm()
                      : agree(std::vector{mine.norm()}, std::vector{its.norm()}, level),
              "the norms differ");
          network::outcome const my_own = mine.take(), expected_own = its.take();
          say(agree(my_own.losses, expected_own.losses, level), "the losses differ");
          for (std::size_t part = 0; part < my_own.work.size(); ++part)
            say(agree(my_own.work[part], expected_own.work[part], level), "what work made differs");
        }
      }
    });
  return r;
}

}  // namespace ashlar::conformance
