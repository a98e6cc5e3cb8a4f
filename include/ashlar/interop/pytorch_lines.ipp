// Definitions of pytorch_lines.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/pytorch_lines.hpp>

namespace ashlar {

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
      issued_[row_of(t.action(), t.what)] = true;
      awake.push_back(line_of(t.other_stage()));
    }
  }
  for (std::size_t d = 0; d < at_.size(); ++d)
    if (at_[d] < tokens_.lines[d].size()) return cycle(d);
  return "";
}

ASHLAR_INLINE std::size_t pytorch_lines::row_of(csv_action what, pass of) const {
  auto const kind = static_cast<std::size_t>(what) - static_cast<std::size_t>(csv_action::send_f);
  return 4
             * (static_cast<std::size_t>(of.micro_batch) * owner_.size()
                + static_cast<std::size_t>(of.stage))
         + kind;
}

ASHLAR_INLINE std::pair<csv_action, int> pytorch_lines::needed(csv_token const& t) const {
  int const stage = t.what.stage;
  switch (t.action()) {
    case csv_action::wait_send_f:
      return {csv_action::recv_f, stage + 1};
    case csv_action::wait_send_b:
      return {csv_action::recv_b, stage - 1};
    case csv_action::compute: {
      bool const forward = t.what.kind == pass_kind::forward;
      int const from = forward ? stage - 1 : stage + 1;
      if ((!forward && !gives_input_gradient(t.what.kind)) || from < 0
          || from >= static_cast<int>(owner_.size()) || line_of(from) == line_of(stage))
        return {csv_action::compute, -1};
      return {forward ? csv_action::send_f : csv_action::send_b, from};
    }
    default:
      return {csv_action::compute, -1};
  }
}

ASHLAR_INLINE std::string pytorch_lines::cycle(std::size_t d) const {
  std::vector<bool> seen(at_.size(), false);
  while (!seen[d]) {
    seen[d] = true;
    d = next_of(d);
  }
  std::string text;
  constexpr int most = 8;  // of a long cycle
  std::size_t const first = d;
  for (int told = 0; told < most && (told == 0 || d != first); ++told, d = next_of(d))
    text += (told == 0 ? "" : ", ") + tokens_.place_of(d, tokens_.lines[d][at_[d]])
            + " holds up its rank until line " + std::to_string(next_of(d) + 1) + " goes on";
  return text + (d == first ? ", and so in a cycle" : ", and so on in a cycle");
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
