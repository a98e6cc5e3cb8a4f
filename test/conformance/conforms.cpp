// The conformance test finds every kind of wrong result, and says what is wrong.
#include "conformance/relay.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/conformance/conforms.hpp>
#include <ashlar/conformance/random_work.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace ashlar;
using conformance::network;

namespace {

// A schedule of training on two devices; the stages have parameters in common, and there is work that is
// waited for.
schedule with_work() {
  schedule s = catalog::find("gpipe")->make({devices{2}, micro_batches{2}});
  return conformance::with_random_work(s, 3, 2, false);
}
std::vector<conformance::sample_program> two_programs() {
  return {{"plain", lower(catalog::find("gpipe")->make({devices{2}, micro_batches{2}}))},
          {"rich", lower(with_work(), {.shared_parameters = {{0, 1}}})}};
}

// The failures of the first program and of the second.
using sentences = std::vector<std::string>;
sentences failures_of(conformance::report const& r) {
  CHECK(r.ok() == r.failures.empty());
  return r.failures;
}

sentences conforms_with(std::function<void(program const&, network&)> run,
                        numerics level = numerics::ordered, std::size_t bytes = 0) {
  auto const r = conformance::conforms(two_programs(), run, level, bytes);
  CHECK(r.programs == 2);
  return failures_of(r);
}
void run_right(program const& p, network& w) { sequential(p, w).run(); }
void run_changed(program const& p, network& w, std::function<void(relay<network>&)> change) {
  relay between(w);
  change(between);
  sequential(p, between).run();
}

std::span<double> numbers(buffer b) {
  return {reinterpret_cast<double*>(b.data()), b.size() / sizeof(double)};
}
// Runs a step in which the gradient of one group is changed before it is told.
void run_with_gradient(program const& p, network& w, int group,
                       std::function<void(std::span<double>)> change) {
  run_changed(p, w, [&](relay<network>& between) {
    between.before_reduced = [group, change](parameter_frame const& f) {
      if (f.group == group) change(numbers(f.gradient));
    };
  });
}

}  // namespace

TEST_CASE("conforms: a right backend has no failures, with messages of any size") {
  for (auto level : {numerics::ordered, numerics::any_order})
    for (std::size_t bytes : {0U, 1U, 100U})
      CHECK(conforms_with(run_right, level, bytes) == sentences{});
}

TEST_CASE("conforms: messages are as large as asked, and passes are delayed each time by another seed") {
  std::vector<std::size_t> sizes;
  std::set<std::uint64_t> seeds;
  conforms_with(
      [&](program const& p, network& w) {
        sizes.push_back(w.layout({slot_kind::activation, 0, 0, 1}).bytes);
        sizes.push_back(w.layout({slot_kind::gradient, 1, 0, 0}).bytes);
        seeds.insert(w.delays);
        run_right(p, w);
      },
      numerics::ordered, 100);
  CHECK(sizes == std::vector<std::size_t>(4, 100));
  CHECK(seeds.size() == 2);
  CHECK(!seeds.contains(0));
}

TEST_CASE("conforms: bits of a gradient that differ are named by stage, or by what stages share") {
  auto const next = [](std::span<double> g) { g[4 % g.size()] = std::nextafter(g[4 % g.size()], 9.0); };
  auto const wrong_in = [&](int group) {
    return conforms_with([&](program const& p, network& w) { run_with_gradient(p, w, group, next); });
  };
  CHECK(wrong_in(0)
        == sentences{"plain: the gradients of stage 0 differ", "rich: the gradients of stage 0 differ"});
  CHECK(wrong_in(1)
        == sentences{"plain: the gradients of stage 1 differ", "rich: the gradients of stage 1 differ"});
  // Both holders of a shared group are told of the same memory.
  CHECK(wrong_in(2) == sentences{"rich: the gradients of what stages have in common differ"});
}

TEST_CASE("conforms: sums in any order may differ by a share of the largest number, and no more") {
  bool negative = false;  // the largest of some gradient
  for (int group : {0, 1}) {
    auto const wrong_by = [&](double share) {
      return conforms_with(
          [&](program const& p, network& w) {
            run_with_gradient(p, w, group, [&](std::span<double> g) {
              auto const smaller = [](double a, double b) { return std::abs(a) < std::abs(b); };
              auto const [least, most] = std::minmax_element(g.begin(), g.end(), smaller);
              negative = negative || *most < -*std::max_element(g.begin(), g.end());
              *least += share * std::abs(*most);
            });
          },
          numerics::any_order);
    };
    std::string const what = ": the gradients of stage " + std::to_string(group) + " differ";
    sentences const both{"plain" + what, "rich" + what};
    CHECK(wrong_by(0.9 * conformance::any_order_bound) == sentences{});
    CHECK(wrong_by(-0.9 * conformance::any_order_bound) == sentences{});
    CHECK(wrong_by(1.1 * conformance::any_order_bound) == both);
    CHECK(wrong_by(-1.1 * conformance::any_order_bound) == both);
    CHECK(wrong_by(std::numeric_limits<double>::quiet_NaN()) == both);
    CHECK(wrong_by(std::numeric_limits<double>::infinity()) == both);
  }
  CHECK(negative);
}

TEST_CASE("conforms: who is told of a gradient never, or twice, is found") {
  for (auto level : {numerics::ordered, numerics::any_order}) {
    sentences const nothing = conforms_with([](program const&, network&) {}, level);
    for (char const* said :
         {"plain: reduced() is not called once for each holder", "plain: the losses differ",
          "plain: the gradients of stage 0 differ", "plain: the gradients of stage 1 differ",
          "rich: the gradients of what stages have in common differ"})
      CHECK(std::count(nothing.begin(), nothing.end(), said) > 0);
  }
  sentences const twice = conforms_with([](program const& p, network& w) {
    run_changed(p, w, [&](relay<network>& between) {
      between.before_reduced = [&](parameter_frame const& f) {
        if (f.group == 1) w.reduced(between, f);
      };
    });
  });
  CHECK(twice
        == sentences{"plain: reduced() is not called once for each holder",
                     "rich: reduced() is not called once for each holder"});
}

TEST_CASE("conforms: inference must tell of no gradient") {
  program const p = lower(catalog::find("inference")->make({devices{2}, micro_batches{2}}));
  auto const run = [&](bool tells) {
    return failures_of(conformance::conforms({{"served", p}}, [&](program const& given, network& w) {
      run_right(given, w);
      network::matrix none{};
      if (tells) w.reduced(none, {.group = 1, .gradient = std::as_writable_bytes(std::span(none))});
    }));
  };
  CHECK(run(false) == sentences{});
  CHECK(run(true) == sentences{"served: reduced() is not called once for each holder"});
}

TEST_CASE("conforms: other data give other losses") {
  sentences const found = conforms_with([](program const& p, network& w) {
    w.first_micro_batch = 1;
    run_right(p, w);
  });
  CHECK(std::count(found.begin(), found.end(), "plain: the losses differ") == 1);
  CHECK(std::count(found.begin(), found.end(), "rich: the losses differ") == 1);
}

TEST_CASE("conforms: work that was not done is named") {
  work_graph const work = with_work().work;
  int const parts = static_cast<int>(work.view().parts.size());
  REQUIRE(parts > 1);
  for (int number = 0; number < parts; ++number) {
    sentences const found = conforms_with([&](program const& p, network& w) {
      run_changed(p, w, [&](relay<network>& between) {
        between.skips = [&](pass what) {
          return is_part(what) && work.view().number(part_of(what)) == number;
        };
      });
    });
    CHECK(std::count(found.begin(), found.end(),
                     "rich: what work made differs, at part " + std::to_string(number))
          == 1);
  }
}

TEST_CASE("conforms: a message that is torn at its end is found") {
  sentences const found = conforms_with(
      [](program const& p, network& w) {
        run_changed(p, w, [](relay<network>& between) {
          between.after = [](frame const& f) {
            for (port const& out : f.outputs) out.bytes.back() ^= std::byte{1};
          };
        });
      },
      numerics::ordered, 100);
  CHECK(found == sentences{"plain: a message is torn", "rich: a message is torn"});
}

TEST_CASE("conforms: what a backend throws is a failure, and the next program is run") {
  int calls = 0;
  sentences const found = conforms_with([&](program const& p, network& w) {
    if (++calls == 1) throw std::runtime_error("device 1 is gone");
    run_right(p, w);
  });
  CHECK(calls == 2);
  CHECK(found == sentences{"plain: device 1 is gone"});
}
