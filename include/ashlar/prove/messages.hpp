// The messages between devices, numbered: the two halves of a transfer get the same number.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/program/program.hpp>

#include <cstddef>

namespace ashlar {

// Numbers every (micro-batch, link of the stage graph, direction), and for stages that move what each
// forward keeps, and finds the send and the receive of each.
class message_index {
 public:
  static constexpr int nowhere = -1;

  // The two halves of a transfer.
  struct ends {
    int send;  // index into the program's instructions
    int receive;
  };

  // Refers to the program.
  constexpr explicit message_index(program const& p)
      : p_(p),
        found_(p.route.size()
                   * (static_cast<std::size_t>(p.graph.link_count()) * 2
                      + (p.where.moves() ? static_cast<std::size_t>(p.stage_count()) : 0)),
               {nowhere, nowhere}),
        partners_(p.instructions.size(), nowhere),
        stages_(p.stage_count()),
        micro_batches_(p.micro_batch_count()) {}

  constexpr int count() const { return static_cast<int>(found_.size()); }
  // The halves of a message, by its number.
  constexpr ends const& of(int message) const { return nth(found_, message); }

  // Notes that an instruction is a half of the message. Returns the same half found before, if any.
  constexpr int enter(int message, int index) {
    ends& e = nth(found_, message);
    bool const sends = p_.instructions.data()[index].code == opcode::send;
    int& mine = sends ? e.send : e.receive;
    if (mine != nowhere) return mine;
    mine = index;
    if (int const other = sends ? e.receive : e.send; other != nowhere) {
      nth(partners_, index) = other;
      nth(partners_, other) = index;
    }
    return nowhere;
  }
  // The other half of each transfer, by instruction, `nowhere` for all else and where one half is
  // missing.
  constexpr dynamic_array<int> const& partners() const { return partners_; }

  // The device of an instruction. O(log devices).
  constexpr int device(int index) const { return device_of_instruction(p_, index); }

  // The place of an instruction in its device's stream.
  constexpr site at(int index) const {
    int const d = device(index);
    return site_of(nth(p_.instructions, index), d, index - stream_begin(p_, d));
  }

  // The number of the activation on a link; the gradient on it has the next.
  constexpr int number(int link, int micro_batch) const {
    return (link * micro_batches_ + micro_batch) * 2;
  }
  // The number of what a forward keeps, if stages move.
  constexpr int number_of_kept(int stage, int micro_batch) const {
    return (2 * p_.graph.link_count() + stage) * micro_batches_ + micro_batch;
  }
  // The number of a send's or receive's message; nowhere if no link of the stage graph carries it. An
  // activation that several stages of a device need travels on the link to the first of them.
  constexpr int number(instruction const& i) const {
    bool const forward = i.what.kind == pass_kind::forward;
    if (!forward && !gives_input_gradient(i.what.kind)) return nowhere;
    int const k = i.what.micro_batch;
    if (i.to < 0 || i.to >= stages_ || !p_.graph.has(i.what, micro_batches_)) return nowhere;
    if (forward && i.to == i.what.stage) return p_.where.moves() ? number_of_kept(i.to, k) : nowhere;
    int const from = forward ? i.what.stage : i.to, to = forward ? i.to : i.what.stage;
    int link = forward ? p_.graph.first_link(from) : p_.graph.first_edge(from);
    list_view<int> const after = forward ? p_.graph.readers(from) : p_.graph.successors(from);
    for (int const* other = after.first; other != after.last; ++other, ++link) {
      if (*other == to) return number(link, k) + (forward ? 0 : 1);
      int const route = nth(p_.route, k);
      if (forward && p_.where.device_of(route, *other) == p_.where.device_of(route, to)) return nowhere;
    }
    return nowhere;
  }

 private:
  program const& p_;
  dynamic_array<ends> found_;  // by message
  dynamic_array<int> partners_;
  int stages_, micro_batches_;
};

}  // namespace ashlar
