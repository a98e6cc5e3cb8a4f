// The words of cells in PyTorch's CSV, and PyTorch's dialects of the file.
#pragma once

#include <ashlar/core/pass.hpp>

#include <array>
#include <optional>
#include <string_view>

namespace ashlar {

// The action of a token.
enum class csv_action : unsigned char {
  compute,
  unshard,  // gather the stage's weights
  reshard,  // release them
  reduce_grad,
  wait_reduce_grad,
  send_f,  // names the stage that made the value; a receive names the stage that takes it
  recv_f,
  send_b,
  recv_b,
  wait_send_f,
  wait_send_b,
};

// The words that a file uses for passes. `detect`: derived from the words themselves.
enum class csv_dialect : unsigned char {
  detect,
  b_bw,  // B is the input gradient if there is a W, else the whole backward; BW is always the whole
  i_b,   // I is the input gradient, B the whole backward
  reduce_grad,  // as i_b, and each stage has its REDUCE_GRAD
  waits,        // as reduce_grad, and each send and each reduction has its wait
};

// The name of a dialect for `--dialect`.
char const* name_of(csv_dialect d);

// A word of PyTorch's files, and its meaning.
struct csv_word {
  char const* name;
  csv_action action;
  std::optional<pass_kind> kind;  // of compute; of the pass whose result travels or is summed; else none
  bool of_micro_batch = true;
  char const* awaited = nullptr;  // the word that starts the awaited action, for a wait
};

// All words that a file may have.
inline constexpr std::array csv_words{
    csv_word{"F", csv_action::compute, pass_kind::forward},
    csv_word{"I", csv_action::compute, pass_kind::backward_input},
    csv_word{"W", csv_action::compute, pass_kind::backward_weight},
    csv_word{"B", csv_action::compute, pass_kind::backward},
    csv_word{"BW", csv_action::compute, pass_kind::backward},
    csv_word{"R", csv_action::compute, pass_kind::recompute},
    csv_word{"UNSHARD", csv_action::unshard, std::nullopt, false},
    csv_word{"RESHARD", csv_action::reshard, std::nullopt, false},
    csv_word{"REDUCE_GRAD", csv_action::reduce_grad, pass_kind::backward_weight, false},
    csv_word{"WAIT_REDUCE_GRAD", csv_action::wait_reduce_grad, pass_kind::backward_weight, false,
             "REDUCE_GRAD"},
    csv_word{"SEND_F", csv_action::send_f, pass_kind::forward},
    csv_word{"RECV_F", csv_action::recv_f, pass_kind::forward},
    csv_word{"SEND_B", csv_action::send_b, pass_kind::backward_input},
    csv_word{"RECV_B", csv_action::recv_b, pass_kind::backward_input},
    csv_word{"WAIT_SEND_F", csv_action::wait_send_f, pass_kind::forward, true, "SEND_F"},
    csv_word{"WAIT_SEND_B", csv_action::wait_send_b, pass_kind::backward_input, true, "SEND_B"},
};

// The word of that name, or null.
csv_word const* find_csv_word(std::string_view name);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/csv_actions.ipp>
#endif
