// The oracle's verdict beside the proofs', and words for a program on which they differ.
#pragma once

#include "oracle/draft.hpp"
#include "oracle/machine.hpp"
#include "oracle/samples.hpp"
#include <ashlar/prove/prove.hpp>

#include <sstream>
#include <string>

namespace oracle {

struct opinions {
  verdict oracle;
  ashlar::diagnosis proof;
  bool agree() const { return oracle.good == proof.ok(); }
};
inline opinions ask(program const& p) { return {machine(p).explore(), ashlar::check(p)}; }

// Every instruction on a line: device, position, lane, opcode, pass, receiver's stage, peer, operands.
inline std::string written_out(program const& p) {
  std::ostringstream out;
  for (int d = 0; d < p.device_count(); ++d) {
    int index = 0;
    for (instruction const& i : p.view().stream(d)) {
      static constexpr char const *codes[] = {"compute",    "send",    "receive",        "all-reduce",
                                              "all-gather", "release", "reduce-scatter", "clear",
                                              "measure",    "optimize"},
                                  *uses[] = {"r", "w", "a", "s"};
      out << "  " << d << '[' << index++ << "] lane " << i.lane << ' ' << codes[static_cast<int>(i.code)]
          << ' ' << "FRBIWx"[static_cast<int>(i.what.kind)] << " stage " << i.what.stage
          << " micro-batch " << i.what.micro_batch << " to " << i.to << " peer " << i.peer << " group "
          << i.group << " subject " << static_cast<int>(i.subject)
          << (i.overlaps_next ? " with next :" : " :");
      for (operand const& o : p.view().operands_of(i))
        out << ' ' << uses[static_cast<int>(o.how)] << o.slot;
      out << '\n';
    }
    out << "  slots of " << d << ':';
    for (slot_kind k : p.view().slots_of(d)) out << ' ' << "agcsxqQwmGWSnt"[static_cast<int>(k)];
    out << '\n';
  }
  return out.str();
}

inline std::string written_out(opinions const& o) {
  std::ostringstream out;
  out << "oracle: " << (o.oracle.good ? "right" : o.oracle.why) << " at " << o.oracle.device << '['
      << o.oracle.index << "]\ncheck: " << ashlar::sentence(o.proof.broken) << " at "
      << o.proof.first.device << '[' << o.proof.first.index << "], " << o.proof.second.device << '['
      << o.proof.second.index << "] number " << o.proof.number << '\n';
  return out.str();
}

// Whether, in a stuck program, each member of the circle waits for the next.
inline bool is_wait_cycle(program const& p, std::vector<ashlar::site> const& circle) {
  if (circle.size() < 2) return false;
  steps const all(p, 1);
  for (std::size_t i = 0; i < circle.size(); ++i) {
    ashlar::site const &a = circle[i], &b = circle[(i + 1) % circle.size()];
    if (!all.waits_for(a.device, a.index, b.device, b.index)) return false;
  }
  return true;
}

}  // namespace oracle
