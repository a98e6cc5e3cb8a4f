#include "options/layer_options.hpp"

#include "command.hpp"
#include "report/counted.hpp"
#include <ashlar/plan/parts/partition.hpp>
#include <ashlar/render/diagnosis.hpp>

#include <fmt/core.h>

#include <utility>

namespace tool {

void add_layer_options(CLI::App& command, layer_options& o, cost_options& cost) {
  auto* const file =
      command
          .add_option_function<std::string>(
              "--per-layer",
              [&](std::string const& path) {
                o.path = path;
                o.lines = read_per_layer(path);
                for (sized_line const& layer : o.lines)
                  for (duration const& time : layer.times)
                    cost.others[time.given_by + std::to_string(cost.others.size())] = time;
              },
              "costs of each layer, one line per layer: `forward,backward_input,backward_weight`, for "
              "--limit-bytes with `,resident,stash`; the search also looks for which layers a stage has")
          ->type_name("FILE");
  for (char const* const flag :
       {"--costs", "--per-stage", "--per-micro-batch", "--forward", "--backward-input",
        "--backward-weight", "--limit", "--stash-bytes", "--stash-left-bytes", "--weight-bytes",
        "--gradient-bytes", "--optimizer-bytes", "--per-stage-bytes", "--start"})
    file->excludes(command.get_option(flag));
}

namespace {

// Refuses costs that are too many to add up before they are added up.
void must_add_up(ashlar::layout_choice const& c) {
  ashlar::search_problem const& problem = c.problem;
  if (auto const d = ashlar::check(problem.cost, problem.where.stage_count(),
                                   problem.where.device_count(), problem.m.value, 1);
      !d.ok())
    throw usage_error(ashlar::explain(d));
}

}  // namespace

void must_suit(layer_options const& layers, limit_options const& limit) {
  if (layers.path.empty()) return;
  bool const sized = !layers.lines[0].sizes.empty();
  if (sized && limit.bytes.empty())
    throw usage_error(fmt::format("'{}' has sizes of layers, which are for --limit-bytes", layers.path));
  if (!sized && !limit.bytes.empty())
    throw usage_error(
        fmt::format("--limit-bytes needs sizes of layers; '{}' has times alone", layers.path));
}

std::vector<ashlar::layout_choice> layered_layouts_of(layer_options const& layers,
                                                      layout_options const& model,
                                                      limit_options const& limit) {
  time_scale const scale = scale_of(model);
  ashlar::costs const cost = costs_of(model);
  ashlar::layer_chain chain{.m = ashlar::micro_batches{static_cast<int>(model.m)},
                            .layers = {},
                            .on = cost.on,
                            .message = cost.message,
                            .budget = limit.bytes};
  ashlar::byte_count stashes = 0;
  for (sized_line const& line : layers.lines) {
    ashlar::layer_share layer{.cost = {.forward = ticks_of(line.times[0], scale),
                                       .backward_input = ticks_of(line.times[1], scale),
                                       .backward_weight = ticks_of(line.times[2], scale)}};
    if (!line.sizes.empty()) {
      layer.resident = line.sizes[0];
      layer.stash = line.sizes[1];
    }
    stashes = ashlar::saturating_sum(stashes, layer.stash);
    chain.layers.push_back(layer);
  }
  if (limit.bytes.empty())
    chain.budget = {part_of(read_memory("--memory", limit.memory), stashes)};
  else
    must_be_one_or_each("--limit-bytes", limit.bytes.size(), static_cast<int>(model.p));
  int const layer_count = static_cast<int>(layers.lines.size());
  std::vector<ashlar::layout_choice> all;
  for (ashlar::layout_choice const& plain : layouts_of(model)) {
    int const stage_count = plain.problem.where.stage_count();
    if (stage_count > layer_count) continue;
    must_add_up(ashlar::with_layers(chain, plain, ashlar::uniform_partition(layer_count, stage_count),
                                    ashlar::layer_division::even));
    for (ashlar::layout_choice& c : ashlar::divisions_of(chain, plain)) {
      c.unit = scale.ticks_per_unit;
      all.push_back(std::move(c));
    }
  }
  if (all.empty())
    throw usage_error(fmt::format("'{}' has {}: too few for a stage on each of {}", layers.path,
                                  counted(static_cast<long long>(layers.lines.size()), "layer"),
                                  counted(model.p, "device")));
  return all;
}

std::string words_of_layers(std::vector<int> const& sizes) {
  std::string words;
  int first = 0;
  for (int const size : sizes) {
    words += fmt::format("{}{}", words.empty() ? "" : " | ", first);
    if (size > 1) words += fmt::format("-{}", first + size - 1);
    first += size;
  }
  return words;
}

}  // namespace tool
