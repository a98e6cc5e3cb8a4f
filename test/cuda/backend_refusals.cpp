// Programs and settings that the CUDA backend refuses before the first step, and what it says.
#include "staged.hpp"
#include "substitute/substitute.hpp"
#include "substituted.hpp"
#include <ashlar/catalog.hpp>
#include <ashlar/cuda/runtime.hpp>
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

using namespace ashlar;

namespace {

program small_program(lower_options const& o = {}) {
  return lower(catalog::find("1f1b")->make({devices{2}, micro_batches{3}}), o);
}

template <class Exception, class Act>
std::string what_is_said(Act act) {
  try {
    act();
  } catch (Exception const& e) {
    return e.what();
  }
  return "nothing is thrown";
}

struct forward_only {
  static value_layout layout(value_key) { return {64, 64, element_type::f32}; }
  void forward(cuda::queue&, frame const&) {}
};

// Its values are as large as a test wants.
struct large : forward_only {
  std::size_t bytes = 0;
  value_layout layout(value_key) const { return {bytes, 64, element_type::f32}; }
  void backward(cuda::queue&, frame const&) {}
};

}  // namespace

TEST_CASE("cuda: what cannot be run is refused with reasons") {
  cuda_substitute::reset();
  program const p = small_program();
  conformance::network net(p);
  cuda_test::staged worker(net);
  using workers = std::vector<cuda_test::staged<conformance::network>*>;
  CHECK(what_is_said<std::invalid_argument>([&] {
          cuda::runtime(p, workers{&worker, &worker});
        })
        == "a program of 1 data-parallel ranks needs as many workers, not 2");
  CHECK(what_is_said<std::invalid_argument>([&] { cuda::runtime(p, workers{nullptr}); })
        == "rank 0 has a device here, but no worker");
  forward_only lacking;
  CHECK(what_is_said<std::invalid_argument>([&] { cuda::runtime(p, lacking); })
        == "the worker cannot do the instruction 0B0");
  program broken = p;
  broken.instructions.pop_back();
  --broken.stream_begin.back();
  CHECK_THROWS_AS(cuda::runtime(broken, worker), violation);
  CHECK(what_is_said<cuda::error>([&] { cuda::runtime(p, worker, {.gpus = {7}}); })
        == "cudaSetDevice: invalid device ordinal (cudaErrorInvalidDevice)");
  CHECK(cuda_substitute::live() == cuda_substitute::live_objects{});
}

TEST_CASE("cuda: a machine without a GPU is named so") {
  cuda_substitute::reset({.devices = 0});
  program const p = small_program();
  conformance::network net(p);
  CHECK(what_is_said<std::exception>([&] {
          cuda_test::staged worker(net);
          cuda::runtime runtime(p, worker);
        }).find("no CUDA-capable device is detected")
        != std::string::npos);
  cuda_substitute::reset();
}

TEST_CASE("cuda: slots that do not fit are refused with what is needed, by what, and what there is") {
  cuda_test::substituted const machine({.memory = std::size_t{1} << 20});
  program const p = small_program();
  large worker;
  worker.bytes = 100'000;
  std::string const said = what_is_said<cuda::out_of_memory>([&] { cuda::runtime(p, worker); });
  CAPTURE(said);
  CHECK(said.find("GPU 0 has ") == 0);
  CHECK(said.find(" left of 1.0 MiB, but slots need ") != std::string::npos);
  CHECK(said.find("device 0: ") != std::string::npos);
  CHECK(said.find("; device 1: ") != std::string::npos);
  CHECK(said.find("stash") != std::string::npos);
  worker.bytes = 10'000;
  cuda::runtime runtime(p, worker);
  std::size_t proved = 0;
  for (int d = 0; d < p.device_count(); ++d)
    proved += slot_layout(p.view(), 0, d, [&](value_key k) { return worker.layout(k); }).total;
  CHECK(runtime.slot_bytes() == proved);
  CHECK(cuda_substitute::live().device_bytes >= proved);
  CHECK(cuda_substitute::live().device_bytes < proved + 20'000);  // and the marks' positions
}
