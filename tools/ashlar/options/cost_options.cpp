#include "options/cost_options.hpp"

#include "command.hpp"
#include "options/effects.hpp"
#include "options/limits.hpp"
#include "options/number_option.hpp"
#include "report/counted.hpp"

#include <fmt/ranges.h>

#include <cstddef>
#include <utility>

namespace tool {

CLI::Option* add_costs_file(CLI::App& command, cost_options& o) {
  return command
      .add_option_function<std::string>(
          "--costs", [&o](std::string const& path) { o.measured = read_costs(path); },
          "costs that `ashlar profile` has measured: of each stage, of links, of sums, and what passes "
          "consist of where that is known; or what PyTorch's profiler saw: the trace of a rank, or a "
          "folder with one of each")
      ->type_name("FILE");
}

void add_cost_options(CLI::App& command, cost_options& o, char const* of) {
  auto* const costs = add_costs_file(command, o);
  auto* const per_stage =
      command
          .add_option_function<std::string>(
              "--per-stage",
              [&o](std::string const& path) {
                o.per_stage = path;
                o.each = read_passes(path);
              },
              "costs of each stage, one line per stage: `forward,backward_input,backward_weight`; where "
              "the chunks of sequences differ, one per stage and chunk, those of a stage one after the "
              "other; lines that begin with # are comments")
          ->type_name("FILE")
          ->excludes(costs);
  auto* const per_micro_batch =
      command
          .add_option_function<std::string>(
              "--per-micro-batch",
              [&o](std::string const& path) {
                o.per_micro_batch = path;
                for (sized_line& line : read_per_micro_batch(path)) {
                  o.each.push_back(std::move(line.times));
                  if (!line.sizes.empty()) o.sizes.push_back(std::move(line.sizes));
                }
              },
              "costs of each micro-batch, one line per micro-batch, the same for all stages; or one per "
              "stage and micro-batch, those of a stage one after the other: "
              "`forward,backward_input,backward_weight`, and `,message,stash` where bytes count")
          ->type_name("FILE")
          ->excludes(costs)
          ->excludes(per_stage);
  auto const time = [&](char const* flag, long long least, std::string const& help) {
    return add_duration(command, flag, o.times, least, help.c_str())->excludes(costs);
  };
  time("--forward", 0,
       fmt::format("the forward of {}: ticks (default: 1), 1.5, or with a unit, 12.5ms, us, ns, s", of))
      ->excludes(per_stage)
      ->excludes(per_micro_batch);
  time("--backward-input", 0, "the gradient of its input (default: 1)")
      ->excludes(per_stage)
      ->excludes(per_micro_batch);
  time("--backward-weight", 0, "the gradient of its weights (default: 1); fused: the sum")
      ->excludes(per_stage)
      ->excludes(per_micro_batch);
  time("--transfer", 0, "a transfer from one device to another (default: 0)");
  time("--overlapped", 0, "a forward and a backward that run as an overlapped pair (default: the sum)");
  add_numbers(command, "--speeds", o.speeds, 1, most_percent,
              "speed of each device in percent of the speed for which costs are given: 100,100,50,100")
      ->type_name("PERCENT");
  add_numbers(
      command, "--causal", o.causal, 0, 100,
      "percent of a forward and of an input pass over a whole sequence that is causal attention, "
      "one number or two: 30,46; later sequence chunks take longer (default: 0)")
      ->type_name("PERCENT");
}

ashlar::causal_share causal_share_of(std::vector<int> const& causal) {
  if (causal.empty()) return {};
  if (causal.size() > 2)
    throw usage_error(
        "--causal gives a percentage of forwards and one of input passes, or one for both");
  return {causal.front(), causal.back()};
}

ashlar::part_costs parts_of(cost_options const& o) {
  return o.measured ? o.measured->parts : ashlar::part_costs{};
}

namespace {

// The scale of the costs as they are given.
time_scale plain_scale_of(cost_options const& o) {
  if (o.measured) return o.measured->scale;
  std::vector<duration> all;
  for (char const* const flag :
       {"--forward", "--backward-input", "--backward-weight", "--transfer", "--overlapped"})
    if (auto const found = o.times.find(flag); found != o.times.end()) all.push_back(found->second);
  for (stage_durations const& stage : o.each)
    for (duration const& d : stage) all.push_back(d);
  for (auto const& [flag, d] : o.others) all.push_back(d);
  return scale_of(all);
}

ashlar::pass_costs passes_of(cost_options const& o, std::vector<ashlar::stage_cost> each, long long m,
                             int sequence_chunks) {
  if (o.per_micro_batch.empty()) return each;
  if (sequence_chunks > 1)
    throw usage_error("--per-micro-batch has no effect on sequences in chunks, which have passes each");
  auto const lines = static_cast<long long>(each.size());
  if (lines % m != 0)
    throw usage_error(
        fmt::format("'{}' has {} lines, but there are {}: give one for each, or one for "
                    "each on each stage",
                    o.per_micro_batch, lines, counted(m, "micro-batch")));
  return ashlar::pass_costs::by_stage_and_micro_batch(std::move(each), static_cast<int>(m));
}

ashlar::finer_costs in_chunks(cost_options const& o, ashlar::costs mean, int sequence_chunks) {
  return with_causal_chunks(std::move(mean), sequence_chunks, causal_share_of(o.causal));
}

}  // namespace

time_scale scale_of(cost_options const& o, int sequence_chunks) {
  time_scale scale = plain_scale_of(o);
  scale.ticks_per_unit *= in_chunks(o, {}, sequence_chunks).unit;
  return scale;
}

std::string words_of(cost_options const& o) {
  time_scale const scale = plain_scale_of(o);
  cost_options times = o;
  times.speeds.clear();
  times.per_micro_batch.clear();
  ashlar::costs const cost = costs_of(times, 1, 1);
  ashlar::stage_cost const& c = cost.passes.of(0);
  std::string words = !o.per_micro_batch.empty() ? "costs of each micro-batch"
                      : o.stages_from().empty()
                          ? fmt::format("forward {}, backward {} + {}", scale.number(c.forward),
                                        scale.number(c.backward_input), scale.number(c.backward_weight))
                          : fmt::format("costs of {}", counted(stages_in(cost), "part"));
  words += fmt::format(", transfer {}", scale.number(cost.on.links.inside.time_of(cost.message)));
  if (ashlar::pair_costs const& pairs = cost.passes.overlapped; pairs.are_given())
    words += pairs.stages() == 0 ? fmt::format(", overlapped {}", scale.number(pairs.longest()))
                                 : ", overlapped by their parts";
  if (!scale.unit.empty()) words += " " + scale.unit;
  if (!o.speeds.empty()) words += fmt::format("; speeds {} %", fmt::join(o.speeds, ", "));
  if (!o.causal.empty()) words += fmt::format("; {} % causal", fmt::join(o.causal, ", "));
  return words;
}

ashlar::costs costs_of(cost_options const& o, long long p, long long m, int sequence_chunks) {
  if (!o.speeds.empty() && static_cast<long long>(o.speeds.size()) != p)
    throw usage_error(fmt::format("--speeds has speeds of {}, but there are {}",
                                  counted(static_cast<long long>(o.speeds.size()), "device"),
                                  counted(p, "device")));
  if (o.measured) {
    ashlar::costs cost = o.measured->cost;
    cost.on.speeds = o.speeds;
    return in_chunks(o, std::move(cost), sequence_chunks).cost;
  }
  time_scale const scale = plain_scale_of(o);
  auto const time = [&](char const* flag, ashlar::tick otherwise) {
    auto const found = o.times.find(flag);
    return found == o.times.end() ? otherwise : ticks_of(found->second, scale);
  };
  ashlar::tick const unit = scale.ticks_per_unit;
  std::vector<ashlar::stage_cost> stages;
  for (stage_durations const& stage : o.each)
    stages.push_back({.forward = ticks_of(stage[0], scale),
                      .backward_input = ticks_of(stage[1], scale),
                      .backward_weight = ticks_of(stage[2], scale)});
  if (stages.empty())
    stages.push_back({.forward = time("--forward", unit),
                      .backward_input = time("--backward-input", unit),
                      .backward_weight = time("--backward-weight", unit)});
  ashlar::costs cost(passes_of(o, std::move(stages), m, sequence_chunks), time("--transfer", 0));
  cost.passes.overlapped = time("--overlapped", ashlar::pass_costs::one_after_the_other);
  cost.on.speeds = o.speeds;
  return in_chunks(o, std::move(cost), sequence_chunks).cost;
}

ashlar::memory_model with_sizes(ashlar::stage_memory const& stage, cost_options const& o, long long m,
                                CLI::App const& command) {
  ashlar::memory_model made{.stages = {stage}};
  if (o.sizes.empty()) return made;
  for (char const* const flag : {"--bytes", "--stash-bytes", "--per-stage-bytes"})
    if (is_given(command, flag))
      throw usage_error(
          fmt::format("{} has no effect: '{}' has the messages and stashes", flag, o.per_micro_batch));
  made = {.stages = {}, .micro_batches = static_cast<int>(m)};
  for (std::vector<ashlar::byte_count> const& line : o.sizes) {
    ashlar::stage_memory& own = made.stages.emplace_back(stage);
    own.activation = own.gradient = line[0];
    own.stash = line[1];
    if (own.stash_left != ashlar::stage_memory::all)
      must_be_between("--stash-left-bytes", own.stash_left, 0, own.stash);
  }
  return made;
}

void split_by_sequence_chunk(ashlar::costs& cost, int stage_count, int sequence_chunks) {
  int const q = sequence_chunks;
  if (q == 1 || cost.passes.period() != 1 || cost.passes.stages() != q * stage_count) return;
  std::vector<ashlar::stage_cost> each;
  cost.passes.for_each([&](int, int, ashlar::stage_cost const& c) { each.push_back(c); });
  ashlar::pair_costs const overlapped = cost.passes.overlapped;
  cost.passes = ashlar::pass_costs::by_stage_and_sequence_chunk(std::move(each), q);
  cost.passes.overlapped = overlapped;
}

void must_be_of_stages(cost_options const& o, ashlar::costs const& cost, int stage_count) {
  int const given = cost.passes.stages();
  if (!o.per_micro_batch.empty() && given != 0 && given != stage_count)
    throw usage_error(fmt::format("'{}' has costs of {} on {}, but there are {} stages",
                                  o.per_micro_batch, counted(cost.passes.micro_batches(), "micro-batch"),
                                  counted(given, "stage"), stage_count));
}

int stages_in(ashlar::costs const& cost) { return std::max(1, cost.passes.stages()); }

void must_leave_chunks_to_causal(cost_options const& o, int stage_count, int sequence_chunks) {
  if (o.causal.empty() || o.stages_from().empty()) return;
  int const given = o.measured ? stages_in(o.measured->cost) : static_cast<int>(o.each.size());
  if (sequence_chunks > 1 && given == sequence_chunks * stage_count)
    throw usage_error(chunks_have_costs);
}

}  // namespace tool
