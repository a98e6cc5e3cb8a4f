#include <ashlar/run/poll.hpp>
// The header above comes first: it needs nothing before it.
#include "../../mutate.hpp"
#include "../../shapes.hpp"
#include "../../written_device.hpp"
#include <ashlar/lower/lower.hpp>
#include <ashlar/program/names.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace shapes;
using namespace written_device;

namespace {

TEST_CASE("polling posts what can be posted, and stands still until an event happens") {
  setup s(one_f_one_b(2, 2) | lower(), 0, wait_detail::all);
  poll_cursor cursor(s.plan);
  auto const let_happen = [&](char const* name) {
    for (int i = 0; i < s.plan.size(); ++i)
      if (to_string(s.plan.at(i).what).find(name) == 0) {
        REQUIRE(s.plan.events().event_of(i) >= 0);
        s.device.event_of(s.plan.events().event_of(i)).happened = true;
      }
  };
  // Each time a pass or a clear runs. The receives wait for nothing, but stand after sends.
  CHECK(poll(s.plan, cursor, s.worker, s.device));
  CHECK(poll(s.plan, cursor, s.worker, s.device));
  std::string const first = s.device.text;
  CHECK(first == "clear F0 ");
  let_happen("0F0");
  CHECK(poll(s.plan, cursor, s.worker, s.device));
  CHECK(s.device.text.substr(first.size()).find("send0") == 0);
  while (poll(s.plan, cursor, s.worker, s.device)) continue;
  std::string const stuck = s.device.text;
  CHECK(stuck.find("B0") == std::string::npos);
  CHECK_FALSE(cursor.is_at_end(s.plan, s.device));
  s.device.at_once = true;  // from now on all is done when it is recorded
  for (auto& e : s.device.events) e.happened = e.recorded;
  while (poll(s.plan, cursor, s.worker, s.device)) continue;
  CHECK(cursor.is_at_end(s.plan, s.device));
  CHECK(s.device.text.find("B1") != std::string::npos);
  cursor.reset();
  CHECK_FALSE(cursor.is_posted(s.plan, 0));
}

// The first backward's input is late, and the third forward stands behind it.
TEST_CASE("of the passes in the window, the first that is ready starts, each once") {
  program const p = lower(one_f_one_b(2, 3), {.slots = slot_reuse::never});
  int const late = mutate::find(p, 0, opcode::receive, {B, 1, 0});
  for (int window : {1, 2, 3}) {
    setup s(p, 0, window > 1 ? wait_detail::any_pass_order : wait_detail::all);
    poll_cursor cursor(s.plan, window);
    auto const run = [&](bool is_there) {
      bool moved = true;
      while (moved) {
        moved = poll(s.plan, cursor, s.worker, s.device);
        for (int i = 0; i < s.plan.size(); ++i)
          if (int const e = s.plan.events().event_of(i); e >= 0 && (is_there || i != late)) {
            moved |= s.device.event_of(e).recorded && !s.device.event_of(e).happened;
            s.device.event_of(e).happened = s.device.event_of(e).recorded;
          }
      }
    };
    run(false);
    std::string const early = s.device.text;
    CHECK((count_of_word(early, "F1 ") == 1 && count_of_word(early, "B0 ") == 0));
    CHECK(count_of_word(early, "F2 ") == (window > 1 ? 1 : 0));
    CHECK_FALSE(cursor.is_at_end(s.plan, s.device));
    run(true);
    CHECK(cursor.is_at_end(s.plan, s.device));
    for (char const* each : {"F0 ", "F1 ", "F2 ", "B0 ", "B1 ", "B2 ", "send0 ", "send1 ", "send2 "})
      CHECK(count_of_word(s.device.text, each) == 1);
  }
}

TEST_CASE("polling tells the worker of a sum when it is done, no sooner") {
  summing_setup s(two_ways(2) | repeat(micro_batches{2}) | squeeze() | lower(), 0);
  poll_cursor cursor(s.plan);
  auto const let_happen = [&](bool sums, bool others) {
    for (int i = 0; i < s.plan.size(); ++i)
      if (int const e = s.plan.events().event_of(i);
          e >= 0 && (s.plan.at(i).what.code == opcode::all_reduce ? sums : others))
        s.device.event_of(e).happened = s.device.event_of(e).recorded;
  };
  while (poll(s.plan, cursor, s.worker, s.device)) let_happen(false, true);
  CHECK(count_of_word(s.device.text, "sum ") == 1);  // the second one stands behind it
  CHECK(count_of_word(s.device.text, "told ") == 0);
  CHECK_FALSE(cursor.is_at_end(s.plan, s.device));
  let_happen(true, true);
  while (poll(s.plan, cursor, s.worker, s.device)) let_happen(true, true);
  CHECK(count_of_word(s.device.text, "sum ") == 2);
  CHECK(count_of_word(s.device.text, "told ") == 2);
  CHECK(cursor.is_at_end(s.plan, s.device));
}

}  // namespace
