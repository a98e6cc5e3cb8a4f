// Each term of a plan's time and memory, with its source.
#include "plan/plan_report.hpp"
#include "report/table.hpp"
#include <ashlar/plan/training/plan_sites.hpp>
#include <ashlar/plan/training/sharded_parameters.hpp>
#include <ashlar/plan/training/training_plan.hpp>
#include <ashlar/program/names.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tool {

namespace {

using namespace ashlar;

// Terms of passes: their products, and what tensor ranks exchange.
std::string pass_terms(plan_question const& q, training_plan const& plan, device_kind const& kind) {
  training_layout const& l = plan.layout;
  layer_products const p = products_of(q.model, l);
  double const product = kind.constants.products / kind.machine.flops;
  int const pieces = plan.sequence_chunks;
  std::string const cut =
      pieces == 1 ? ""
                  : fmt::format(
                      "  pieces     of {}, the first takes 1 / {} of the scores and the last "
                      "{} / {}; of the rest, each an equal share\n",
                      pieces, pieces * pieces, 2 * pieces - 1, pieces * pieces);
  return fmt::format(
      "  matrices   2 tokens x parameters / tensor = {:.4g} operations: {:.3f} ms forward, twice "
      "backward\n"
      "  scores     4 tokens x hidden x sequence / tensor = {:.4g} operations: {:.3f} ms forward, twice "
      "backward\n"
      "  exchange   4 (t - 1) / t x {} bytes x hidden x tokens = {:.4g} bytes: {:.3f} ms forward, as "
      "much backward\n"
      "  again      {} of the forward in each backward\n{}",
      p.matrices, p.matrices * product * 1e3, p.scores, p.scores * product * 1e3, q.model.value_bytes,
      exchanged_bytes(q.model, l),
      kind.constants.exchange * exchanged_bytes(q.model, l) / kind.machine.inside * 1e3,
      l.again == recomputation::full        ? "all"
      : l.again == recomputation::attention ? "the scores"
                                            : "nothing",
      cut);
}

// Terms of the head, on the device that has it.
std::string head_terms(plan_question const& q, training_plan const& plan) {
  stage_site const last = sites_of(q, plan).back();
  double const head = head_seconds(q.model, plan.layout, last.machine, last.constants).forward;
  return fmt::format(
      "  head       2 tokens x hidden x vocabulary / tensor = {:.4g} operations: {:.3f} ms forward, "
      "twice backward, on the last stage\n",
      head / (last.constants.products / last.machine.flops), head * 1e3);
}

// Terms of messages between stages and data ranks.
std::string link_terms(plan_question const& q, training_plan const& plan, parameter_bytes const& each) {
  training_layout const& l = plan.layout;
  parameter_sharing const sharing{plan.sharding, l.data};
  double const link = sites_of(q, plan)[0].next, message = q.model.value_bytes * q.model.hidden
                                                           * l.micro_batch * q.model.sequence / l.tensor;
  return fmt::format(
      "  message    {} bytes x hidden x tokens / tensor = {:.4g} bytes: {:.3f} ms at {:.0f} GB/s\n"
      "  reduction  (d - 1) / d = {:.4f} of {} bytes per parameter (Rajbhandari et al. 2020): {:.4g} "
      "bytes per parameter, once a step\n"
      "  shards     {:.4g} bytes per parameter gathered for each pass, {:.4g} scattered after each "
      "backward\n",
      q.model.value_bytes, message, message / link * 1e3, link / 1e9, sharing.others(),
      l.data == 1 ? 0 : reduced_bytes(sharing, each) / sharing.others(), reduced_bytes(sharing, each),
      gathered_bytes(sharing, each), scattered_bytes(sharing, each));
}

// Terms of memory: of a layer, and of what is there once.
std::string memory_terms(plan_question const& q, training_plan const& plan,
                         parameter_bytes const& each) {
  training_layout const& l = plan.layout;
  split_layer const layer{q.model.hidden, q.model.active_feed_forward(),
                          q.model.heads,  q.model.sequence,
                          l.tensor,       l.sequence_parallel};
  double const parameters = q.model.layer_parameters() / l.tensor;
  stage_memory const m = kept_parameters(parameters, 0, each, parameter_sharing{plan.sharding, l.data});
  return fmt::format(
      "Memory of the first plan, a layer on one device:\n"
      "  parameters {:.4g}: weights {} bytes each, gradients {}, optimizer {} (Rajbhandari et al. "
      "2020), "
      "in shards {}: {} GiB, {} GiB, {} GiB\n"
      "  kept       {:.4g} bytes a micro-batch in flight (Korthikanti et al. 2022, equations 1 to 6, "
      "with "
      "what the attention and fused norms leave)\n"
      "  logits     {} bytes x vocabulary x tokens / tensor = {} GiB on the last stage (values, and 4 "
      "for their gradient)\n",
      parameters, each.weight, each.gradient, each.optimizer, name_of(plan.sharding),
      gib(static_cast<double>(m.weights)), gib(static_cast<double>(m.weight_gradient)),
      gib(static_cast<double>(m.optimizer_state)),
      kept_bytes(layer, l.micro_batch, l.again, q.widths) / plan.sequence_chunks,
      q.model.value_bytes + 4,
      gib((q.model.value_bytes + 4) * q.model.vocabulary * l.micro_batch * q.model.sequence / l.tensor));
}

std::string milliseconds(double seconds) { return fmt::format("{:.3f}", seconds * 1e3); }

// Milliseconds of the first piece of a sequence, and of the last if that takes longer.
std::string milliseconds(double first, double last) {
  std::string const text = milliseconds(first);
  return milliseconds(last) == text ? text : text + "-" + milliseconds(last);
}

}  // namespace

std::string terms_of(plan_study const& s) {
  planned_step const& step = s.answer.best[0];
  plan_question const& q = s.question;
  std::string text;
  if (s.model.lists.empty()) {
    parameter_bytes const each = bytes_of_parameter(q.model.value_bytes);
    for (int k : step.plan.kinds) {
      device_kind const& kind = q.kinds[static_cast<std::size_t>(k)];
      text +=
          fmt::format("Terms of the first plan, a layer and micro-batch, {} at {:.0f} TFLOP/s{}:\n",
                      s.model.precision, kind.machine.flops / 1e12,
                      s.has_kinds() ? " of " + s.cluster.kinds[static_cast<std::size_t>(k)].name : "")
          + pass_terms(q, step.plan, kind);
    }
    text += head_terms(q, step.plan) + link_terms(q, step.plan, each) + memory_terms(q, step.plan, each);
  }
  text += "Stages of the first plan:\n";
  std::vector<std::vector<std::string>> cells{{"stage", "device", "layers", "forward ms", "backward ms",
                                               "message ms", "reduction ms", "weights GiB",
                                               "gradients GiB", "optimizer GiB", "kept GiB"}};
  if (s.has_kinds()) cells[0].emplace_back("kind");
  std::vector<stage_seconds> const all = times_of(q, step.plan);
  memory_model const held = bytes_of(q, step.plan);
  placement const where = placement_of(step.plan);
  auto const pieces = static_cast<std::size_t>(step.plan.sequence_chunks);
  for (std::size_t i = 0; i < held.stages.size(); ++i) {
    stage_memory const& m = held.stages[i];
    stage_seconds const &first = all[i * pieces], &last = all[i * pieces + pieces - 1];
    cells.push_back({std::to_string(i), std::to_string(where.device_of(0, static_cast<int>(i))),
                     std::to_string(step.plan.layers[i]),
                     milliseconds(first.passes.forward, last.passes.forward),
                     milliseconds(first.passes.backward, last.passes.backward), milliseconds(first.send),
                     milliseconds(first.reduction), gib(static_cast<double>(m.weights)),
                     gib(static_cast<double>(m.weight_gradient)),
                     gib(static_cast<double>(m.optimizer_state)), gib(static_cast<double>(m.stash))});
    if (s.has_kinds())
      cells.back().push_back(kind_of_device(s, step.plan, where.device_of(0, static_cast<int>(i))));
  }
  return text + table(cells);
}

}  // namespace tool
