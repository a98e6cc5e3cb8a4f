#include <ashlar/prove/complete.hpp>
// The header above comes first: it needs nothing before it.
#include "mutate.hpp"
#include "shapes.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/model/work_lists.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/prove/wait_cycle.hpp>
#include <ashlar/values/clip.hpp>

#include <doctest/doctest.h>

using namespace shapes;
using namespace mutate;

namespace {

constexpr program whole() { return one_f_one_b(3, 2) | lower(); }

constexpr diagnosis judge_complete(program const& p) {
  message_index index(p);
  return check_complete(p, index);
}

TEST_CASE("complete programs") {
  CHECK(judge_complete(whole()).ok());
  CHECK(judge_complete(two_ways(3) | repeat(micro_batches{2}) | squeeze() | lower()).ok());
  CHECK(judge_complete(fork_join() | repeat(micro_batches{2}) | lower()).ok());
}

TEST_CASE("every pass once, where it belongs") {
  program p = whole();
  int const at_backward = find(p, 1, opcode::compute, {B, 1, 1});
  drop(p, 1, at_backward);
  diagnosis d = judge_complete(p);
  CHECK((d.broken == rule::every_pass_is_present && d.first.device == 1));
  CHECK(d.first.what == pass{B, 1, 1});
  p = whole();
  insert(p, 1, at_backward, at(p, 1, at_backward));
  d = judge_complete(p);
  CHECK((d.broken == rule::no_pass_is_doubled && d.first.index == at_backward + 1));
  p = whole();
  at(p, 1, at_backward).what.kind = I;
  CHECK(judge_complete(p).broken == rule::every_pass_is_present);
  p = whole();
  instruction const moved = drop(p, 1, at_backward);
  insert(p, 2, 0, moved);
  d = judge_complete(p);
  CHECK((d.broken == rule::pass_is_on_its_device && d.first.device == 2 && d.second.device == 1));
  p = whole();
  at(p, 1, at_backward).what.stage = 3;
  CHECK(judge_complete(p).broken == rule::every_pass_is_known);
  at(p, 1, at_backward).what = {B, 1, 2};
  CHECK(judge_complete(p).broken == rule::every_pass_is_known);
}

// Stages 1 and 2 of a V on two devices both live on device 1: values between them are not sent, and
// least of all by half.
TEST_CASE("no transfer to oneself") {
  program const good = catalog::find("dualpipev")->make({devices{2}, micro_batches{4}}) | lower();
  int const behind = find(good, 1, opcode::compute, {F, 1, 0}) + 1;
  instruction half{
      .code = opcode::send, .lane = first_transfer_lane, .what = {F, 1, 0}, .to = 2, .peer = 1};
  program p = good;
  insert(p, 1, behind, half);
  diagnosis d = check(p);
  CHECK(d.broken == rule::transfers_lead_to_another_device);
  CHECK((d.first.device == 1 && d.first.index == behind && d.first.code == opcode::send));
  CHECK(find_wait_cycle(p).empty());
  half.code = opcode::receive;
  insert(p, 1, behind + 1, half);
  CHECK(check(p).broken == rule::transfers_lead_to_another_device);
  drop(p, 1, behind);
  d = check(p);
  CHECK((d.broken == rule::transfers_lead_to_another_device && d.first.code == opcode::receive));
}

TEST_CASE("every transfer has its two halves") {
  program p = whole();
  int const send = find(p, 0, opcode::send, {F, 0, 1});
  int const receive = find(p, 1, opcode::receive, {F, 0, 1});
  drop(p, 1, receive);
  diagnosis d = judge_complete(p);
  CHECK((d.broken == rule::every_send_has_its_receive && d.first.device == 0 && d.first.index == send));
  CHECK(d.second.device == 1);
  p = whole();
  drop(p, 0, send);
  d = judge_complete(p);
  CHECK((d.broken == rule::every_receive_has_its_send && d.first.device == 1));
  CHECK((d.first.index == receive && d.second.device == 0));
  drop(p, 1, receive);
  CHECK(judge_complete(p).broken == rule::every_send_has_its_receive);
  p = whole();
  insert(p, 0, send, at(p, 0, send));
  CHECK(judge_complete(p).broken == rule::no_transfer_is_doubled);
  p = whole();
  insert(p, 1, receive, at(p, 1, receive));
  CHECK(judge_complete(p).broken == rule::no_transfer_is_doubled);
  p = whole();
  at(p, 0, send).peer = 2;
  CHECK(judge_complete(p).broken == rule::every_send_has_its_receive);
  p = whole();
  at(p, 1, receive).peer = 1;
  CHECK(judge_complete(p).broken == rule::every_receive_has_its_send);
  p = whole();
  at(p, 0, send).to = 2;
  CHECK(judge_complete(p).broken == rule::every_pass_is_known);
}

TEST_CASE("every gradient is reduced once, in the end") {
  program p = whole();
  int const reduce = find_reduction(p, 1, 1);
  instruction const dropped = drop(p, 1, reduce);
  diagnosis d = judge_complete(p);
  CHECK((d.broken == rule::gradient_is_reduced_once && d.first.device == 1 && d.first.what.stage == 1));
  insert(p, 1, 0, dropped);
  d = judge_complete(p);
  CHECK((d.broken == rule::gradient_is_reduced_after_its_last_weight_pass && d.first.device == 1));
  CHECK(d.second.what == pass{B, 1, 0});
  p = whole();
  insert(p, 1, reduce, dropped);
  d = judge_complete(p);
  CHECK((d.broken == rule::gradient_is_reduced_once && d.first.index == d.second.index + 1));
  p = whole();
  for (int group : {2, -1, 3, 4}) {  // not its own, and none
    at(p, 1, reduce).group = group;
    CHECK(check_well_formed(p).broken == rule::group_is_held_where_it_is_named);
  }
}

TEST_CASE("each replica reduces, in its place") {
  program const both = two_ways(2) | repeat(micro_batches{2}) | squeeze() | lower();
  CHECK(judge_complete(both).ok());
  program p = both;
  int const first = find_reduction(p, 0, 0), second = find_reduction(p, 0, 1);
  at(p, 0, first).group = 1;  // twice the one, never the other
  CHECK(judge_complete(p).broken == rule::gradient_is_reduced_once);
  p = both;
  drop(p, 0, second);  // the replica of stage 1 on device 1 waits in vain
  CHECK(judge_complete(p).broken == rule::gradient_is_reduced_once);
}

TEST_CASE("each on the lane that is for it") {
  program p = whole();
  at(p, 0, 0).lane = first_transfer_lane;
  diagnosis d = judge_complete(p);
  CHECK(
      (d.broken == rule::every_instruction_is_on_its_lane && d.first.device == 0 && d.first.index == 0));
  p = whole();
  at(p, 0, find(p, 0, opcode::send, {F, 0, 0})).lane = compute_lane;
  CHECK(judge_complete(p).broken == rule::every_instruction_is_on_its_lane);
  p = whole();
  at(p, 0, find_reduction(p, 0, 0)).lane = p.collective_lane();
  CHECK(judge_complete(p).broken == rule::every_instruction_is_on_its_lane);
}

TEST_CASE("work once, on its device and its lane") {
  program const good = with_norm(one_f_one_b(2, 2)) | lower();
  CHECK(check(good).ok());
  int const part = find(good, 1, opcode::compute, {X, 2, 1}),
            sum = find(good, 1, opcode::all_reduce, {X, 1, 1});
  CHECK((part > 0 && sum > 0));
  program p = good;  // doubled
  insert(p, 1, part, at(p, 1, part));
  CHECK((check(p).broken == rule::no_pass_is_doubled && check(p).first.index == part + 1));
  p = good;
  insert(p, 1, sum, at(p, 1, sum));
  CHECK((check(p).broken == rule::no_pass_is_doubled && check(p).first.code == opcode::all_reduce));
  p = good;  // left out
  drop(p, 1, part);
  diagnosis d = check(p);
  CHECK((d.broken == rule::every_pass_is_present && d.first.what == pass{X, 2, 1}));
  CHECK((d.first.device == 1 && d.first.code == opcode::compute));
  p = good;
  drop(p, 1, sum);
  d = check(p);
  CHECK((d.broken == rule::every_pass_is_present && d.first.what == pass{X, 1, 1}));
  CHECK(d.first.code == opcode::all_reduce);
  p = good;  // elsewhere
  insert(p, 0, 1, drop(p, 1, part));
  d = check(p);
  CHECK((d.broken == rule::pass_is_on_its_device && d.first.device == 0 && d.second.device == 1));
  p = good;
  insert(p, 0, 1, drop(p, 1, sum));
  CHECK(check(p).broken == rule::group_is_held_where_it_is_named);
  p = good;  // of a job that there is not, of another kind, of another group, on another lane
  at(p, 1, part).what = {X, 3, 0};
  CHECK(check(p).broken == rule::every_pass_is_known);
  at(p, 1, part).what = {X, 1, 1};
  CHECK(check(p).broken == rule::every_pass_is_known);
  p = good;
  --at(p, 1, sum).group;
  CHECK(check(p).broken == rule::group_is_held_where_it_is_named);
  p = good;
  at(p, 1, sum).lane = compute_lane;
  CHECK(check(p).broken == rule::every_instruction_is_on_its_lane);
  p = good;  // it reads of a pass that there is not
  std::vector<work_edge> edges = edges_of(p.work);
  for (work_edge& e : edges)
    if (e.from == pass{B, 0, 0}) e.from = {I, 0, 0};
  p.work = work_graph(jobs_of(p.work), edges);
  CHECK((check(p).broken == rule::every_pass_is_known && check(p).first.what == pass{I, 0, 0}));
  p = good;  // it asks for what its operands do not say
  edges = edges_of(good.work);
  edges.push_back({{F, 0, 0}, {X, 2, 0}});
  p.work = work_graph(jobs_of(p.work), edges);
  CHECK(check(p).broken == rule::slot_holds_what_is_read);
  p.work = {};
  CHECK((check(p).broken == rule::group_is_held_where_it_is_named
         || check(p).broken == rule::every_pass_is_known));
}

TEST_CASE("a gradient that work takes is reduced once it is given back, on each device") {
  program const good = lower(clip_micro_batches(one_f_one_b(2, 2)), {.data_ranks = 2});
  REQUIRE(judge_complete(good).ok());
  for (int d : {0, 1}) {
    program p = good;
    int const sum = find(p, d, opcode::all_reduce, {W, d, 0}),
              last = find(p, d, opcode::compute, {B, d, 1});
    REQUIRE((sum > last && last > 0));
    move(p, d, sum, last + 1);
    diagnosis const found = judge_complete(p);
    CHECK((found.broken == rule::taken_gradient_is_given_back && found.first.device == d));
    CHECK((found.first.index == last + 1 && found.second.device == d));
  }
}

// The state that a program of clipping clears on the device, in the stream there.
constexpr int find_clear_of_state(program& p, int device) {
  for (int i = 0; i < length(p, device); ++i)
    if (at(p, device, i).code == opcode::clear && at(p, device, i).subject == slot_kind::work_state)
      return i;
  return -1;
}

TEST_CASE("what work keeps is cleared once, after its last use, on each device") {
  program const good = lower(clip_micro_batches(one_f_one_b(2, 2)));
  REQUIRE(judge_complete(good).ok());
  for (int d : {0, 1}) {
    program p = good;
    int const clear = find_clear_of_state(p, d);
    int const job = part_of(at(p, d, clear).what).job;
    int last = -1;
    for (int i = 0; i < length(p, d); ++i)
      if (at(p, d, i).code == opcode::compute && is_part(at(p, d, i).what)
          && p.work.view().uses_state(part_of(at(p, d, i).what).job))
        last = i;
    REQUIRE((clear > last && last > 1));
    move(p, d, clear, 1);  // early
    diagnosis found = judge_complete(p);
    CHECK(found.broken == rule::state_is_cleared_after_its_last_use);
    CHECK((found.first.device == d && found.first.index == 1 && found.second.index > 1));
    p = good;  // twice
    insert(p, d, clear + 1, at(p, d, clear));
    found = judge_complete(p);
    CHECK(found.broken == rule::state_is_cleared_after_its_last_use);
    CHECK((found.first.index == clear && found.second.index == clear + 1));
    p = good;  // never
    drop(p, d, clear);
    found = judge_complete(p);
    CHECK(found.broken == rule::state_is_cleared_after_its_last_use);
    CHECK((found.first.code == opcode::clear && found.first.what == part_id{job, 0}));
    CHECK((found.second.device == d && found.second.index == last));
  }
}

// The first forward's stash leaves device 0, and comes back.
constexpr program away() {
  return lower(one_f_one_b(2, 3) | squeeze(), {.offload = {.forwards = {{F, 0, 0}, {F, 0, 1}}}});
}

TEST_CASE("what leaves comes back, once") {
  program const good = away();
  REQUIRE(check(good).ok());
  int const out = find(good, 0, opcode::offload, {F, 0, 0}),
            in = find(good, 0, opcode::reload, {F, 0, 0});
  for (int which : {out, in}) {
    program p = good;
    drop(p, 0, which);
    CHECK(judge_complete(p).broken == rule::what_leaves_comes_back);
    CHECK(judge_complete(p).first.what == pass{F, 0, 0});
    p = good;
    insert(p, 0, which, at(p, 0, which));
    diagnosis const d = judge_complete(p);
    CHECK((d.broken == rule::what_leaves_comes_back && d.second.index == which));
    p = good;
    insert(p, 1, length(p, 1), drop(p, 0, which));
    CHECK(judge_complete(p).broken == rule::pass_is_on_its_device);
    p = good;
    at(p, 0, which).what = {F, 0, 3};
    CHECK(judge_complete(p).broken == rule::every_pass_is_known);
    at(p, 0, which).what = {B, 0, 0};
    CHECK(judge_complete(p).broken == rule::every_pass_is_known);
    p = good;
    at(p, 0, which).lane = p.collective_lane();
    CHECK(judge_complete(p).broken == rule::every_instruction_is_on_its_lane);
    p = good;
    p.offloads = false;
    CHECK(check(p).broken == rule::tables_agree);
  }
  // Values of several stages and micro-batches leave, each by itself.
  CHECK(judge_complete(lower(one_f_one_b(3, 3) | squeeze(),
                             {.offload = {.forwards = {{F, 0, 0}, {F, 1, 0}, {F, 0, 1}}}}))
            .ok());
  program forward_only = lower(catalog::find("inference")->make({devices{2}, micro_batches{1}}));
  forward_only.offloads = true;
  insert(forward_only, 0, 1,
         {.code = opcode::offload, .lane = forward_only.offload_lane(), .what = {F, 0, 0}});
  CHECK(judge_complete(forward_only).broken == rule::inference_goes_forward_only);
}
}  // namespace
