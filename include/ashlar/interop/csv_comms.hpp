// Whether what stands between the passes of a compute_comms CSV fits them: transfers, residency of
// weights, reductions, waits. The passes are known to be complete, and each stage to have one owner.
#pragma once

#include <ashlar/interop/csv_tokens.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar {

class csv_comms {
 public:
  // `owner`: device by stage.
  csv_comms(csv_tokens const& tokens, std::vector<int> const& owner, csv_problems& problems)
      : tokens_(tokens),
        owner_(owner),
        problems_(problems),
        stages_(owner.size()),
        values_(stages_ * static_cast<std::size_t>(tokens.micro_batch_count)),
        weights_(stages_) {
    for (auto const& line : tokens.lines)
      for (csv_token const& t : line) {
        shards_ = shards_ || t.action() == csv_action::unshard || t.action() == csv_action::reshard;
        reduces_ = reduces_ || t.action() == csv_action::reduce_grad;
      }
    if (tokens.dialect == csv_dialect::reduce_grad || tokens.dialect == csv_dialect::waits)
      reduces_ = tokens.mode == execution_mode::training;
  }

  // Adds what it finds. Linear in tokens, and in stages times micro-batches.
  void run() {
    visit([&](site here, csv_token const& t) { find_ends(here, t); });
    if (!problems_.none()) return;
    find_lost_halves();
    visit([&](site here, csv_token const& t) { walk(here, t); });
    for (std::size_t stage = 0; stage < stages_; ++stage) find_unfinished(static_cast<int>(stage));
  }

 private:
  enum direction : std::size_t { activation, gradient };
  struct transfer {
    site send, receive;
    bool started = false, waited = false, arrived = false;  // as far as the walk has come
  };
  struct value {
    transfer out[2];  // of this stage's output, of its input's gradient
    bool forward = false, input = false;
  };
  struct weights {
    site gather, reduction;
    bool resident = false, used = false, reduction_waited = false;
    int passes = 0;  // that added to the gradient so far
  };

  template <class Visit>
  void visit(Visit each) {
    for (std::size_t d = 0; d < tokens_.lines.size(); ++d)
      for (std::size_t i = 0; i < tokens_.lines[d].size() && !problems_.full(); ++i)
        each(site{.device = static_cast<int>(d), .index = static_cast<int>(i)}, tokens_.lines[d][i]);
  }

  value& of(int stage, int micro_batch) {
    return values_[static_cast<std::size_t>(micro_batch) * stages_ + static_cast<std::size_t>(stage)];
  }
  int owner(int stage) const { return owner_[static_cast<std::size_t>(stage)]; }
  bool exists(int stage) const { return stage >= 0 && stage < static_cast<int>(stages_); }
  static bool is_none(site const& s) { return s.device < 0; }
  void complain(site here, rule broken, std::string const& but) {
    problems_.add(tokens_.at(here), broken, but);
  }

  static bool sends(csv_action a) { return a == csv_action::send_f || a == csv_action::send_b; }
  static bool receives(csv_action a) { return a == csv_action::recv_f || a == csv_action::recv_b; }
  static bool waits_for_send(csv_action a) {
    return a == csv_action::wait_send_f || a == csv_action::wait_send_b;
  }
  static direction direction_of(csv_token const& t) {
    return t.what.kind == pass_kind::forward ? activation : gradient;
  }
  // The stage that made what the token moves, and the one that takes it.
  static int source(csv_token const& t) {
    if (!receives(t.action())) return t.what.stage;
    return direction_of(t) == activation ? t.what.stage - 1 : t.what.stage + 1;
  }
  static int target(csv_token const& t) {
    return direction_of(t) == activation ? source(t) + 1 : source(t) - 1;
  }
  transfer& moved_by(csv_token const& t) {
    return of(source(t), t.what.micro_batch).out[direction_of(t)];
  }

  void find_ends(site here, csv_token const& t) {
    csv_action const a = t.action();
    if (t.computes()) {
      if (t.what.kind == pass_kind::recompute)
        complain(here, rule::every_pass_is_known, "PyTorch has no recompute pass");
      return;
    }
    if (!exists(t.what.stage) || t.what.micro_batch >= tokens_.micro_batch_count)
      return complain(here, rule::every_pass_is_known,
                      "there are " + std::to_string(stages_) + " stages and "
                          + std::to_string(tokens_.micro_batch_count) + " micro-batches");
    if (owner(t.what.stage) != here.device)
      return complain(here, rule::every_stage_has_one_owner,
                      "the passes of stage " + std::to_string(t.what.stage) + " are on line "
                          + std::to_string(owner(t.what.stage) + 1));
    bool const moves = sends(a) || receives(a) || waits_for_send(a);
    if (!moves) return;
    if (!exists(source(t)) || !exists(target(t)))
      return complain(here, rule::every_pass_is_known,
                      std::string("there is no stage ") + (receives(a) ? "before" : "behind")
                          + " it in this direction");
    if (owner(source(t)) == owner(target(t)))
      return complain(here, rule::transfers_lead_to_another_device,
                      "stages " + std::to_string(source(t)) + " and " + std::to_string(target(t))
                          + " are both on line " + std::to_string(here.device + 1));
    if (waits_for_send(a)) return;
    site& mine = sends(a) ? moved_by(t).send : moved_by(t).receive;
    if (!is_none(mine))
      return complain(here, rule::no_transfer_is_doubled,
                      "this one is there before: " + tokens_.place_of(mine));
    mine = here;
  }

  static std::string half(bool is_send, direction way, int from, int to, int micro_batch) {
    char const* const name =
        is_send ? (way == activation ? "SEND_F" : "SEND_B") : (way == activation ? "RECV_F" : "RECV_B");
    return std::to_string(is_send ? from : to) + name + std::to_string(micro_batch);
  }

  void find_lost_halves() {
    for (int k = 0; k < tokens_.micro_batch_count; ++k)
      for (int from = 0; exists(from); ++from)
        for (direction way : {activation, gradient}) {
          int const to = way == activation ? from + 1 : from - 1;
          if (!exists(to) || owner(from) == owner(to)) continue;
          transfer const& t = of(from, k).out[way];
          if (!is_none(t.send) && !is_none(t.receive)) continue;
          bool const needed = tokens_.mode == execution_mode::training || way == activation;
          if (!needed && is_none(t.send) && is_none(t.receive)) continue;
          std::string const send = half(true, way, from, to, k), receive = half(false, way, from, to, k);
          if (!is_none(t.send))
            complain(t.send, rule::every_send_has_its_receive,
                     receive + " is missing on line " + std::to_string(owner(to) + 1));
          else if (!is_none(t.receive))
            complain(t.receive, rule::every_receive_has_its_send,
                     send + " is missing on line " + std::to_string(owner(from) + 1));
          else
            problems_.add(
                {owner(to) + 1, 0, receive, ""}, rule::every_receive_has_its_send,
                "both are missing, and " + send + " on line " + std::to_string(owner(from) + 1));
        }
  }

  void walk(site here, csv_token const& t) {
    if (t.computes()) {
      compute(here, t);
      return;
    }
    weights& w = weights_[static_cast<std::size_t>(t.what.stage)];
    switch (t.action()) {
      case csv_action::compute:
        return;
      case csv_action::unshard:
        if (w.resident)
          complain(here, rule::gathered_weights_are_given_up,
                   "they are there since " + tokens_.place_of(w.gather));
        w.gather = here;
        w.resident = true;
        w.used = false;
        return;
      case csv_action::reshard:
        if (!w.resident)
          complain(here, rule::gathered_weights_are_given_up, "they are not there");
        else if (!w.used)
          complain(w.gather, rule::gathered_weights_are_used,
                   "nothing uses them until " + tokens_.place_of(here));
        w.resident = false;
        return;
      case csv_action::reduce_grad:
        if (!is_none(w.reduction))
          complain(here, rule::gradient_is_reduced_once,
                   "this one is reduced before: " + tokens_.place_of(w.reduction));
        else if (w.passes < tokens_.micro_batch_count)
          complain(here, rule::gradient_is_reduced_after_its_last_weight_pass,
                   std::to_string(tokens_.micro_batch_count - w.passes) + " of them are not behind it");
        w.reduction = here;
        return;
      case csv_action::wait_reduce_grad:
        if (is_none(w.reduction) || w.reduction_waited)
          complain(here, rule::every_start_has_its_wait,
                   std::string("no REDUCE_GRAD is ")
                       + (w.reduction_waited ? "left to be waited for" : "before it"));
        w.reduction_waited = true;
        return;
      case csv_action::send_f:
      case csv_action::send_b: {
        value const& v = of(t.what.stage, t.what.micro_batch);
        if (!(direction_of(t) == activation ? v.forward : v.input))
          complain(here, rule::no_pass_starts_before_its_input, "what it sends has not been computed");
        moved_by(t).started = true;
        return;
      }
      case csv_action::wait_send_f:
      case csv_action::wait_send_b:
        if (!moved_by(t).started || moved_by(t).waited)
          complain(
              here, rule::every_start_has_its_wait,
              std::string("no send is ") + (moved_by(t).waited ? "left to be waited for" : "before it"));
        moved_by(t).waited = true;
        return;
      case csv_action::recv_f:
      case csv_action::recv_b:
        moved_by(t).arrived = true;
        return;
    }
  }

  void compute(site here, csv_token const& t) {
    weights& w = weights_[static_cast<std::size_t>(t.what.stage)];
    if (shards_ && !w.resident)
      complain(here, rule::weights_are_resident_when_used,
               "there is no " + std::to_string(t.what.stage) + "UNSHARD before it that holds");
    w.used = true;
    // The passes of a pair start together: neither makes what the other needs.
    bool const second =
        here.index > 0 && tokens_.token({.device = here.device, .index = here.index - 1}).overlaps_next;
    if (!second) starts(here, t);
    if (t.overlaps_next) {
      site const next{.device = here.device, .index = here.index + 1};
      starts(next, tokens_.token(next));
    }
    value& v = of(t.what.stage, t.what.micro_batch);
    v.forward = v.forward || t.what.kind == pass_kind::forward;
    v.input = v.input || gives_input_gradient(t.what.kind);
    w.passes += gives_weight_gradient(t.what.kind) ? 1 : 0;
  }

  void starts(site here, csv_token const& t) {
    int const stage = t.what.stage, k = t.what.micro_batch;
    auto const arrives = [&](int from, direction way) {
      if (!exists(from)) return;
      value const& made = of(from, k);
      bool const local = owner(from) == here.device;
      transfer const& moved = made.out[way];
      bool const there = local ? (way == activation ? made.forward : made.input) : moved.arrived;
      if (there || (!local && is_none(moved.receive))) return;  // what is lost was told before
      complain(here, rule::no_pass_starts_before_its_input,
               local ? "stage " + std::to_string(from) + " has not computed it on this line"
                     : tokens_.place_of(moved.receive) + " comes later");
    };
    if (t.what.kind == pass_kind::forward) return arrives(stage - 1, activation);
    if (t.what.kind == pass_kind::backward_weight) {
      if (!of(stage, k).input)
        complain(here, rule::no_pass_starts_before_its_input, "its input pass comes later");
      return;
    }
    if (!of(stage, k).forward)
      complain(here, rule::no_pass_starts_before_its_input, "its forward comes later");
    arrives(stage + 1, gradient);
  }

  void find_unfinished(int stage) {
    weights const& w = weights_[static_cast<std::size_t>(stage)];
    csv_problem const line{owner(stage) + 1, 0, std::to_string(stage) + "REDUCE_GRAD", ""};
    if (w.resident)
      complain(w.gather, rule::gathered_weights_are_used,
               std::string("they are ") + (w.used ? "never released" : "never used"));
    if (reduces_ && is_none(w.reduction))
      problems_.add(line, rule::gradient_is_reduced_once, "it is missing");
    if (tokens_.dialect != csv_dialect::waits) return;
    if (!is_none(w.reduction) && !w.reduction_waited)
      complain(w.reduction, rule::every_start_has_its_wait, "this one never is");
    for (int k = 0; k < tokens_.micro_batch_count; ++k)
      for (transfer const& t : of(stage, k).out)
        if (!is_none(t.send) && !t.waited)
          complain(t.send, rule::every_start_has_its_wait, "this one never is");
  }

  csv_tokens const& tokens_;
  std::vector<int> const& owner_;
  csv_problems& problems_;
  std::size_t stages_;
  std::vector<value> values_;  // by micro-batch, then stage
  std::vector<weights> weights_;
  bool shards_ = false;   // whether weights are gathered at all
  bool reduces_ = false;  // whether gradients are reduced by name
};

}  // namespace ashlar
