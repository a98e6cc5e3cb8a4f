// ashlar show: a schedule's picture and its numbers.
#include "command.hpp"
#include "options/byte_options.hpp"
#include "options/effects.hpp"
#include "options/lowering_options.hpp"
#include "options/number_option.hpp"
#include "options/offload_options.hpp"
#include "options/placement_name.hpp"
#include "options/placement_option.hpp"
#include "options/shape_options.hpp"
#include "report/certificates.hpp"
#include "report/counted.hpp"
#include "report/proved_gap.hpp"
#include "report/table.hpp"
#include "report/terminal.hpp"
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/render/text.hpp>
#include <ashlar/render/text_graph.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/relocate.hpp>
#include <ashlar/views.hpp>

#include <fmt/core.h>
#include <range/v3/algorithm/count_if.hpp>
#include <range/v3/numeric/accumulate.hpp>
#include <range/v3/range/primitives.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

struct show_options {
  shape_options shape;
  lowering_options lowering;
  host_options host;
  ashlar::byte_count stash = 0;  // for the time of copies
  bool block = false;
  std::string placement = {};
  std::string colour = "auto";
  int width = -1;
  std::string certificate = {};
};

// Prints how far the schedule is above a lower bound for all schedules of its passes. Returns whether it
// reaches the bound.
bool print_bound(ashlar::schedule const& s, time_scale const& scale) {
  using namespace ashlar;
  phase_line at;
  at.say("bounding it");
  std::optional<bound> const least = schedule_bound(s);
  at.end();
  if (!least) {
    fmt::print("bound        none\n");
    return false;
  }
  bound const& b = *least;
  fmt::print("bound        {} of makespan ({}), {} of span ({}), with {}\n", scale.words(b.makespan),
             name_of(b.makespan_by), scale.words(b.span), name_of(b.span_by),
             has_workload(s)
                 ? fmt::format("up to {} per device", counted(peak_of_all(s), "chunk activation"))
                 : "any memory");
  fmt::print("gap          {:.2f} % of makespan, {:.2f} % of span\n",
             100 * proved_gap(makespan(s), b.makespan), 100 * proved_gap(span(s), b.span));
  return makespan(s) == b.makespan && span(s) == b.span;
}

// Prints what a short search gains within the same memory, if anything.
void print_gain(ashlar::schedule const& s, time_scale const& scale) {
  using namespace ashlar;
  constexpr long long passes = 1'000'000, least_evaluations = 20;
  auto const size = static_cast<long long>(pass_count(s));
  if (!can_be_improved(s) || size > passes / least_evaluations) return;
  phase_line at;
  at.say("looking for a better order");
  schedule const better = improve(s, {.passes = passes});
  at.end();
  if (better == s) return;
  fmt::print("to gain      --improve {} finds {} of makespan and {} of span within the same memory\n",
             passes, scale.words(makespan(better)), scale.words(span(better)));
}

void print_metrics(ashlar::schedule const& s, time_scale const& scale,
                   ashlar::lower_options const& options) {
  using namespace ashlar;
  fmt::print("makespan     {}\n", scale.words(makespan(s)));
  fmt::print("span         {}, the longest from a device's first start to its last end\n",
             scale.words(span(s)));
  if (!print_bound(s, scale)) print_gain(s, scale);
  fmt::print("bubble rate  {:.2f} % of the makespan, {:.2f} % of the span\n", 100 * bubble_rate(s),
             100 * bubble_rate_span(s));
  fmt::print("overhead     {:.2f} % of the makespan, {:.2f} % of the span: idle or recomputing\n\n",
             100 * overhead(s), 100 * overhead_span(s));

  phase_line phase;
  phase.say("lowering it");
  program const lowered = lower(s, options);
  phase.end();
  program_view const view = lowered.view();
  std::vector<tick> const work = busy(s);
  std::vector<int> const peak = peak_activations(s);
  std::vector<slot_kind> used;
  for (int k = 0; k < slot_kinds; ++k)
    for (slot_kind const kind : view.slots)
      if (kind == static_cast<slot_kind>(k)) {
        used.push_back(kind);
        break;
      }
  std::vector<std::vector<std::string>> rows{
      {"device", "busy", "idle", "peak activations", "instructions", "sends", "receives"}};
  bool const sharded = lowered.sharding != sharding_level::none;
  if (sharded) rows[0].insert(rows[0].end(), {"gathers", "scatters"});
  for (slot_kind const kind : used) rows[0].push_back(std::string(name_of(kind)) + " slots");
  for (int d = 0; d < s.device_count(); ++d) {
    device_id const device{d};
    auto const stream = views::instructions_of(lowered, device);
    auto const is = [](opcode code) { return [code](auto const& i) { return i->code == code; }; };
    tick const idle = ranges::accumulate(views::gaps(s, device), tick{0}, {}, &idle_time::length);
    auto const at = static_cast<std::size_t>(d);
    auto& row = rows.emplace_back(std::vector<std::string>{
        std::to_string(d), scale.number(work[at]), scale.number(idle), std::to_string(peak[at]),
        std::to_string(ranges::size(stream)), std::to_string(ranges::count_if(stream, is(opcode::send))),
        std::to_string(ranges::count_if(stream, is(opcode::receive)))});
    for (opcode const code : {opcode::all_gather, opcode::reduce_scatter})
      if (sharded) row.push_back(std::to_string(ranges::count_if(stream, is(code))));
    for (slot_kind const kind : used) row.push_back(std::to_string(count_slots(view, d, kind)));
  }
  fmt::print("{}", table(rows));
  auto const sends =
      ranges::count_if(view.instructions, [](auto const& i) { return i.code == opcode::send; });
  auto const copies = ranges::count_if(view.instructions, ashlar::copies_to_or_from_host);
  fmt::print("{} instructions, {} transfers{}\n", view.instructions.size(), sends,
             copies > 0 ? fmt::format(", {} copies to and from hosts", copies) : "");
}

// Moves a schedule to another placement, in place of the one that its block had.
void move_to(chosen_schedule& chosen, ashlar::placement const& where) {
  if (where.stage_count() != chosen.schedule.stage_count())
    throw usage_error(fmt::format("--placement has {}, but {} has {}",
                                  counted(where.stage_count(), "stage"), chosen.name,
                                  counted(chosen.schedule.stage_count(), "stage")));
  chosen.schedule = ashlar::relocate(std::move(chosen.schedule), where);
  chosen.block.reset();
}

std::vector<effect> effects_of(show_options const& o, chosen_schedule const& chosen,
                               ashlar::lower_options const& lowering) {
  std::vector<effect> all = effects_on(lowering, chosen.schedule, chosen.name);
  all.insert(all.end(), {{"--host-bandwidth", o.host.percent > 0, "without --offload"},
                         {"--host-bandwidth", o.stash > 0, "without --stash-bytes"},
                         {"--host-shared-by", !o.host.bandwidth.empty(), "without --host-bandwidth"},
                         {"--host-slack", !o.host.bandwidth.empty(), "without --host-bandwidth"},
                         {"--stash-bytes", !o.host.bandwidth.empty(), "without --host-bandwidth"}});
  all.push_back({"--data-ranks", lowering.sharding != ashlar::sharding_level::none,
                 "on what is shown without --sharding"});
  for (std::vector<char const*> const& flags :
       {cost_flags(),
        {"--improve", "--placement", "--data-ranks", "--sharding", "--weight-buffers",
         "--optimizer-step", "--tie-embeddings", "--certificate"}})
    for (char const* flag : flags)
      all.push_back({flag, !o.block, "with --block, which is drawn in units of one pass"});
  return all;
}

int show(show_options const& o) {
  certificates proofs(o.certificate);
  phase_line at;
  at.say("making the schedule");
  chosen_schedule chosen = choose(o.shape);
  at.end();
  if (!o.placement.empty()) move_to(chosen, read_placement("--placement", o.placement));
  ashlar::text_options const drawing{wants_colour(o.colour), o.width < 0 ? terminal_width() : o.width,
                                     chosen.scale.ticks_per_unit};
  ashlar::schedule const& s = chosen.schedule;
  ashlar::lower_options lowering = lowering_of(o.lowering, s.graph);
  must_have_effect(*o.shape.command, effects_of(o, chosen, lowering));
  fmt::print("{}: {}\n", chosen.name, chosen.about);
  fmt::print("{}, {} placement, {}, {}\n", counted(s.device_count(), "device"), placement_name(s.where),
             counted(s.stage_count(), "stage"), counted(s.micro_batch_count(), "micro-batch"));
  fmt::print("{}\n", chosen.shares.empty() || o.block ? "" : chosen.shares + "\n");
  if (!is_chain(s.graph)) fmt::print("{}\n", ashlar::text(s.graph, s.where));
  if (o.block) {
    fmt::print("{}", ashlar::text(block_of(chosen), drawing));
    return done;
  }
  fmt::print("{}\n", ashlar::text(s, drawing));
  ashlar::memory_model kept{.stages = {{.stash = o.stash}}};
  divide_sizes(kept, chosen, o.shape.cost);
  lowering.offload =
      o.host.bandwidth.empty()
          ? offload_of(o.host, s)
          : offload_of(o.host, s, std::move(kept),
                       planned_host(host_of(o.host, chosen.scale), o.shape.cost.others, chosen.scale));
  print_metrics(s, chosen.scale, lowering);
  proofs.add(s, chosen.name, chosen.scale);
  return proofs.write();
}

}  // namespace

void add_show(CLI::App& app, action& chosen) {
  auto* const command = app.add_subcommand("show", "Draw a schedule and print its numbers");
  auto const options = std::make_shared<show_options>();
  add_shape_options(*command, options->shape);
  add_sharing_options(*command, options->lowering);
  add_step_option(*command, options->lowering);
  add_offload_option(*command, options->host);
  add_host_link_options(*command, options->host, options->shape.cost.others);
  add_bytes(*command, "--stash-bytes", options->stash,
            "what a forward of a p-th of the model keeps for its backward, for the time of a copy");
  add_tying_option(*command, options->lowering);
  command->add_flag("--block", options->block,
                    "show the building block that is repeated, in units of one pass");
  command
      ->add_option("--placement", options->placement,
                   "the device of each stage, in place of the schedule's own: 3,2,1,0; or of several "
                   "routes, which micro-batches take in turn: 0,1,2,3/3,2,1,0")
      ->type_name("DEVICES");
  command->add_option("--color,--colour", options->colour, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN")
      ->capture_default_str();
  add_number(
      *command, "--width", options->width, 0, 100'000,
      "columns to draw in; 0: as many as all passes take with their numbers (default: the terminal's)")
      ->default_str("");
  add_certificate_option(*command, options->certificate);
  command->callback([&chosen, options] { chosen = [options] { return show(*options); }; });
}

}  // namespace tool
