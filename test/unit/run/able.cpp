#include <ashlar/run/able.hpp>
// The header above comes first: it needs nothing before it.
#include "../../shapes.hpp"
#include "violations.hpp"
#include <ashlar/lower/lower.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/prove/prove.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

using namespace shapes;

namespace {

struct any_queue {};
struct idle_worker {
  value_layout layout(value_key) const { return {64}; }
};
struct backward_worker : idle_worker {
  void backward(any_queue&, frame const&) {}
};
struct two_verbs_worker : backward_worker {
  void forward(any_queue&, frame const&) {}
};
struct working_worker : two_verbs_worker {
  void work(any_queue&, frame const&) {}
};
struct stepping_worker : two_verbs_worker {
  void optimize(any_queue&, parameter_frame const&) {}
};

template <class W>
std::string refusal_of_worker(program const& p) {
  try {
    W w;
    check_worker<any_queue>(p.view(), w);
  } catch (std::invalid_argument const& e) {
    return e.what();
  }
  return {};
}

instruction& first_instruction_of(program& p, opcode code, pass_kind kind) {
  return *std::find_if(p.instructions.begin(), p.instructions.end(),
                       [&](instruction const& i) { return i.code == code && i.what.kind == kind; });
}

TEST_CASE("a worker without a verb is refused by the first instruction that needs it") {
  program p = one_f_one_b(2, 2) | lower();
  CHECK(refusal_of_worker<two_verbs_worker>(p).empty());
  CHECK(refusal_of_worker<backward_worker>(p)
        == "the worker cannot do the instruction "
               + to_string(first_instruction_of(p, opcode::compute, F)));
  program with_parts = lower(with_work(one_f_one_b(2, 2)));
  CHECK(refusal_of_worker<working_worker>(with_parts).empty());
  CHECK(refusal_of_worker<two_verbs_worker>(with_parts)
        == "the worker cannot do the instruction "
               + to_string(first_instruction_of(with_parts, opcode::compute, X)));
  program const steps = lower(one_f_one_b(2, 2), {.step = optimizer_step::after_norm});
  std::string const why = refusal_of_worker<stepping_worker>(steps);
  CHECK(why.find("the worker cannot do the instruction measure") == 0);
}

// Stage s takes 10 + s elements and gives 11 + s.
struct narrowing_worker {
  std::size_t gradient = 0;  // elements that a gradient has over the stage's input
  element_type element = element_type::f64, of_gradients = element_type::f64;

  value_layout layout(value_key key) const {
    auto const in = static_cast<std::size_t>(10 + key.of);
    return key.kind == slot_kind::gradient
               ? value_layout{(in + gradient) * bytes(of_gradients), 64, of_gradients}
               : value_layout{(in + 1) * bytes(element), 64, element};
  }
  static std::size_t bytes(element_type e) { return e == element_type::opaque ? 1 : bytes_of(e); }
};
std::string refusal_of_sizes(program const& p, narrowing_worker w) {
  try {
    check_gradient_sizes(p.view(), [w](value_key key) { return w.layout(key); });
  } catch (std::length_error const& e) {
    return e.what();
  }
  return {};
}

TEST_CASE("a gradient has as many elements as the activation that it is for") {
  program const p = catalog::zb_h1(devices{3}) | repeat(micro_batches{4}) | squeeze() | lower();
  CHECK(refusal_of_sizes(p, {}).empty());
  CHECK(refusal_of_sizes(p, {.gradient = 1})
        == "device 1, 1I0: the gradient that stage 1 gives stage 0 has 96 bytes, and the output of stage 0 has "
           "88: layout() gives a gradient the size of stage 1's input, not of its output");
  CHECK(refusal_of_sizes(one_f_one_b(3, 4) | lower(), {.gradient = 1}).starts_with("device 1, 1B0: "));
  // Elements may be of different types. What an opaque one holds is not known.
  CHECK(refusal_of_sizes(p, {.element = element_type::bf16}).empty());
  CHECK(!refusal_of_sizes(p, {.gradient = 1, .element = element_type::bf16}).empty());
  CHECK(refusal_of_sizes(p, {.gradient = 1, .element = element_type::opaque}).empty());
  CHECK(!refusal_of_sizes(p, {1, element_type::opaque, element_type::opaque}).empty());
}

TEST_CASE("a copy of a reference to a worker refers to the same worker") {
  two_verbs_worker w;
  worker_ref<any_queue> of_w = w;
  worker_ref<any_queue> copy = of_w;  // not a reference to `of_w`, which has a layout, too
  CHECK(copy.can(F));
  CHECK(copy.layout({}).bytes == 64);
}

TEST_CASE("messages to a peer that are on two lanes are refused, as their order is not known") {
  // On a V, activations and gradients go both ways.
  schedule const v = uneven_v(2, 4, 1);
  for (transfer_lanes lanes :
       {transfer_lanes::one, transfer_lanes::one_a_peer, transfer_lanes::one_a_direction})
    CHECK_NOTHROW(check_message_order(lower(v, {.lanes = lanes}).view()));
  program const p = lower(v, {.lanes = transfer_lanes::one_a_kind});
  CHECK(check(p).ok());
  std::string why;
  try {
    check_message_order(p.view());
  } catch (std::invalid_argument const& e) {
    why = e.what();
  }
  CHECK(why.starts_with("device 0 "));
  program stray = lower(v, {.lanes = transfer_lanes::one});
  for (instruction& i : stray.instructions)
    if (i.code == opcode::send) i.peer = stray.view().device_count;
  CHECK_BREAKS(transfers_lead_to_another_device, check_message_order(stray.view()));
  CHECK(why.ends_with("messages between two devices are matched by their order"));
  CHECK_NOTHROW(
      check_message_order(lower(one_f_one_b(2, 4), {.lanes = transfer_lanes::one_a_kind}).view()));
}

TEST_CASE("an instruction that names what is not there is refused") {
  program const good = lower(with_work(one_f_one_b(2, 2)));
  auto const names = [&](char const* what, auto change) {
    program p = good;
    change(p);
    std::string const why = refusal_of_worker<working_worker>(p);
    CHECK(why.find("names a " + std::string(what) + " that is not there") != std::string::npos);
  };
  for (int wrong : {-1, 2}) {
    names("part",
          [&](program& p) { first_instruction_of(p, opcode::compute, X).what.micro_batch = wrong; });
    names("micro-batch",
          [&](program& p) { first_instruction_of(p, opcode::compute, B).what.micro_batch = wrong; });
    names("stage", [&](program& p) { first_instruction_of(p, opcode::compute, F).what.stage = wrong; });
    names("peer", [&](program& p) { first_instruction_of(p, opcode::send, F).peer = wrong; });
    names("peer", [&](program& p) { first_instruction_of(p, opcode::receive, F).peer = wrong; });
  }
  names("job", [](program& p) { first_instruction_of(p, opcode::compute, X).what.stage = 1; });
}

}  // namespace
