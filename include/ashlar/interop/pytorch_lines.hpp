// Simulates PyTorch's runtime on the lines of a compute_comms CSV: each rank issues its tokens one after
// the other, each after the previous one has been issued.
#pragma once

#include <ashlar/interop/csv_tokens.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace ashlar {

// The transfers of a rank that share a communicator. A communicator runs them in the order of issue, and
// each lasts until its other half has come.
struct pytorch_communicators {
  transfer_lanes lanes;
  char const* name;  // of each
};

// PyTorch's choices so far, oldest first: one for all transfers of the group
// (https://github.com/pytorch/pytorch/issues/172668), two for the group
// (https://github.com/pytorch/pytorch/pull/186173), and one for each ordered pair of ranks
// (https://github.com/pytorch/pytorch/pull/196666; TORCH_DISTRIBUTED_PIPELINE_PER_EDGE_P2P).
inline constexpr pytorch_communicators all_pytorch_communicators[] = {
    {transfer_lanes::one, "one communicator"},
    {transfer_lanes::one_a_kind, "one for activations and one for gradients"},
    {transfer_lanes::one_a_direction, "one for each directed edge"},
};

// Runs the lines. A pass blocks its rank until its inputs have come, a wait for a send until that has
// been received. Linear in tokens.
class pytorch_lines {
 public:
  // `shared`: the transfers of a rank that run one after the other; none do if it is empty. Requires a
  // file that was read without a problem.
  pytorch_lines(csv_tokens const& tokens, std::optional<transfer_lanes> shared);
  pytorch_lines(pytorch_lines const&) = delete;  // queues refer to halves
  pytorch_lines& operator=(pytorch_lines const&) = delete;

  // The reason why the lines do not run to their end, or nothing.
  std::string run();

 private:
  struct half {
    std::size_t line = 0;
    std::size_t index = 0;  // on its line
    std::size_t queue = 0;
    bool is_issued = false;
    bool has_ended = false;
  };
  struct place {
    std::size_t line = 0;
    std::size_t index = 0;

    friend bool operator==(place const&, place const&) = default;
  };

  void find_owners();
  void queue_up(std::optional<transfer_lanes> shared);

  std::size_t row_of(csv_action what, pass of) const;
  std::size_t row_of(csv_token const& t) const { return row_of(t.action(), t.what); }
  std::size_t partner_of(csv_token const& t) const;

  // The row of the half on its line that a pass or a wait needs; empty if none.
  std::optional<std::size_t> needed(csv_token const& t) const;
  bool blocks(csv_token const& t) const {
    std::optional<std::size_t> const row = needed(t);
    return row && !halves_[*row].has_ended;
  }

  bool is_up(half const& h) const { return h.is_issued && queues_[h.queue][up_[h.queue]] == &h; }
  // Ends the transfers of a queue that can end, and adds the lines that continue.
  void end_transfers(std::size_t queue, std::vector<std::size_t>& awake);

  csv_token const& at(place const& p) const { return tokens_.lines[p.line][p.index]; }
  // The token that blocks a stuck one.
  place blocker(place const& p) const;
  std::string cycle(std::size_t line) const;

  csv_tokens const& tokens_;
  std::vector<std::size_t> owner_;          // line by stage
  std::vector<half> halves_;                // by micro-batch, stage and kind of transfer
  std::vector<std::vector<half*>> queues_;  // in order of issue
  std::vector<std::size_t> up_;             // by queue: transfers that have ended
  std::vector<std::size_t> at_;             // by line: the next token
};

// Names a stage whose reduction is still pending when another begins, by its tokens; or nothing.
std::string pending_reductions(csv_tokens const& tokens);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/pytorch_lines.ipp>
#endif
