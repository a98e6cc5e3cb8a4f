// The terms of a step, and ways to a better one.
#include "options/lowering_options.hpp"
#include "predict/choices.hpp"
#include "predict/facts_choice.hpp"
#include "predict/layout_words.hpp"
#include "predict/report.hpp"
#include <ashlar/catalog/entry.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/cost/choose/layouts.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace tool {

namespace {

using ashlar::cost::layout;
using ashlar::cost::offloaded_weights;
using ashlar::cost::program_kind;
using ashlar::cost::question;
using ashlar::cost::recomputation;
using ashlar::cost::sharding;

// Whether both run the same program: a change of program is not a matter of sizes.
bool is_same_program(question const& a, question const& b) {
  ashlar::cost::stack const s = stack_of(a), t = stack_of(b);
  return s.program == t.program && s.is_tuned == t.is_tuned;
}

// Spreads the remaining devices over data ranks; false if that is no whole number.
bool spread_data(question& q) {
  long long const below = 1LL * q.layout.tensor * q.layout.pipeline * q.layout.context;
  if (below > q.cluster.device_count() || q.cluster.device_count() % below != 0) return false;
  q.layout.data = static_cast<int>(q.cluster.device_count() / below);
  return true;
}

// The differences of two questions, as options.
std::string options_that_differ(question const& from, question const& to) {
  std::string all;
  auto const add = [&](char const* option, int a, int b) {
    if (a != b) all += fmt::format("{}{} {}", all.empty() ? "" : " ", option, b);
  };
  add("--micro-batch", from.layout.micro_batch, to.layout.micro_batch);
  add("--tensor", from.layout.tensor, to.layout.tensor);
  add("--pipeline", from.layout.pipeline, to.layout.pipeline);
  add("--chunks", from.layout.chunks, to.layout.chunks);
  add("--context", from.layout.context, to.layout.context);
  add("--expert", from.layout.expert, to.layout.expert);
  add("--expert-tensor", from.layout.expert_tensor, to.layout.expert_tensor);
  add("--data", from.layout.data, to.layout.data);
  if (from.layout.sharding != to.layout.sharding)
    all += fmt::format("{}--sharding {}", all.empty() ? "" : " ",
                       word_for(sharding_choices, to.layout.sharding));
  if (from.layout.recompute != to.layout.recompute
      || !(from.layout.recompute_in == to.layout.recompute_in))
    all += fmt::format("{}--recompute {}", all.empty() ? "" : " ",
                       to.layout.recompute == recomputation::full ? "full" : "none");
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
  bool const has_chunks = q.layout.is_usual() || q.layout.published() == nullptr
                          || q.layout.published()->uses(ashlar::parameter::chunk_count)
                          || q.layout.published()->uses(ashlar::parameter::wave_count);
  for (int layout::*size : {&layout::micro_batch, &layout::tensor, &layout::pipeline, &layout::chunks,
                            &layout::context, &layout::expert, &layout::expert_tensor}) {
    bool const is_of_experts = size == &layout::expert || size == &layout::expert_tensor;
    if (is_of_experts && !q.model.has_experts()) continue;
    if (size == &layout::chunks && !has_chunks) continue;
    if (q.layout.*size % 2 == 0) add([&](question& other) { other.layout.*size /= 2; });
    if (q.layout.*size < 1 << 16) add([&](question& other) { other.layout.*size *= 2; });
  }
  for (int chunks = 2; has_chunks && chunks <= 10; ++chunks)
    if (chunks != q.layout.chunks && chunks != 2 * q.layout.chunks && 2 * chunks != q.layout.chunks)
      add([&](question& other) { other.layout.chunks = chunks; });
  for (sharding s : {sharding::none, sharding::optimizer, sharding::full})
    if (s != q.layout.sharding) add([&](question& other) { other.layout.sharding = s; });
  for (recomputation r : {recomputation::none, recomputation::full})
    if (r != q.layout.recompute || !q.layout.recompute_in.are_all())
      add([&](question& other) {
        other.layout.recompute = r;
        other.layout.recompute_in = {};
      });
  return all;
}

}  // namespace

// Whether neighbours can be predicted: no layout is known and nothing was measured for other stages;
// searches take seconds.
bool has_neighbours(prediction const& p) {
  return !p.is_chosen && p.layout.empty() && p.asked.measured.stages.empty()
         && !(p.asked.layout.published() != nullptr && p.asked.layout.published()->is_searched);
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
    } catch (ashlar::cost::unpredictable const&) {  // not every size goes with every other
    } catch (ashlar::violation const&) {            // or with the schedule
    }
  };
  for (question const& once : changed_once(p.asked)) {
    try_change(once);
    if (p.asked.layout.is_executed()) continue;  // twice would take seconds
    for (question const& twice : changed_once(once)) try_change(twice);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](auto const& a, auto const& b) { return a.seconds < b.seconds; });
  if (found.size() > 3) found.resize(3);
  return found;
}

std::vector<named_term> terms_of(prediction const& p) {
  auto const& step = p.answer.step;
  ashlar::cost::pass_terms const sums = sum_of_passes(step);
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
       p.asked.layout.offload.weights == offloaded_weights::none
           ? "of each pass max(0, bytes that leave / host link - pass)"
           : "as `sharding`, with bytes of shards / host link added to each exchange"},
      {"transfer", sums.transfer, "transfers between stages, exposed", "2 T h / t / link + latency"},
      {"host", sums.host, "waits for the host to launch",
       "max(0, parts x host + experts x host_each_expert - device)"},
      {"bubble", step.bubble, "pipeline bubble",
       p.asked.layout.is_executed()
           ? "the step as it is executed, without the passes"
           : "sum over the other devices of their largest chunk's forward and backward"},
      {"stragglers", step.stragglers, "waits for the slowest of many nodes",
       "pipeline x straggler x log2(nodes)"},
      {"data", step.data, "gradient sums and weight gathers, exposed",
       "max(data_exposed x exchange, exchange - passes beside it)"},
      {"optimizer", step.optimizer,
       p.asked.layout.offload.optimizer ? "optimizer on the host, with its copies" : "optimizer",
       p.asked.layout.offload.optimizer
           ? "parameters held x (6 bytes / host link + 30 bytes / bandwidth of the host's memory); with "
             "--offload-weights copies 4 bytes / host link, and with own none"
           : "30 bytes x parameters held / (bandwidth x memory)"},
      {"update", step.update, "host loops of the optimizer",
       "max(0, host_update x layers / stages - what the device has still to do when the host is "
       "through)"},
  };
}

std::string line_of(option_list const& options) {
  std::string line;
  for (auto const& [name, value] : options) {
    line += fmt::format("{}--{}", line.empty() ? "" : " ", name);
    bool const is_quoted = std::string_view(name) == "layout" || value.find('{') == 0;
    if (!value.empty()) line += is_quoted ? " '" + value + "'" : " " + value;
  }
  return line;
}

option_list rank_list(question const& q) {
  option_list all;
  auto const add = [&](char const* option, auto const& value) {
    all.emplace_back(option, fmt::format("{}", value));
  };
  auto const flag = [&](char const* option, bool is_on) {
    if (is_on) all.emplace_back(option, "");
  };
  add("micro-batch", q.layout.micro_batch);
  add("tensor", q.layout.tensor);
  add("pipeline", q.layout.pipeline);
  if (q.layout.chunks > 1) add("chunks", q.layout.chunks);
  flag("ends-as-layers", q.layout.counts_ends);
  if (q.layout.context > 1) add("context", q.layout.context);
  if (q.layout.expert > 1) add("expert", q.layout.expert);
  if (q.layout.expert_tensor > 1) add("expert-tensor", q.layout.expert_tensor);
  add("data", q.layout.data);
  if (q.layout.sharding != sharding::none)
    add("sharding", word_for(sharding_choices, q.layout.sharding));
  if (q.layout.shard_ranks > 0) add("shard-ranks", q.layout.shard_ranks);
  flag("sum-copies-once", q.program.sums_copies_once);
  flag("scatter-once", q.program.scatters_once);
  flag("wide-sums", q.program.sums_in_32_bits);
  if (q.layout.weight_ranks > 0) add("weight-ranks", q.layout.weight_ranks);
  flag("pipeline-inside", q.layout.pipeline_inside);
  if (q.layout.recompute != recomputation::none && !recompute_word(q).empty())
    add("recompute", recompute_word(q));
  if (std::string const word = offload_word(q); word != "none") add("offload-activations", word);
  flag("offload-optimizer", q.layout.offload.optimizer);
  if (q.layout.offload.weights != offloaded_weights::none)
    add("offload-weights", word_for(weights_away_choices, q.layout.offload.weights));
  if (q.program.format != ashlar::cost::number_format::bf16)
    add("precision", word_for(format_choices, q.program.format));
  if (q.program.kind != program_kind::automatic) add("stack", word_for(stack_choices, q.program.kind));
  if (std::string const facts = facts_word(q.program.facts); !facts.empty()) add("fact", facts);
  return all;
}

std::string rank_options(question const& q) { return line_of(rank_list(q)); }

option_list options_list(prediction const& p) {
  question const& q = p.asked;
  option_list all{{"sequence", fmt::format("{}", q.sequence)}, {"batch", fmt::format("{}", q.batch)}};
  bool says_recompute = false;
  for (auto& each : rank_list(q)) {
    says_recompute = says_recompute || std::string_view(each.first) == "recompute";
    all.push_back(std::move(each));
  }
  auto const add = [&](char const* option, std::string const& value) {
    if (!value.empty()) all.emplace_back(option, value);
  };
  if (q.layout.recompute != recomputation::none && !says_recompute) add("recompute", p.recompute);
  if (q.program.attention != ashlar::cost::attention_kernel::automatic)
    add("attention", word_for(attention_choices, q.program.attention));
  if (q.program.sequence_parallel != ashlar::cost::sequence_split::automatic)
    add("sequence-parallel", word_for(split_choices, q.program.sequence_parallel));
  if (q.program.dispatches_8_bits) all.emplace_back("dispatch-fp8", "");
  if (q.program.delays_weights) all.emplace_back("delay-weights", "");
  if (q.program.frozen_forwards > 0)
    all.emplace_back("frozen-forwards", fmt::format("{}", q.program.frozen_forwards));
  if (q.program.holds_frozen_copy) all.emplace_back("frozen-copy", "");
  add("teacher", p.teacher);
  add("layout", p.layout);
  add("head", p.head);
  add("freeze", p.freeze);
  add("tower-tokens", p.tower_tokens);
  add("tower-ranks", p.tower_ranks);
  add("train-only", p.train_only);
  add("lora", p.lora);
  add("frozen-weights", p.frozen_weights);
  add("optimizer", p.optimizer);
  add("schedule", p.schedule);
  if (q.layout.lanes) add("lanes", word_for(lane_choices, *q.layout.lanes));
  return all;
}

std::string options_of(prediction const& p) { return line_of(options_list(p)); }

}  // namespace tool
