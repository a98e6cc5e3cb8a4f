// Two phases of serving on the host backend: programs without a cycle although tokens go in a ring.
#include <ashlar/conformance/network.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/plan/serving/two_phase.hpp>
#include <ashlar/run/host_memory.hpp>
#include <ashlar/run/sequential.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

using namespace ashlar;

namespace {

constexpr std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  return (a ^ b) * 0x9e3779b97f4a7c15u + 1;
}

// Tokens are numbers. A device mixes what comes with all that it has seen of the unit, as attention does
// with its keys and values, which stay on the device.
class ring_of_tokens {
 public:
  ring_of_tokens(two_phase const& shape, int p)
      : shape_(shape),
        p_(p),
        seen_(static_cast<std::size_t>(p * shape.units()), 0),
        last_(static_cast<std::size_t>(shape.units()), 0) {}

  value_layout layout(value_key key) const {
    return {key.kind == slot_kind::activation ? sizeof(std::uint64_t) : 0, alignof(std::uint64_t),
            element_type::opaque};
  }
  void forward(auto&, frame const& f) {
    std::uint64_t token = f.inputs.empty() ? prompt(f.what) : 0;
    for (port const& input : f.inputs) {
      std::uint64_t more = 0;
      std::memcpy(&more, input.bytes.data(), sizeof more);
      token = mixed(token, more);
    }
    auto const device = static_cast<std::size_t>(f.what.stage % p_),
               unit = static_cast<std::size_t>(f.what.micro_batch);
    std::uint64_t& seen = seen_[device * static_cast<std::size_t>(shape_.units()) + unit];
    token = seen = mixed(seen, token);
    if (f.outputs.empty())
      last_[unit] = mixed(last_[unit], token);
    else
      std::memcpy(f.outputs[0].bytes.data(), &token, sizeof token);
  }
  void backward(auto&, frame const&) {}

  std::vector<std::uint64_t> const& last() const { return last_; }

 private:
  static std::uint64_t prompt(pass what) {
    return static_cast<std::uint64_t>(what.stage + 1) * 1000
           + static_cast<std::uint64_t>(what.micro_batch);
  }

  two_phase shape_;
  int p_;
  std::vector<std::uint64_t> seen_, last_;
};
static_assert(worker<ring_of_tokens>);

}  // namespace

TEST_CASE("host: prompts and tokens of two phases come out as one after the other") {
  for (two_phase const& shape :
       {two_phase{4, 2, 5}, two_phase{2, 2, 3}, two_phase{3, 2, 4}, two_phase{2, 4, 3}})
    for (int p : {1, 2, 3}) {
      program const steps = lower(
          two_phase_schedule(shape, std::vector<phase_times>(static_cast<std::size_t>(p), {5, 2})));
      ring_of_tokens expected(shape, p);
      sequential(steps, expected).run();
      for (auto mode : {host::send_mode::rendezvous, host::send_mode::buffered}) {
        ring_of_tokens w(shape, p);
        host::runtime(steps, w, {.mode = mode}).run();
        CHECK(w.last() == expected.last());
      }
      conformance::network net(steps.stage_count(), steps.micro_batch_count());
      sequential(steps, net).run();
      auto const outcome = net.take();
      host::runtime(steps, net).run();
      CHECK(net.take() == outcome);
    }
}
