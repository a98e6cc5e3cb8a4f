// Definitions of pytorch_waits.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/pytorch_waits.hpp>

#include <set>
#include <utility>

namespace ashlar {

ASHLAR_INLINE send_waits::send_waits(program const& p)
    : p_(p), sent_(table_size()), used_(table_size()) {
  for (int d = 0; d < p.device_count(); ++d)
    for (int i = begin_of(d); i < begin_of(d + 1); ++i) {
      instruction const& self = nth(p.instructions, i);
      bool const forward = self.what.kind == pass_kind::forward;
      if (self.code == opcode::send) sent_[row_of(self.what, forward)] = {d, i};
      if (self.code == opcode::compute && (forward || gives_input_gradient(self.what.kind)))
        used_[row_of(self.what, forward)] = {d, i};
    }
}

ASHLAR_INLINE std::vector<send_waits::wait> send_waits::of_device(int device) const {
  std::vector<wait> waits;
  // By peer: the place where it uses the sent value, and the send.
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

ASHLAR_INLINE std::size_t send_waits::row_of(pass what, bool forward) const {
  return 2
             * (static_cast<std::size_t>(what.micro_batch) * static_cast<std::size_t>(p_.stage_count())
                + static_cast<std::size_t>(what.stage))
         + (forward ? 1 : 0);
}

}  // namespace ashlar
