// The terms of a step, and ways to a better one.
#include "predict/choices.hpp"
#include "predict/layout_words.hpp"
#include "predict/report.hpp"
#include <ashlar/catalog/entry.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/predict/layouts.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace tool {

namespace {

using ashlar::predict::program_kind;
using ashlar::predict::question;
using ashlar::predict::recomputation;
using ashlar::predict::sharding;

// Whether both run the same program: a change of program is not a matter of sizes.
bool is_same_program(question const& a, question const& b) {
  ashlar::predict::stack const s = stack_of(a), t = stack_of(b);
  return s.is_sharded == t.is_sharded && s.is_classic == t.is_classic && s.is_plain == t.is_plain
         && s.is_tuned == t.is_tuned;
}

// Spreads the remaining devices over data ranks; false if that is no whole number.
bool spread_data(question& q) {
  long long const below = 1LL * q.tensor * q.pipeline * q.context;
  if (below > q.devices || q.devices % below != 0) return false;
  q.data = static_cast<int>(q.devices / below);
  return true;
}

// The differences of two questions, as options.
std::string options_that_differ(question const& from, question const& to) {
  std::string all;
  auto const add = [&](char const* option, int a, int b) {
    if (a != b) all += fmt::format("{}{} {}", all.empty() ? "" : " ", option, b);
  };
  add("--micro-batch", from.micro_batch, to.micro_batch);
  add("--tensor", from.tensor, to.tensor);
  add("--pipeline", from.pipeline, to.pipeline);
  add("--chunks", from.chunks, to.chunks);
  add("--context", from.context, to.context);
  add("--expert", from.expert, to.expert);
  add("--expert-tensor", from.expert_tensor, to.expert_tensor);
  add("--data", from.data, to.data);
  if (from.shares != to.shares)
    all += fmt::format("{}--sharding {}", all.empty() ? "" : " ", word_for(sharding_choices, to.shares));
  if (from.again != to.again || !(from.again_in == to.again_in))
    all += fmt::format("{}--recompute {}", all.empty() ? "" : " ",
                       to.again == recomputation::full ? "full" : "none");
  return all;
}

// Changes each size once by 2, and once what is shared and what is run again.
std::vector<question> changed_once(question const& q) {
  std::vector<question> all;
  auto const add = [&](auto change) {
    question other = q;
    change(other);
    if (spread_data(other)) all.push_back(other);
  };
  bool const has_chunks = q.published == nullptr || q.published->uses(ashlar::parameter::chunk_count)
                          || q.published->uses(ashlar::parameter::wave_count);
  for (int question::*size :
       {&question::micro_batch, &question::tensor, &question::pipeline, &question::chunks,
        &question::context, &question::expert, &question::expert_tensor}) {
    bool const is_of_experts = size == &question::expert || size == &question::expert_tensor;
    if (is_of_experts && !q.model.has_experts()) continue;
    if (size == &question::chunks && !has_chunks) continue;
    if (q.*size % 2 == 0) add([&](question& other) { other.*size /= 2; });
    if (q.*size < 1 << 16) add([&](question& other) { other.*size *= 2; });
  }
  for (int chunks = 2; has_chunks && chunks <= 10; ++chunks)
    if (chunks != q.chunks && chunks != 2 * q.chunks && 2 * chunks != q.chunks)
      add([&](question& other) { other.chunks = chunks; });
  for (sharding s : {sharding::none, sharding::optimizer, sharding::full})
    if (s != q.shares) add([&](question& other) { other.shares = s; });
  for (recomputation r : {recomputation::none, recomputation::full})
    if (r != q.again || !q.again_in.are_all())
      add([&](question& other) {
        other.again = r;
        other.again_in = {};
      });
  return all;
}

}  // namespace

// Whether neighbours can be predicted: no layout is known and nothing was measured for other stages;
// searches take seconds.
bool has_neighbours(prediction const& p) {
  return !p.is_chosen && p.layout->empty() && p.asked.measured.empty()
         && !(p.asked.published != nullptr && p.asked.published->is_searched);
}

std::vector<neighbour> neighbours_of(prediction const& p) {
  std::vector<neighbour> found;
  if (!has_neighbours(p)) return found;
  auto const try_change = [&](question const& q) {
    try {
      if (!is_usual(q) || !is_same_program(p.asked, q)) return;
      auto const a = predict_run(q, p.constants.values, p.constants.around);
      std::string const change = options_that_differ(p.asked, q);
      bool const is_better = !p.answer.fits || a.step.seconds < 0.99 * p.answer.step.seconds;
      for (neighbour const& other : found)
        if (other.change == change) return;
      if (a.fits && is_better && !change.empty()) found.push_back({change, a.step.seconds, a.peak});
    } catch (ashlar::predict::unpredictable const&) {  // not every size goes with every other
    } catch (ashlar::violation const&) {               // or with the schedule
    }
  };
  for (question const& once : changed_once(p.asked)) {
    try_change(once);
    if (p.asked.is_executed()) continue;  // twice would take seconds
    for (question const& twice : changed_once(once)) try_change(twice);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](auto const& a, auto const& b) { return a.seconds < b.seconds; });
  if (found.size() > 3) found.resize(3);
  return found;
}

std::vector<named_term> terms_of(prediction const& p) {
  auto const& step = p.answer.step;
  ashlar::predict::pass_terms const sums = sum_of_passes(step);
  return {
      {"measured", sums.measured, "passes, as they were measured", "the median of each stage's passes"},
      {"products", sums.products, "products of matrices",
       "2 k (m n + wave x tile x units) / (peak x products) + traffic x bytes / (bandwidth x memory)"},
      {"attention", sums.attention, "scores and their use",
       "scores (4 head / (peak x attention) + 1 / exponentials), backward 10 head"},
      {"scan", sums.scan, "state-space layers", "scan_bytes x channels x tokens / (bandwidth x memory)"},
      {"bytes", sums.bytes, "norms, activations, rotations, casts, loss",
       "bytes moved / (bandwidth x memory)"},
      {"tensor", sums.tensor, "tensor exchanges, exposed",
       "count x (2 T h (t - 1) / t / link, over several domains also / ports, + latency) x "
       "tensor_exposed"},
      {"expert", sums.expert, "experts' dispatch and combine, exposed",
       "2 (max(inside, outside) + latency), and gathers between expert-tensor ranks, without what pairs "
       "hide"},
      {"context", sums.context, "context exchange, exposed",
       "max(0, ring - attention (c - 1) / c) + c x latency"},
      {"sharding", sums.sharding, "weight gathers and gradient scatters, exposed",
       "max(pass, exchange) + contention x min(pass, exchange) - pass"},
      {"offload", sums.offload, "copies to the host and back, exposed",
       "of each pass max(0, bytes that leave / host link - pass)"},
      {"transfer", sums.transfer, "transfers between stages, exposed", "2 T h / t / link + latency"},
      {"host", sums.host, "waits for the host to launch",
       "max(0, parts x host + experts x host_each_expert - device)"},
      {"bubble", step.bubble, "pipeline bubble",
       p.asked.is_executed()
           ? "the step as it is executed, without the passes"
           : "sum over the other devices of their largest chunk's forward and backward"},
      {"stragglers", step.stragglers, "waits for the slowest of many nodes",
       "pipeline x straggler x log2(nodes)"},
      {"data", step.data, "gradient sums and weight gathers, exposed",
       "max(data_exposed x exchange, exchange - passes beside it)"},
      {"optimizer", step.optimizer,
       p.asked.leaves.optimizer ? "optimizer on the host, with its copies" : "optimizer",
       p.asked.leaves.optimizer
           ? "parameters held x (6 bytes / host link + 30 bytes / bandwidth of the host's memory)"
           : "30 bytes x parameters held / (bandwidth x memory)"},
      {"update", step.update, "host loops of the optimizer",
       "max(0, host_update x layers / stages - what the device has still to do when the host is "
       "through)"},
  };
}

std::string rank_options(question const& q) {
  std::string all =
      fmt::format("--micro-batch {} --tensor {} --pipeline {}", q.micro_batch, q.tensor, q.pipeline);
  auto const add = [&](char const* option, auto const& value) {
    all += fmt::format(" {} {}", option, value);
  };
  if (q.chunks > 1) add("--chunks", q.chunks);
  if (q.counts_ends) all += " --ends-as-layers";
  if (q.context > 1) add("--context", q.context);
  if (q.expert > 1) add("--expert", q.expert);
  if (q.expert_tensor > 1) add("--expert-tensor", q.expert_tensor);
  add("--data", q.data);
  if (q.shares != sharding::none) add("--sharding", word_for(sharding_choices, q.shares));
  if (q.shard_ranks > 0) add("--shard-ranks", q.shard_ranks);
  if (q.sums_copies_once) all += " --sum-copies-once";
  if (q.weight_ranks > 0) add("--weight-ranks", q.weight_ranks);
  if (q.pipeline_inside) all += " --pipeline-inside";
  if (q.again != recomputation::none && !recompute_word(q).empty())
    add("--recompute", recompute_word(q));
  if (std::string const word = offload_word(q); word != "none") add("--offload-activations", word);
  if (q.leaves.optimizer) all += " --offload-optimizer";
  if (q.format != ashlar::predict::number_format::bf16)
    add("--precision", word_for(format_choices, q.format));
  if (q.program != program_kind::automatic) add("--stack", word_for(stack_choices, q.program));
  return all;
}

std::string options_of(prediction const& p) {
  question const& q = p.asked;
  std::string all = fmt::format("--sequence {} --batch {} {}", q.sequence, q.batch, rank_options(q));
  auto const add = [&](char const* option, auto const& value) {
    all += fmt::format(" {} {}", option, value);
  };
  if (q.again != recomputation::none && all.find("--recompute") == std::string::npos)
    add("--recompute", p.recompute);
  if (q.attention != ashlar::predict::attention_kernel::automatic)
    add("--attention", word_for(attention_choices, q.attention));
  if (q.splits != ashlar::predict::sequence_split::automatic)
    add("--sequence-parallel", word_for(split_choices, q.splits));
  if (q.dispatches_8_bits) all += " --dispatch-fp8";
  if (q.delays_weights) all += " --delay-weights";
  if (!p.layout->empty()) add("--layout", fmt::format("'{}'", *p.layout));
  if (!p.freeze.empty()) add("--freeze", p.freeze);
  if (!p.schedule.empty()) add("--schedule", p.schedule);
  return all;
}

}  // namespace tool
