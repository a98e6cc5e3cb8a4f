// Workers that hand what they are asked for on to others, and may change what passes through.
#pragma once

#include <ashlar/conformance/sharded_network.hpp>

#include <functional>
#include <utility>

// Relays to one network, or to one chosen by the device.
template <class Network>
class relay {
 public:
  explicit relay(Network& to) : relay([&to](int) -> Network& { return to; }) {}
  explicit relay(std::function<Network&(int)> of_device) : of_device_(std::move(of_device)) {}

  std::function<bool(ashlar::pass)> skips = [](ashlar::pass) { return false; };
  std::function<void(ashlar::frame const&)> after = [](ashlar::frame const&) {};
  std::function<void(ashlar::parameter_frame const&)> before_reduced =
      [](ashlar::parameter_frame const&) {};

  // The worker.
  ashlar::value_layout layout(ashlar::value_key key) const { return of_device_(0).layout(key); }
  void forward(auto& q, ashlar::frame const& f) {
    hand_on(f, [&](Network& to) { to.forward(q, f); });
  }
  void recompute(auto& q, ashlar::frame const& f) {
    hand_on(f, [&](Network& to) { to.recompute(q, f); });
  }
  void backward(auto& q, ashlar::frame const& f) {
    hand_on(f, [&](Network& to) { to.backward(q, f); });
  }
  void backward_input(auto& q, ashlar::frame const& f) {
    hand_on(f, [&](Network& to) { to.backward_input(q, f); });
  }
  void backward_weight(auto& q, ashlar::frame const& f) {
    hand_on(f, [&](Network& to) { to.backward_weight(q, f); });
  }
  void work(auto& q, ashlar::frame const& f) {
    hand_on(f, [&](Network& to) { to.work(q, f); });
  }
  void reduced(auto& q, ashlar::parameter_frame const& f) {
    before_reduced(f);
    of_device_(f.site.device).reduced(q, f);
  }

 protected:
  Network& of_device(int device) const { return of_device_(device); }

 private:
  void hand_on(ashlar::frame const& f, auto call) {
    if (skips(f.what)) return;
    call(of_device_(f.site.device));
    after(f);
  }

  std::function<Network&(int)> of_device_;
};

// A relay for a data-parallel rank. All networks must have equal weights when a step begins.
class sharded_relay : public relay<ashlar::conformance::sharded_network> {
 public:
  using relay::relay;

  ashlar::buffer shard(int group, int replica) { return of_device(0).shard(group, replica); }
  void measure(auto& q, ashlar::parameter_frame const& f) { of_device(f.site.device).measure(q, f); }
  void optimize(auto& q, ashlar::parameter_frame const& f) { of_device(f.site.device).optimize(q, f); }
};
