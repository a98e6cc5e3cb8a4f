#include "train/train_values.hpp"

#include "command.hpp"
#include "options/number_option.hpp"
#include <ashlar/render/curves.hpp>
#include <ashlar/values/balance.hpp>
#include <ashlar/values/clip.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

// The scope with this name, among those that need work beside the passes.
ashlar::balance_scope scope_of(std::string const& name) {
  return name == "synchronised" ? ashlar::balance_scope::synchronised
         : name == "running"    ? ashlar::balance_scope::running
                                : ashlar::balance_scope::global;
}

}  // namespace

void add_value_options(CLI::App& command, train_options& o) {
  add_number(command, "--experts", o.model.experts, 0, gpt::config::most_experts,
             "experts in place of each block's MLP; each token goes to two of them; 0: none");
  command
      .add_option("--balance", o.balance,
                  "which tokens the balancing loss counts: micro, those of the micro-batch; "
                  "synchronised, those of all data-parallel ranks; running, those of all micro-batches "
                  "so far; global, those of the whole batch, which needs all forwards first")
      ->check(CLI::IsMember({"micro", "synchronised", "running", "global"}))
      ->type_name("NAME")
      ->capture_default_str();
  add_number(command, "--balance-weight", o.model.balance, 0.0, 1e3, "weight of the balancing loss");
  command
      .add_option("--loads", o.loads, "draw how many tokens each expert gets, over the steps, as SVG")
      ->type_name("FILE");
  command
      .add_option_function<std::string>(
          "--clip-micro-batches",
          [&o](std::string const& text) {
            o.clip = number_within<double>("--clip-micro-batches", text, 0, 1e9);
          },
          "clip each micro-batch's gradient to this norm over all stages; 0: to the least norm of the "
          "step's micro-batches")
      ->type_name("N");
  add_number(command, "--loss-scale", o.loss_scale, 0.0, 1e300,
             "scale the loss, so that small gradients do not vanish, at first by this; halved after a "
             "step that overflows, which is skipped, and doubled after 2000 that do not; 0: never");
}

void require_value_options(train_options const& o) {
  bool const values = o.model.experts > 0 || o.clip || o.loss_scale > 0;
  if (o.backend == "cuda" && values)
    throw usage_error("--experts, --clip-micro-batches and --loss-scale are for --backend host and mpi");
  if (o.backend == "cuda" && o.model.predicts)
    throw usage_error("--prediction-layer is for --backend host and mpi");
  if (o.clip && o.input_shards)
    throw usage_error("--clip-micro-batches and --input-shards do not go together");
  if (o.clip && o.loss_scale > 0)
    throw usage_error("--clip-micro-batches and --loss-scale do not go together");
}

ashlar::schedule with_values(ashlar::schedule s, train_options const& o, gpt::config const& shape) {
  if (o.balance != "micro") {
    std::vector<int> stages;
    for (int i = 0; i < shape.stages; ++i)
      if (gpt::shape_of(shape, i).blocks > 0) stages.push_back(i);
    s = balance_experts(std::move(s), stages, scope_of(o.balance));
  }
  if (o.clip) s = clip_micro_batches(std::move(s));
  return s;
}

expert_loads::expert_loads(gpt::config const& shape, int steps)
    : blocks_(static_cast<std::size_t>(shape.blocks)),
      experts_(static_cast<std::size_t>(shape.experts)),
      window_(std::max(1, steps / 50)),
      sum_(blocks_ * experts_, 0.0),
      curves_(blocks_ * experts_) {}

void expert_loads::add(std::span<double const> loads) {
  for (std::size_t i = 0; i < loads.size(); ++i) sum_[i % sum_.size()] += loads[i];
  if (++steps_ % window_ != 0) return;
  for (std::size_t block = 0; block < blocks_; ++block) {
    auto const own = std::span(sum_).subspan(block * experts_, experts_);
    double all = 0;
    for (double load : own) all += load;
    for (std::size_t e = 0; e < experts_; ++e)
      curves_[block * experts_ + e].emplace_back(steps_ - window_ / 2.0, own[e] / all);
  }
  std::fill(sum_.begin(), sum_.end(), 0.0);
}

std::string expert_loads::svg(std::string const& title) const {
  std::vector<ashlar::curve_panel> panels;
  for (std::size_t block = 0; block < blocks_; ++block) {
    auto const first = curves_.begin() + static_cast<std::ptrdiff_t>(block * experts_);
    panels.push_back(
        {"block " + std::to_string(block), {first, first + static_cast<std::ptrdiff_t>(experts_)}});
  }
  return ashlar::svg(panels, {title, "step", "share of tokens"});
}

}  // namespace tool
