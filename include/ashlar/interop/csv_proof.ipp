// Definitions of csv_proof.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/interop/csv_proof.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/prove/wait_cycle.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

ASHLAR_INLINE std::string csv_name(opcode code, pass what, csv_dialect dialect) {
  bool const forward = what.kind == pass_kind::forward, old = dialect == csv_dialect::b_bw;
  std::string const stage = std::to_string(what.stage), k = std::to_string(what.micro_batch);
  if (code == opcode::send) return stage + (forward ? "SEND_F" : "SEND_B") + k;
  if (code == opcode::receive)
    return std::to_string(what.stage + (forward ? 1 : -1)) + (forward ? "RECV_F" : "RECV_B") + k;
  if (code == opcode::all_gather) return stage + "UNSHARD";
  if (code == opcode::release) return stage + "RESHARD";
  if (code == opcode::all_reduce || code == opcode::reduce_scatter) return stage + "REDUCE_GRAD";
  if (old && what.kind == pass_kind::backward) return stage + "BW" + k;
  if (old && what.kind == pass_kind::backward_input) return stage + "B" + k;
  return to_string(what);
}

ASHLAR_INLINE void csv_proof::run(csv_problems& problems) const {
  diagnosis d = check(streams_.value);
  if (d.ok()) return;
  // A late value explains more than the wrong order or the cycle that it causes.
  if (d.broken == rule::sends_and_receives_have_the_same_order || d.broken == rule::no_cycle_of_waits)
    if (diagnosis const late = check_memory_safe(streams_.value); !late.ok()) d = late;
  site culprit = token_of(d.first);
  std::string but;
  if (d.broken == rule::no_cycle_of_waits)
    but = cycle(culprit);
  else
    but = reason(d);
  // No other value ever uses the slot, so the value is not there yet.
  if (d.broken == rule::slot_holds_what_is_read) d.broken = rule::no_pass_starts_before_its_input;
  csv_problem where{d.first.device + 1, 0, "", ""};
  if (is_missing(d)) where.token = csv_name(d.first.code, d.first.what, tokens_.dialect);
  if (culprit.device >= 0) where = tokens_.at(culprit);
  problems.add(where, d.broken, but);
}

ASHLAR_INLINE site csv_proof::token_of(site at) const {
  if (at.device < 0 || at.index < 0) return {};
  int const index = nth(nth(streams_.token_of, at.device), at.index);
  return index < 0 ? site{} : site{.device = at.device, .index = index};
}

ASHLAR_INLINE std::string csv_proof::reason(diagnosis const& d) const {
  bool const other = d.second.index >= 0;
  std::string const second = d.second.device < 0 ? "" : place_of(d.second);
  if (is_missing(d)) return "it is missing" + (second.empty() ? "" : ", and so is " + second);
  switch (d.broken) {
    case rule::every_send_has_its_receive:
    case rule::every_receive_has_its_send:
      return second + " is missing";
    case rule::transfers_lead_to_another_device: {
      csv_token const& t = tokens_.token(token_of(d.first));
      return "stages " + std::to_string(t.what.stage) + " and " + std::to_string(t.other_stage())
             + " are both on line " + std::to_string(d.first.device + 1);
    }
    case rule::no_transfer_is_doubled:
    case rule::gradient_is_reduced_once:
      return other ? "this one is there before: " + second : "a file of forwards alone has no gradients";
    case rule::gradient_is_reduced_after_its_last_weight_pass:
      return second + " comes later";
    case rule::weights_are_resident_when_used:
      return other ? "they are given up by " + second
                   : "there is no " + std::to_string(d.first.what.stage) + "UNSHARD before it";
    case rule::gathered_weights_are_used:
      return "nothing uses them " + (other ? "until " + second : "at all");
    case rule::gathered_weights_are_given_up:
      if (d.first.code == opcode::release)
        return other ? "they were given up by " + second : "they are not there";
      return other ? "they are there since " + second : "these never are";
    case rule::sends_and_receives_have_the_same_order:
      return "this is number " + std::to_string(d.number) + " to its peer, unlike " + second;
    case rule::overlapped_passes_are_a_pair: {
      site const next{.device = d.first.device, .index = token_of(d.first).index + 1};
      return tokens_.place_of(next) + " needs what it gives";
    }
    case rule::slot_holds_what_is_read:
      return writer_of(d);
    case rule::every_slot_is_freed:
      return "nothing on this line uses this one";
    default:
      return "this does not";
  }
}

ASHLAR_INLINE std::string csv_proof::writer_of(diagnosis const& d) const {
  program_view const p = streams_.value.view();
  list_view<instruction> const stream = p.stream(d.first.device);
  for (std::size_t i = 0; i < stream.size(); ++i)
    for (operand const& o : p.operands_of(stream[i]))
      if (o.slot == d.number && o.how == access::write)
        return place_of(site_of(stream[i], d.first.device, static_cast<int>(i))) + " comes later";
  return "nothing on this line gives it";
}

ASHLAR_INLINE std::string csv_proof::cycle(site& culprit) const {
  std::string but = "this";
  std::vector<site> const found = find_wait_cycle(streams_.value);
  constexpr int most = 8;  // names of a long cycle
  int named = 0;
  for (std::size_t i = found.size(); i-- > 0;)  // the first stuck instruction may be outside the cycle
    if (site const t = token_of(found[i]); t.device >= 0) culprit = t;
  for (site const& at : found)
    if (site const t = token_of(at); t.device >= 0 && !(t == culprit) && named++ < most)
      but += " waits for " + tokens_.place_of(t) + ", that";
  return but + (named > most ? " for others, and the last of them for this" : " waits for this");
}

}  // namespace ashlar
