// The interfaces of a backend and a worker. docs/backends.md explains the contract.
#pragma once

#include <ashlar/prove/progress.hpp>
#include <ashlar/run/frame.hpp>

#include <concepts>
#include <type_traits>

namespace ashlar {

// A device. Its queues are the lanes of its stream; operations on a queue start in order. With a plan
// for wait_detail::last_of_a_lane they must also end in that order. With wait_detail::all they may end
// in any order, except that operations between two records are done in order. `send` and `receive` are
// posted and return; an event recorded after them reports their end. The k-th send to a device meets
// that device's k-th receive from here. `needs` is the progress level that a program must be proved for:
// the parts of a device that advance by themselves when it is driven as intended.
template <class D>
concept device_backend = requires(D& d, typename D::queue& q, typename D::event& e,
                                  transfer_call const& t, buffer bytes, int n) {
  requires std::same_as<decltype(D::needs), progress_level const>;
  { d.queue_of(n) } -> std::same_as<typename D::queue&>;  // of a lane
  { d.event_of(n) } -> std::same_as<typename D::event&>;  // below device_plan::events
  d.record(q, e);  // e happens when the earlier operations on q are done and its waits are over
  d.wait(q, e);    // later operations on q start after e; run_lane: returns after e
  { d.query(e) } -> std::convertible_to<bool>;  // has e happened? asked after it was recorded
  d.send(q, t);
  d.receive(q, t);
  d.clear(q, bytes);  // fills them with zeros
};

// A device whose groups can sum and gather, for programs with replicas or data-parallel ranks. These are
// posted like transfers. Members call for a group in the same order.
template <class D>
concept collective_backend = device_backend<D> && requires(D& d, typename D::queue& q,
                                                           collective_call const& c) {
  d.all_reduce(q, c);
  d.all_gather(q, c);
  d.reduce_scatter(q, c);  // adds to the shards
};

// A device that copies to and from the memory of its host, for programs that offload. These are posted
// like transfers.
template <class D>
concept offloading_backend = device_backend<D> && requires(D& d, typename D::queue& q,
                                                           copy_call const& c) {
  d.offload(q, c);
  d.reload(q, c);
};

namespace run_detail {

// Whether a class has a member with a given name, of any type. If so, the name is ambiguous in a class
// that inherits it twice.
#define ASHLAR_VERB(verb)                  \
  struct verb##_once {                     \
    int verb;                              \
  };                                       \
  template <class W>                       \
  struct verb##_twice : W, verb##_once {}; \
  template <class W>                       \
  concept declares_##verb = !requires {    \
    &verb##_twice<W>::verb;                \
  };
ASHLAR_VERB(forward)
ASHLAR_VERB(recompute)
ASHLAR_VERB(backward)
ASHLAR_VERB(backward_input)
ASHLAR_VERB(backward_weight)
ASHLAR_VERB(work)
ASHLAR_VERB(overlapped)
ASHLAR_VERB(reduced)
ASHLAR_VERB(measure)
ASHLAR_VERB(optimize)
ASHLAR_VERB(shard)
ASHLAR_VERB(all_reduce)
ASHLAR_VERB(all_gather)
ASHLAR_VERB(reduce_scatter)
ASHLAR_VERB(offload)
ASHLAR_VERB(reload)
#undef ASHLAR_VERB

#define ASHLAR_CAN(verb, Frame)                                 \
  template <class W, class Q>                                   \
  concept can_##verb = requires(W & w, Q & q, Frame const& f) { \
    w.verb(q, f);                                               \
  };
ASHLAR_CAN(forward, frame)
ASHLAR_CAN(recompute, frame)
ASHLAR_CAN(backward, frame)
ASHLAR_CAN(backward_input, frame)
ASHLAR_CAN(backward_weight, frame)
ASHLAR_CAN(work, frame)
ASHLAR_CAN(reduced, parameter_frame)
ASHLAR_CAN(measure, parameter_frame)
ASHLAR_CAN(optimize, parameter_frame)
#undef ASHLAR_CAN

template <class W, class Q>
concept can_overlapped = requires(W& w, Q& q, frame const& f) {
  w.overlapped(q, f, f);
};
template <class W>
concept can_shard = requires(W& w, int n) {
  { w.shard(n, n) } -> std::convertible_to<buffer>;
};

}  // namespace run_detail

// A model. Every worker has `layout`; a program that needs a missing verb is refused when its plan is
// made. Verbs take the queue of the instruction's lane: they run on it, or start their work on it and
// return. Passes of different devices are called from different threads, those of one device one after
// the other.
//
//   forward, recompute, backward, backward_input, backward_weight (queue, frame)
//   work (queue, frame): a part of a job that computes; `what` is {work, job, part}
//   overlapped (queue, frame of a forward, frame of a backward, which may be that of the input or of
//                       the weights alone): without it, one after the other
//   reduced (queue, parameter_frame): the gradient is complete; called on each replica
//   measure (queue, parameter_frame): writes a number, whose sum over all devices optimize() is given
//   optimize (queue, parameter_frame): the optimizer step; called on each replica
//   shard (group, replica): this rank's shard of the weights, which all_gather reads
//
// If sequences are cut into chunks, frames have sequence_input and sequence_output. Only the worker
// fills them: if it leaves them alone, each chunk is a sequence of its own.
template <class W>
concept worker = std::is_class_v<W> && requires(W const& w, value_key key) {
  { w.layout(key) } -> std::convertible_to<value_layout>;
};

// Reports verbs at compile time that are declared but cannot be called.
template <class W, class Q>
constexpr void require_well_declared() {
  using namespace run_detail;
  static_assert(!std::is_final_v<W>, "a worker must not be final: its verbs could not be looked for");
  static_assert(worker<W>, "a worker has value_layout layout(value_key) const");
#define ASHLAR_REQUIRE(verb, parameters)                 \
  static_assert(!declares_##verb<W> || can_##verb<W, Q>, \
                "the worker's " #verb "() does not take (" parameters ")");
  ASHLAR_REQUIRE(forward, "queue&, frame const&")
  ASHLAR_REQUIRE(recompute, "queue&, frame const&")
  ASHLAR_REQUIRE(backward, "queue&, frame const&")
  ASHLAR_REQUIRE(backward_input, "queue&, frame const&")
  ASHLAR_REQUIRE(backward_weight, "queue&, frame const&")
  ASHLAR_REQUIRE(work, "queue&, frame const&")
  ASHLAR_REQUIRE(overlapped, "queue&, frame const&, frame const&")
  ASHLAR_REQUIRE(reduced, "queue&, parameter_frame const&")
  ASHLAR_REQUIRE(measure, "queue&, parameter_frame const&")
  ASHLAR_REQUIRE(optimize, "queue&, parameter_frame const&")
#undef ASHLAR_REQUIRE
  static_assert(!declares_shard<W> || can_shard<W>,
                "the worker's shard() does not take (int group, int replica) and return a buffer");
  static_assert(declares_backward_input<W> == declares_backward_weight<W>,
                "a worker has both backward_input() and backward_weight(), or neither");
}

// Reports functions of a device that are declared but cannot be called.
template <class D>
constexpr void require_device() {
  using namespace run_detail;
  static_assert(device_backend<D>, "a device has what device_backend asks for");
  static_assert(
      collective_backend<
          D> || !(declares_all_reduce<D> || declares_all_gather<D> || declares_reduce_scatter<D>),
      "a device has all of all_reduce(), all_gather() and reduce_scatter() as "
      "collective_backend asks for them, or none");
  static_assert(
      offloading_backend<D> || !(declares_offload<D> || declares_reload<D>),
      "a device has both of offload() and reload() as offloading_backend asks for them, or none");
}

}  // namespace ashlar
