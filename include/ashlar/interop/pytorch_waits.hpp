// Where PyTorch waits for its sends. A wait holds up the whole rank, and the buffer is kept until the
// wait.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/program/program.hpp>

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

namespace ashlar {

// Places the wait for each send of a program without obstacle: after the first pass whose input shows
// that the peer has already used what was sent, for it was itself sent after that. Such a wait is never
// in vain. What no input tells is waited for at the end of the line.
class send_waits {
 public:
  explicit send_waits(program const& p) : p_(p), sent_(table_size()), used_(table_size()) {
    for (int d = 0; d < p.device_count(); ++d)
      for (int i = begin_of(d); i < begin_of(d + 1); ++i) {
        instruction const& self = nth(p.instructions, i);
        bool const forward = self.what.kind == pass_kind::forward;
        if (self.code == opcode::send) sent_[row_of(self.what, forward)] = {d, i};
        if (self.code == opcode::compute && (forward || gives_input_gradient(self.what.kind)))
          used_[row_of(self.what, forward)] = {d, i};
      }
  }

  // The sends of a device in the order of their waits, each with the instruction that its wait is
  // behind.
  struct wait {
    int behind = 0;
    int send = 0;
  };
  std::vector<wait> of_device(int device) const {
    std::vector<wait> waits;
    // By peer: where it uses what was sent, and the send.
    std::vector<std::set<std::pair<int, int>>> open(static_cast<std::size_t>(p_.device_count()));
    for (int i = begin_of(device); i < begin_of(device + 1); ++i) {
      instruction const& self = nth(p_.instructions, i);
      bool const forward = self.what.kind == pass_kind::forward;
      if (self.code == opcode::send) {
        pass const user = {self.what.kind, self.to, self.what.micro_batch};
        nth(open, self.peer).emplace(used_[row_of(user, forward)].index, i);
      }
      if (self.code != opcode::compute || (!forward && !gives_input_gradient(self.what.kind))) continue;
      int const from = self.what.stage + (forward ? -1 : 1);
      if (from < 0 || from >= p_.stage_count()) continue;
      place const input = sent_[row_of({self.what.kind, from, self.what.micro_batch}, forward)];
      if (input.device < 0) continue;  // handed over on the device
      auto& shown = nth(open, input.device);
      while (!shown.empty() && shown.begin()->first < input.index) {
        waits.push_back({i + (self.overlaps_next ? 1 : 0), shown.begin()->second});
        shown.erase(shown.begin());
      }
    }
    for (auto const& rest : open)
      for (auto const& [use, send] : rest) waits.push_back({begin_of(device + 1) - 1, send});
    return waits;
  }

 private:
  struct place {
    int device = -1;
    int index = 0;  // among all instructions
  };

  std::size_t table_size() const {
    return 2 * p_.route.size() * static_cast<std::size_t>(p_.stage_count());
  }
  int begin_of(int device) const { return nth(p_.stream_begin, device); }
  std::size_t row_of(pass what, bool forward) const {
    return 2
               * (static_cast<std::size_t>(what.micro_batch) * static_cast<std::size_t>(p_.stage_count())
                  + static_cast<std::size_t>(what.stage))
           + (forward ? 1 : 0);
  }

  program const& p_;
  std::vector<place> sent_, used_;
};

}  // namespace ashlar
