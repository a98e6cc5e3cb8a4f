// Definitions of pytorch_lines.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/pytorch_lines.hpp>

namespace ashlar {

ASHLAR_INLINE pytorch_lines::pytorch_lines(csv_tokens const& tokens,
                                           std::optional<transfer_lanes> shared)
    : tokens_(tokens),
      owner_(static_cast<std::size_t>(tokens.stage_count)),
      halves_(4 * owner_.size() * static_cast<std::size_t>(tokens.micro_batch_count)),
      at_(tokens.lines.size(), 0) {
  find_owners();
  queue_up(shared);
}

ASHLAR_INLINE void pytorch_lines::find_owners() {
  for (std::size_t d = 0; d < tokens_.lines.size(); ++d)
    for (csv_token const& t : tokens_.lines[d])
      if (t.computes()) owner_[static_cast<std::size_t>(t.what.stage)] = d;
}

ASHLAR_INLINE void pytorch_lines::queue_up(std::optional<transfer_lanes> shared) {
  auto const lines = static_cast<int>(tokens_.lines.size());
  std::size_t const a_line = shared ? static_cast<std::size_t>(transfer_lane_count(*shared, lines)) : 0;
  queues_.resize(shared ? a_line * tokens_.lines.size() : halves_.size());
  up_.assign(queues_.size(), 0);
  for (std::size_t d = 0; d < tokens_.lines.size(); ++d)
    for (std::size_t i = 0; i < tokens_.lines[d].size(); ++i) {
      csv_token const& t = tokens_.lines[d][i];
      if (!t.sends() && !t.receives()) continue;
      std::size_t const row = row_of(t);
      std::size_t queue = row;
      if (shared) {
        auto const peer = static_cast<int>(owner_[static_cast<std::size_t>(t.other_stage())]);
        opcode const code = t.sends() ? opcode::send : opcode::receive;
        queue =
            d * a_line + static_cast<std::size_t>(transfer_lane_of(*shared, peer, code, t.what.kind));
      }
      halves_[row] = {.line = d, .index = i, .queue = queue};
      queues_[queue].push_back(&halves_[row]);
    }
}

ASHLAR_INLINE std::string pytorch_lines::run() {
  std::vector<std::size_t> awake;
  for (std::size_t d = at_.size(); d-- > 0;) awake.push_back(d);
  while (!awake.empty()) {
    std::size_t const d = awake.back();
    awake.pop_back();
    for (; at_[d] < tokens_.lines[d].size(); ++at_[d]) {
      csv_token const& t = tokens_.lines[d][at_[d]];
      if (blocks(t)) break;
      if (!t.sends() && !t.receives()) continue;
      half& issued = halves_[row_of(t)];
      issued.is_issued = true;
      end_transfers(issued.queue, awake);
    }
  }
  for (std::size_t d = 0; d < at_.size(); ++d)
    if (at_[d] < tokens_.lines[d].size()) return cycle(d);
  return "";
}

ASHLAR_INLINE void pytorch_lines::end_transfers(std::size_t queue, std::vector<std::size_t>& awake) {
  std::vector<std::size_t> changed{queue};
  while (!changed.empty()) {
    std::size_t const q = changed.back();
    changed.pop_back();
    while (up_[q] < queues_[q].size()) {
      half& own = *queues_[q][up_[q]];
      half& other = halves_[partner_of(at({own.line, own.index}))];
      if (!own.is_issued || !is_up(other)) break;
      own.has_ended = other.has_ended = true;
      ++up_[q];
      ++up_[other.queue];
      changed.push_back(other.queue);
      awake.push_back(own.line);
      awake.push_back(other.line);
    }
  }
}

ASHLAR_INLINE std::size_t pytorch_lines::row_of(csv_action what, pass of) const {
  auto const kind = static_cast<std::size_t>(what) - static_cast<std::size_t>(csv_action::send_f);
  return 4
             * (static_cast<std::size_t>(of.micro_batch) * owner_.size()
                + static_cast<std::size_t>(of.stage))
         + kind;
}

ASHLAR_INLINE std::size_t pytorch_lines::partner_of(csv_token const& t) const {
  bool const forward = t.what.kind == pass_kind::forward;
  csv_action const other = t.sends() ? (forward ? csv_action::recv_f : csv_action::recv_b)
                                     : (forward ? csv_action::send_f : csv_action::send_b);
  return row_of(other, {t.what.kind, t.other_stage(), t.what.micro_batch});
}

ASHLAR_INLINE std::optional<std::size_t> pytorch_lines::needed(csv_token const& t) const {
  int const stage = t.what.stage;
  switch (t.action()) {
    case csv_action::wait_send_f:
      return row_of(csv_action::send_f, t.what);
    case csv_action::wait_send_b:
      return row_of(csv_action::send_b, t.what);
    case csv_action::compute: {
      bool const forward = t.what.kind == pass_kind::forward;
      int const from = forward ? stage - 1 : stage + 1;
      if ((!forward && !gives_input_gradient(t.what.kind)) || from < 0
          || from >= static_cast<int>(owner_.size())
          || owner_[static_cast<std::size_t>(from)] == owner_[static_cast<std::size_t>(stage)])
        return std::nullopt;
      return row_of(forward ? csv_action::recv_f : csv_action::recv_b, t.what);
    }
    default:
      return std::nullopt;
  }
}

ASHLAR_INLINE pytorch_lines::place pytorch_lines::blocker(place const& p) const {
  csv_token const& t = at(p);
  if (p.index > at_[p.line]) return {p.line, at_[p.line]};
  half const* of = nullptr;
  if (t.sends() || t.receives()) {
    half const& own = halves_[row_of(t)];
    of = is_up(own) ? &halves_[partner_of(t)] : queues_[own.queue][up_[own.queue]];
  } else {
    of = &halves_[*needed(t)];
  }
  return {of->line, of->index};
}

ASHLAR_INLINE std::string pytorch_lines::cycle(std::size_t line) const {
  place p{line, at_[line]};
  std::vector<std::vector<bool>> seen;
  for (auto const& tokens : tokens_.lines) seen.emplace_back(tokens.size(), false);
  while (!seen[p.line][p.index]) {
    seen[p.line][p.index] = true;
    p = blocker(p);
  }
  constexpr int most = 8;  // names of a long cycle
  place const first = p;
  std::string text = tokens_.place_of(p.line, at(p)) + " waits for ";
  p = blocker(p);
  for (int named = 1; named < most && p != first; ++named, p = blocker(p))
    text += tokens_.place_of(p.line, at(p)) + ", that waits for ";
  return text + (p == first ? "the first" : "others, and so on in a cycle");
}

ASHLAR_INLINE std::string pending_reductions(csv_tokens const& tokens) {
  for (std::size_t d = 0; d < tokens.lines.size(); ++d) {
    csv_token const* pending = nullptr;
    for (csv_token const& t : tokens.lines[d]) {
      if (t.action() == csv_action::wait_reduce_grad) pending = nullptr;
      if (t.action() != csv_action::reduce_grad) continue;
      if (pending != nullptr)
        return tokens.place_of(d, t) + " begins while " + tokens.place_of(d, *pending)
               + " is pending, and PyTorch has one reduction pending per rank";
      pending = &t;
    }
  }
  return "";
}

}  // namespace ashlar
