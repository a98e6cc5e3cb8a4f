// Wrong places are reported, with the rule that fits.
#include "mutate.hpp"
#include "random.hpp"
#include "violations.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

using namespace random_case;

namespace {

struct place {
  std::size_t device, index;
};

place random_place(dice& d, schedule const& s) {
  std::vector<place> all;
  for (std::size_t i = 0; i < s.order.size(); ++i)
    for (std::size_t j = 0; j < s.order[i].size(); ++j) all.push_back({i, j});
  return all[static_cast<std::size_t>(d.between(0, static_cast<int>(all.size()) - 1))];
}

TEST_CASE("a pass left out, doubled or moved to another device") {
  FOR_SEEDS(400) {
    block const b = random_block(d);
    CAPTURE(seed);
    INFO(words(b));
    schedule const s = squeeze(repeat(b, random_count(d, b)));
    place const at = random_place(d, s);
    time_slot const t = s.order[at.device][at.index];
    auto const gone = static_cast<std::ptrdiff_t>(at.index);

    schedule without = s;
    without.order[at.device].erase(without.order[at.device].begin() + gone);
    diagnosis found = check(without);
    if (t.what.kind == pass_kind::recompute) {
      CHECK(found.ok());  // activations are then kept
    } else {
      CHECK(found.broken == rule::every_pass_is_present);
      CHECK(found.first.device == static_cast<int>(at.device));
      CHECK(found.first.what == t.what);
    }

    schedule twice = s;
    twice.order[at.device].push_back({t.what, 1'000'000});
    found = check(twice);
    CHECK(found.broken == rule::no_pass_is_doubled);
    CHECK(found.first.what == t.what);
    CHECK(found.first.index == static_cast<int>(s.order[at.device].size()));

    if (s.device_count() == 1) continue;
    std::size_t const other = (at.device + 1) % s.order.size();
    without.order[other].push_back({t.what, 1'000'000});
    found = check(without);
    CHECK(found.broken == rule::pass_is_on_its_device);
    CHECK(found.first.device == static_cast<int>(other));
    CHECK(found.second.device == static_cast<int>(at.device));
  }
}

TEST_CASE("a pass that starts earlier than it can") {
  FOR_SEEDS(400) {
    block const b = random_block(d);
    CAPTURE(seed);
    INFO(words(b));
    schedule s = squeeze(repeat(b, random_count(d, b)));
    place const at = random_place(d, s);
    time_slot& t = s.order[at.device][at.index];
    if (t.start == 0) continue;
    t.start -= d.between(1, static_cast<int>(std::min<tick>(t.start, 50)));
    diagnosis const found = check(s);
    bool const fits = found.broken == rule::passes_do_not_collide
                      || found.broken == rule::no_pass_starts_before_its_input;
    CHECK(fits);
    CHECK(found.number > 0);
  }
}

TEST_CASE("a forward and its backward exchanged") {
  FOR_SEEDS(400) {
    block const b = random_block(d);
    CAPTURE(seed);
    INFO(words(b));
    schedule s = squeeze(repeat(b, random_count(d, b)));
    auto& order = s.order[random_place(d, s).device];
    auto const forward = std::find_if(order.begin(), order.end(), [](time_slot const& t) {
      return t.what.kind == pass_kind::forward;
    });
    auto const backward = std::find_if(order.begin(), order.end(), [&](time_slot const& t) {
      return gives_input_gradient(t.what.kind) && t.what.stage == forward->what.stage
             && t.what.micro_batch == forward->what.micro_batch;
    });
    REQUIRE(backward != order.end());
    std::swap(forward->what, backward->what);
    CHECK(check_passes(s).ok());
    diagnosis const found = check(s);
    bool const fits = found.broken == rule::passes_do_not_collide
                      || found.broken == rule::no_pass_starts_before_its_input
                      || (found.broken == rule::order_has_no_cycle && s.cost.passes.has_instants());
    CHECK(fits);
    CHECK_BREAKS(order_has_no_cycle, squeeze(s));
    bool const refused = violations::broken_by([&] { lower(s); }) == found.broken;
    CHECK(refused);
  }
}

TEST_CASE("an instruction left out or doubled") {
  FOR_SEEDS(400) {
    block const b = random_block(d);
    CAPTURE(seed);
    INFO(words(b));
    program const p = lower(squeeze(repeat(b, random_count(d, b))));
    int const device = d.between(0, p.device_count() - 1);
    program broken = p;
    if (mutate::length(p, device) == 0) continue;
    int const at = d.between(0, mutate::length(p, device) - 1);
    instruction const i = mutate::drop(broken, device, at);
    CAPTURE(device);
    CAPTURE(at);
    rule missing = rule::gradient_is_reduced_once, doubled = missing;
    if (i.code == opcode::compute) {
      bool const again = i.what.kind == pass_kind::recompute;
      missing = again ? rule::slot_holds_what_is_read : rule::every_pass_is_present;
      doubled = rule::no_pass_is_doubled;
    } else if (i.code == opcode::clear) {
      missing = doubled = rule::gradient_starts_from_zero;
    } else if (i.code != opcode::all_reduce) {
      missing =
          i.code == opcode::send ? rule::every_receive_has_its_send : rule::every_send_has_its_receive;
      doubled = rule::no_transfer_is_doubled;
    }
    CHECK(check(broken).broken == missing);
    mutate::insert(broken, device, at, i);
    CHECK(broken == p);
    mutate::insert(broken, device, at, i);
    CHECK(check(broken).broken == doubled);
  }
}

}  // namespace
