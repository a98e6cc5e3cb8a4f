// What PyTorch's runtime does with the lines of a compute_comms CSV: each rank issues its tokens one
// after the other, each only after the one before it has been issued.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/interop/csv_tokens.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace ashlar {

// A pass holds up its rank until its inputs have been sent, a wait for a send until the receive has been
// issued. Linear in tokens.
class pytorch_lines {
 public:
  // `owner`: device by stage. For a file that was read without a problem.
  pytorch_lines(csv_tokens const& tokens, std::vector<int> const& owner)
      : tokens_(tokens),
        owner_(owner),
        issued_(4 * owner.size() * static_cast<std::size_t>(tokens.micro_batch_count), false),
        at_(tokens.lines.size(), 0) {}

  // Why the lines do not run to their end, or nothing.
  std::string run();

 private:
  std::size_t line_of(int stage) const { return static_cast<std::size_t>(nth(owner_, stage)); }
  std::size_t row_of(csv_action what, pass of) const;

  // Of a pass or wait: the transfer that it waits for, and the stage that this is of; -1 if of none.
  std::pair<csv_action, int> needed(csv_token const& t) const;
  bool blocks(csv_token const& t) const {
    auto const [what, stage] = needed(t);
    return stage >= 0 && !issued_[row_of(what, {t.what.kind, stage, t.what.micro_batch})];
  }

  // From a line that is stuck to the line that it waits for, until one comes again.
  std::string cycle(std::size_t d) const;
  std::size_t next_of(std::size_t d) const { return line_of(needed(tokens_.lines[d][at_[d]]).second); }

  csv_tokens const& tokens_;
  std::vector<int> const& owner_;
  std::vector<bool> issued_;  // by micro-batch, stage and kind of transfer
  std::vector<std::size_t> at_;
};

// The stage whose reduction is still pending where another begins, told by its tokens; or nothing.
std::string pending_reductions(csv_tokens const& tokens);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/pytorch_lines.ipp>
#endif
