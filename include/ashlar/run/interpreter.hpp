// What a backend and a model have to offer, and the interpreter of one device's stream between them.
#pragma once

#include <ashlar/program/hazards.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/run/sharing.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

namespace ashlar {

using buffer = std::span<std::byte>;

// What one compute instruction works on. All buffers are the program's slots: aligned to 64 bytes,
// allocated before the first step, each at least as large as the worker's bytes() for the kind and
// stage.
struct frame {
  pass what;
  std::span<buffer const>
      inputs;  // forward: the activation of each previous stage, in graph order; backward and
               // backward_input: the gradient from each next stage, in graph order
  std::span<buffer const>
      outputs;             // forward: the stage's activation, unless it is last; backward and
                           // backward_input: the gradient for each previous stage, in graph order
  buffer checkpoint;       // forward and recompute, if the program recomputes
  buffer stash;            // all passes but work
  buffer weight_stash;     // backward passes; scratch space in a fused one
  buffer weight_gradient;  // backward and backward_weight add to it
  buffer weight = {};      // all passes but work, if weights are sharded: the stage's, gathered
};

// A model. Passes of different devices are called from different threads, of one device from one thread
// at a time.
template <class W>
concept worker = requires(W& w, frame const& f, slot_kind kind, int stage, buffer bytes) {
  {
    w.bytes(kind, stage)
    } -> std::convertible_to<std::size_t>;  // capacity that a slot needs for a stage
  w.forward(f);
  w.recompute(f);
  w.backward(f);
  w.backward_input(f);
  w.backward_weight(f);
  w.accumulate(stage, bytes, bytes);  // (stage, into, from): into += from, element by element
  w.reduced(stage, bytes);  // the stage's weight gradient of this step (or this rank's shard of it) is
                            // complete; called on each replica, and so perhaps from several threads at
                            // once
};

// What a transfer carries. Both sides name it, so that a mismatch is found where it happens.
struct message {
  pass what;   // that made the value
  int to = 0;  // the stage that it is for

  friend constexpr bool operator==(message const&, message const&) = default;
};

// What one device of a backend offers to the interpreter. All instructions go by their index in the
// device's stream. A backend whose calls block returns from them when the thing has happened; one that
// issues asynchronously returns when it is enqueued on the instruction's lane.
template <class T>
concept transport = requires(T& t, instruction const& i, int index, message m, buffer bytes) {
  t.wait(i, index);        // (of, for): lane of `i` goes on only when instruction `index` is done
  t.begin(i, index);       // instruction `index` is about to start
  t.send(i, m, bytes);     // to i.peer
  t.receive(i, m, bytes);  // from i.peer
  t.reduce(i, bytes);      // sum over the holders of i.group (and the data-parallel ranks, unless it is
                           // a shard)
  t.clear(i, bytes);       // fill with zeros
  t.done(i, index);        // whoever waits for instruction `index` may go on once it has happened
};

// One device's stream with everything looked up beforehand: a step allocates nothing.
class device_plan {
 public:
  // `bytes(kind, stage)` is the worker's; `slots[s]` the memory of slot s of this device. Throws
  // std::length_error when a slot is too small for what is sent, received or reduced from it.
  template <class Bytes>
  device_plan(program_view const& p, int device, std::vector<buffer> const& slots, Bytes bytes)
      : waits_(ashlar::waits(p, device)), lanes_(static_cast<std::size_t>(p.lane_count)) {
    list_view<instruction> const stream = p.stream(device);
    list_view<slot_kind> const kinds = p.slots_of(device);
    steps_.reserve(stream.size());
    std::vector<held_gradient> held(kinds.size());  // by slot
    std::size_t operands = 0;
    for (instruction const& i : stream) operands += p.operands_of(i).size();
    messages_.reserve(operands);  // frames point into it
    for (instruction const& i : stream) {
      lanes_[static_cast<std::size_t>(i.lane)].push_back(static_cast<int>(steps_.size()));
      step& s = steps_.emplace_back();
      s.what = i;
      s.frame.what = i.what;
      if (i.group >= 0 && i.group < p.groups.count()) s.member = p.groups.member_of(i.group, device);
      for (operand const& o : p.operands_of(i)) {
        auto const slot = static_cast<std::size_t>(o.slot);
        if (i.code == opcode::compute)
          place(s.frame, kinds[slot], slots[slot]);
        else if (kinds[slot] == slot_kind::scalar)
          s.scalar = value_in(slots[slot], sizeof(double));
        else if (i.code == opcode::measure)
          s.gradients.push_back(held[slot]);
        else
          (kinds[slot] == slot_kind::gradient_shard && i.code == opcode::reduce_scatter ? s.shard
                                                                                        : s.bytes) =
              value_in(slots[slot], bytes(kinds[slot], i.group >= 0 ? i.group : i.what.stage));
        if (i.code == opcode::all_reduce) held[slot] = {i.group, s.bytes};
      }
      // Messages of the two directions lie one behind the other: what is read comes before what is
      // written.
      std::size_t reads = 0, writes = 0;
      for (operand const& o : p.operands_of(i))
        if (is_message(kinds[static_cast<std::size_t>(o.slot)]))
          ++(o.how == access::read ? reads : writes);
      if (i.code != opcode::compute) continue;
      buffer const* const end = messages_.data() + messages_.size();
      s.frame.inputs = {end - reads - writes, reads};
      s.frame.outputs = {end - writes, writes};
    }
  }

  struct step {
    instruction what;
    int member = 0;                        // this device's place among the holders of the group
    ashlar::frame frame;                   // of a compute
    buffer bytes;                          // of a transfer or collective
    buffer shard;                          // of a scatter
    buffer scalar;                         // of what measures, sums or uses a number
    std::vector<held_gradient> gradients;  // of a measurement: those that this device counts for
  };

  step const& at(int index) const { return steps_[static_cast<std::size_t>(index)]; }
  int size() const { return static_cast<int>(steps_.size()); }
  list_view<int> waits_of(int index) const { return waits_.of(index); }

  // Indices of a lane's instructions, in order.
  std::vector<int> const& lane(int number) const { return lanes_[static_cast<std::size_t>(number)]; }

 private:
  static constexpr bool is_message(slot_kind kind) {
    return kind == slot_kind::activation || kind == slot_kind::gradient;
  }

  static buffer value_in(buffer slot, std::size_t size) {
    if (slot.size() < size) throw std::length_error("a slot is too small for the value in it");
    return slot.first(size);
  }

  void place(frame& f, slot_kind kind, buffer memory) {
    switch (kind) {
      case slot_kind::activation:
      case slot_kind::gradient:
        messages_.push_back(memory);
        return;
      case slot_kind::checkpoint:
        f.checkpoint = memory;
        return;
      case slot_kind::stash:
        f.stash = memory;
        return;
      case slot_kind::weight_stash:
        f.weight_stash = memory;
        return;
      case slot_kind::weight_gradient:
        f.weight_gradient = memory;
        return;
      case slot_kind::weight:
        f.weight = memory;
        return;
      case slot_kind::gradient_shard:
      case slot_kind::scalar:
        return;
    }
  }

  wait_table waits_;
  std::vector<std::vector<int>> lanes_;
  std::vector<step> steps_;
  std::vector<buffer> messages_;
};

// The worker's verb for a pass.
template <worker Worker>
void compute(Worker& w, frame const& f) {
  switch (f.what.kind) {
    case pass_kind::forward:
      return static_cast<void>(w.forward(f));
    case pass_kind::recompute:
      return static_cast<void>(w.recompute(f));
    case pass_kind::backward:
      return static_cast<void>(w.backward(f));
    case pass_kind::backward_input:
      return static_cast<void>(w.backward_input(f));
    case pass_kind::backward_weight:
      return static_cast<void>(w.backward_weight(f));
    case pass_kind::work:
      return;
  }
}

// Runs a forward and the backward behind it as one: overlapped if the worker can, else one after the
// other.
template <worker Worker>
void compute_pair(Worker& w, frame const& forward, frame const& backward) {
  if constexpr (requires { w.overlapped(forward, backward); }) {
    w.overlapped(forward, backward);
  } else {
    compute(w, forward);
    compute(w, backward);
  }
}

// Runs the instruction `index` of a device's stream: waits for what it has to wait for, does it, says
// that it is done. The first of a pair does both; the second is then nothing more to do.
template <worker Worker, transport Transport>
void interpret(device_plan const& plan, int index, Worker& w, Transport& t) {
  device_plan::step const& s = plan.at(index);
  if (index > 0 && plan.at(index - 1).what.overlaps_next) return;
  for (int other : plan.waits_of(index)) t.wait(s.what, other);
  if (s.what.overlaps_next) {
    device_plan::step const& next = plan.at(index + 1);
    for (int other : plan.waits_of(index + 1)) t.wait(next.what, other);
    t.begin(s.what, index);
    t.begin(next.what, index + 1);
    compute_pair(w, s.frame, next.frame);
    t.done(s.what, index);
    t.done(next.what, index + 1);
    return;
  }
  t.begin(s.what, index);
  switch (s.what.code) {
    case opcode::compute:
      compute(w, s.frame);
      break;
    case opcode::send:
      t.send(s.what, {s.what.what, s.what.to}, s.bytes);
      break;
    case opcode::receive:
      t.receive(s.what, {s.what.what, s.what.to}, s.bytes);
      break;
    case opcode::all_reduce:
      if (!s.scalar.empty()) {
        run_detail::sum_scalar(s.what, s.scalar, t);
        break;
      }
      if (s.what.lane != compute_lane) t.reduce(s.what, s.bytes);
      w.reduced(s.what.group, s.bytes);
      break;
    case opcode::clear:
      t.clear(s.what, s.bytes);
      break;
    case opcode::all_gather:
      run_detail::gather(s.what, s.member, s.bytes, w, t);
      break;
    case opcode::release:  // only to be waited for
      break;
    case opcode::reduce_scatter:
      run_detail::scatter(s.what, s.bytes, s.shard, t);
      break;
    case opcode::measure:
      run_detail::measure(s.what, s.gradients, s.scalar, w);
      break;
    case opcode::optimize:
      run_detail::optimize(s.what, s.member, s.bytes, s.scalar, w);
      break;
  }
  t.done(s.what, index);
}

}  // namespace ashlar
