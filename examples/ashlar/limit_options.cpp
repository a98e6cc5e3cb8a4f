#include "limit_options.hpp"

#include "byte_options.hpp"
#include "command.hpp"
#include "limits.hpp"
#include "number_option.hpp"
#include "per_stage.hpp"
#include "table.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tool {

namespace {

// What the stages of the layout take, one entry if they are alike.
std::vector<ashlar::stage_memory> memory_of(ashlar::layout_choice const& c, limit_options const& o,
                                            bool divided) {
  if (!o.per_stage.empty()) {
    std::vector<ashlar::stage_memory> each = read_per_stage_bytes(o.per_stage);
    if (static_cast<int>(each.size()) != c.problem.where.stage_count())
      throw usage_error(fmt::format("'{}' has sizes of {} stages, but {} on {} devices has {} stages",
                                    o.per_stage, each.size(), layout_name(c),
                                    c.problem.where.device_count(), c.problem.where.stage_count()));
    return each;
  }
  ashlar::stage_bytes const& b = o.stage;
  auto const part = [&](ashlar::byte_count size) {
    return ashlar::share_of(size, divided ? c.chunk_count : 1);
  };
  return {{.resident = part(b.weights) + part(b.weight_gradient) + part(b.optimizer_state),
           .stash = part(b.stash),
           .left = o.left == ashlar::stage_memory::all ? o.left : part(o.left)}};
}

void must_be_one_or_each(char const* option, std::size_t given, int device_count) {
  if (given != 1 && given != static_cast<std::size_t>(device_count))
    throw usage_error(
        fmt::format("{} gives {} limits; there must be 1 for all devices, or 1 for each of {}", option,
                    given, device_count));
}

// All devices' entries, if they are alike the one. Chunk activations may be parts of one where chunks
// recompute or sequences are cut.
std::vector<double> entries_of(ashlar::layout_choice const& c, limit_options const& o) {
  std::vector<double> all(o.bytes.begin(), o.bytes.end());
  if (o.bytes.empty())
    for (std::int64_t const n : c.problem.limit.of_device)
      all.push_back(static_cast<double>(n) / static_cast<double>(c.memory_unit));
  if (std::equal(all.begin() + 1, all.end(), all.begin())) all.resize(1);
  return all;
}

}  // namespace

void add_limit_options(CLI::App& command, limit_options& o) {
  auto* const limit =
      add_numbers(command, "--limit", o.activations, 1, most_activations,
                  "chunk activations that a device may hold; or one number a device: 8,8,6,6");
  auto* const memory =
      command
          .add_option("--memory", o.memory,
                      "what a device may hold, as a share of 1F1B's activations: 0.5 or 50%")
          ->type_name("SHARE")
          ->capture_default_str()
          ->excludes(limit);
  auto* const bytes =
      command
          .add_option_function<std::string>(
              "--limit-bytes",
              [&o](std::string const& text) {
                o.bytes = read_list("--limit-bytes", text, [](std::string_view one) {
                  return read_bytes("--limit-bytes", std::string(one));
                });
              },
              "memory of a device, 80GiB; or one number a device; without that of messages")
          ->type_name("BYTES")
          ->excludes(limit)
          ->excludes(memory);
  std::vector<CLI::Option*> sizes = add_stage_bytes(command, o.stage);
  sizes.push_back(add_bytes(command, "--stash-left-bytes", o.left,
                            "what of a stash stays from the input to the weight pass (default: all)"));
  auto* const per_stage =
      command
          .add_option("--per-stage-bytes", o.per_stage,
                      "sizes of each stage: a line a stage, `resident,stash` or `resident,stash,left`; "
                      "resident is what lies there all the time")
          ->type_name("FILE")
          ->needs(bytes);
  for (CLI::Option* const size : sizes) size->needs(bytes)->excludes(per_stage);
}

void must_suit(limit_options const& o, std::string const& placement) {
  if (!o.activations.empty() && placement == "any")
    throw usage_error(
        "--limit counts chunks, which --placement any has of several sizes; take --memory, "
        "--limit-bytes or a placement");
  if (!o.per_stage.empty() && placement == "any")
    throw usage_error("--per-stage-bytes names the stages of one placement; say which with --placement");
  if (o.bytes.empty() || !o.per_stage.empty()) return;
  if (o.stage.stash == 0)
    throw usage_error("--limit-bytes needs --stash-bytes of 1 or more, or --per-stage-bytes");
  if (o.left != ashlar::stage_memory::all) must_lie("--stash-left-bytes", o.left, 0, o.stage.stash);
}

std::vector<ashlar::layout_choice> limited(ashlar::layout_choice c, limit_options const& o,
                                           ashlar::variety const& how, bool divided) {
  int const p = c.problem.where.device_count();
  if (!o.bytes.empty()) {
    must_be_one_or_each("--limit-bytes", o.bytes.size(), p);
    c.problem.limit = ashlar::limit_in_bytes(c.problem.where, memory_of(c, o, divided), o.bytes);
  } else if (!o.activations.empty()) {
    must_be_one_or_each("--limit", o.activations.size(), p);
    c.problem.limit.of_device.assign(o.activations.begin(), o.activations.end());
  }
  std::vector<ashlar::layout_choice> all = ashlar::variants_of(c, how);
  if (o.bytes.empty() && o.activations.empty())
    for (ashlar::layout_choice& v : all)
      v.problem.limit.of_device = {limit_of(v, read_memory("--memory", o.memory))};
  return all;
}

std::optional<shortfall> shortfall_of(ashlar::layout_choice const& c, limit_options const& o) {
  ashlar::memory_limit const& limit = c.problem.limit;
  ashlar::diagnosis const d = ashlar::check(c.problem);
  if (d.ok()) return std::nullopt;
  int const first = d.first.device;
  if (o.bytes.empty()) {
    double const share = share_of(c, static_cast<double>(d.number));
    auto const activations = [&](std::int64_t memory) {
      return static_cast<double>(memory) / static_cast<double>(c.memory_unit);
    };
    return shortfall{
        fmt::format("{}: number of chunk activations on device {} must be at least {:g}, "
                    "not {:g}; that is {} % of what 1F1B holds",
                    layout_name(c), first, activations(d.number), activations(d.given), percent(share)),
        share};
  }
  // What lies there all the time is what was taken off the limit. Of all devices, the one that needs
  // most says how much would do for all.
  auto const given = [&](int device) {
    return o.bytes[o.bytes.size() == 1 ? 0 : static_cast<std::size_t>(device)];
  };
  auto const resident = [&](int device) { return given(device) - limit.on(device) / c.memory_unit; };
  auto const needed = [&](int device) {
    std::int64_t const least =
        ashlar::smallest_memory_limit(c.problem.where, limit, device, c.sequence_chunks);
    return resident(device) + (least + c.memory_unit - 1) / c.memory_unit;
  };
  ashlar::byte_count most = 0;
  for (int device = 0; device < c.problem.where.device_count(); ++device)
    most = std::max(most, needed(device));
  return shortfall{
      fmt::format(
          "{}: device {} needs {} ({} of weights, gradients and optimizer state, {} of one "
          "micro-batch), but --limit-bytes gives it {}; the smallest limit for all devices is {}",
          layout_name(c), first, text_of_bytes(needed(first)), text_of_bytes(resident(first)),
          text_of_bytes(needed(first) - resident(first)), text_of_bytes(given(first)),
          text_of_bytes(most)),
      static_cast<double>(most)};
}

std::string words_of_limit(ashlar::layout_choice const& c, limit_options const& o) {
  std::string words;
  for (double const n : entries_of(c, o))
    words += (words.empty() ? "" : ",")
             + (o.bytes.empty() ? fmt::format("{:g}", n) : text_of_bytes(std::llround(n)));
  return words;
}

nlohmann::ordered_json json_of_limit(ashlar::layout_choice const& c, limit_options const& o) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (double const n : entries_of(c, o))
    all.push_back(n == std::floor(n) ? nlohmann::ordered_json(std::llround(n))
                                     : nlohmann::ordered_json(n));
  return all.size() == 1 ? all[0] : all;
}

double share_of_limit(ashlar::layout_choice const& c) {
  ashlar::search_problem const& problem = c.problem;
  ashlar::memory_limit all_kept = problem.limit;
  all_kept.kept = all_kept.activation;
  double most = 0;
  int const p = problem.where.device_count();
  for (int device = 0; device < p; ++device) {
    std::int64_t const one =
        ashlar::smallest_memory_limit(problem.where, all_kept, device, c.sequence_chunks);
    most = std::max(most, static_cast<double>(problem.limit.on(device)) / static_cast<double>(one));
  }
  return most / p;
}

}  // namespace tool
