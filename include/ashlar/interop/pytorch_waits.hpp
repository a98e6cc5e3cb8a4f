// Places PyTorch's waits for sends. A wait blocks the whole rank, and the buffer is kept until the wait.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/program/program.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Places the wait for each send of a program without obstacle: after the first pass whose input shows
// that the peer has already used the sent value, because the peer sent the input after that. Such a wait
// never blocks. Sends that no input covers are awaited at the end of the line.
class send_waits {
 public:
  // Finds the waits of all sends. O(instructions).
  explicit send_waits(program const& p);

  // The sends of a device in the order of their waits, each with the instruction before its wait.
  struct wait {
    int behind = 0;
    int send = 0;
  };
  std::vector<wait> of_device(int device) const;

 private:
  struct place {
    int device = -1;
    int index = 0;  // among all instructions
  };

  std::size_t table_size() const {
    return 2 * p_.route.size() * static_cast<std::size_t>(p_.stage_count());
  }
  int begin_of(int device) const { return stream_begin(p_, device); }
  std::size_t row_of(pass what, bool forward) const;

  program const& p_;
  std::vector<place> sent_, used_;
};

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/pytorch_waits.ipp>
#endif
