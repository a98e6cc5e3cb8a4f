#include "report/pictures.hpp"

#include "command.hpp"
#include "options/limits.hpp"
#include "options/theme_option.hpp"
#include <ashlar/render/html.hpp>
#include <ashlar/render/svg.hpp>
#include <ashlar/render/svg_canvas.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <fmt/core.h>

#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>

namespace tool {

namespace {

void must_be_small(std::size_t passes, std::size_t most) {
  if (passes > most)
    throw usage_error(fmt::format("a picture of {} parts is too large; the limit is {}", passes, most));
}

ashlar::time_unit unit_of(time_scale const& scale) {
  return {scale.ticks_per_unit, scale.unit.empty() ? "ticks" : std::string_view(scale.unit)};
}

// Puts a schedule in finer ticks.
void refine(chosen_schedule& chosen, ashlar::tick by) {
  if (by == 1) return;
  ashlar::costs cost = chosen.schedule.cost;
  cost.passes.change_each([by](ashlar::stage_cost& c) {
    c.change_each([by](ashlar::tick& time) { time = ashlar::saturating_product(time, by); });
  });
  cost.passes.overlapped.change_each(
      [by](ashlar::tick pair) { return ashlar::saturating_product(pair, by); });
  stretch_transfers(cost.on, by);
  chosen.schedule = retime(std::move(chosen.schedule), std::move(cost));
  chosen.scale.ticks_per_unit *= by;
}

// The title, and which part of the model a stage has, where costs are not of it.
std::string with_shares(std::string const& title, chosen_schedule const& chosen) {
  return chosen.shares.empty() ? title : fmt::format("{}; {}: {}", title, chosen.name, chosen.shares);
}

}  // namespace

void add_picture_options(CLI::App& command, picture_request& request) {
  command.add_flag("--block", request.block,
                   "svg: draw the building block with its lifespans and its interval");
  command.add_flag("--stages", request.stages,
                   "svg: draw the graph of stages, in the colours of their devices");
  command.add_flag("--transfers", request.transfers, "svg: draw an arrow from device to device");
  command.add_flag("--memory", request.memory,
                   "svg: draw the chunk activations that each device holds, below its row");
  add_theme_options(command, request.theme);
  command
      .add_option(
          "--against", request.against,
          "html: another schedule to compare with, on the same model unless costs are given stage "
          "by stage")
      ->type_name("NAME");
}

std::vector<effect> effects_of(picture_request const& request, std::string const& format) {
  bool const svg = format == "svg", html = format == "html";
  std::string const as = fmt::format("with --as {}: it is for ", format);
  std::vector<effect> all;
  for (char const* flag : {"--block", "--stages", "--transfers", "--memory"})
    all.push_back({flag, svg, as + "svg"});
  for (effect& each : effects_of_theme(format)) all.push_back(std::move(each));
  all.push_back({"--against", html, as + "html"});
  for (char const* flag : {"--transfers", "--memory", "--improve"}) {
    all.push_back({flag, !request.block, "with --block: building blocks have no such thing"});
    all.push_back({flag, !request.stages, "with --stages: the graph of stages has no such thing"});
  }
  for (char const* flag : cost_flags()) {
    all.push_back(
        {flag, !request.block, "with --block: building blocks are drawn in units of one pass"});
    all.push_back({flag, !request.stages, "with --stages: the graph of stages has no such thing"});
  }
  all.push_back({"--stages", !request.block, "with --block: these are two pictures"});
  return all;
}

std::string svg_of(chosen_schedule const& chosen, picture_request const& request) {
  if (request.block) {
    ashlar::block const& block = block_of(chosen);
    must_be_small(block.cells.size(), most_drawn);
    return ashlar::svg(
        block, {.title = fmt::format("{}, the building block", chosen.name), .theme = request.theme});
  }
  return svg_of(chosen.schedule, chosen.name, chosen.scale, request, chosen.shares);
}

std::string svg_of(ashlar::schedule const& s, std::string const& name, time_scale const& scale,
                   picture_request const& request, std::string const& shares) {
  if (request.stages) {
    must_be_small(static_cast<std::size_t>(s.graph.count() + s.graph.edge_count()), most_drawn);
    return ashlar::svg(s.graph, s.where, {.title = name, .theme = request.theme});
  }
  must_be_small(pass_count(s), most_drawn);
  std::string const title = fmt::format("{}, {} devices, {} micro-batches{}{}", name, s.device_count(),
                                        s.micro_batch_count(), shares.empty() ? "" : "; ", shares);
  return ashlar::svg(s, {.title = title,
                         .theme = request.theme,
                         .transfers = request.transfers,
                         .memory = request.memory,
                         .unit = unit_of(scale)});
}

std::string html_of(ashlar::schedule const& s, std::string const& name, time_scale const& scale,
                    picture_request const& request) {
  must_be_small(pass_count(s), most_explored);
  return ashlar::html(s, {.title = name, .name = name, .theme = request.theme, .unit = unit_of(scale)});
}

std::string html_of(chosen_schedule const& chosen, shape_options const& shape,
                    picture_request const& request) {
  std::size_t const passes = pass_count(chosen.schedule);
  must_be_small(passes, most_explored);
  if (request.against.empty())
    return ashlar::html(chosen.schedule, {.title = with_shares(chosen.name, chosen),
                                          .name = chosen.name,
                                          .theme = request.theme,
                                          .unit = unit_of(chosen.scale)});
  shape_options same = shape;
  same.name = request.against;
  same.command = nullptr;  // the options have an effect on the one or the other
  same.improve = 0;
  chosen_schedule other = choose(same), own = chosen;
  must_be_small(passes + pass_count(other.schedule), most_explored);
  std::string const both = fmt::format("{} and {}", chosen.name, other.name);
  must_have_effect(*shape.command, effects_on(traits_of({&chosen.schedule, &other.schedule}), both));
  if (chosen.scale.unit != other.scale.unit)
    throw usage_error(fmt::format("{} are not in the same ticks, and no picture has both", both));
  ashlar::tick const ticks = std::lcm(own.scale.ticks_per_unit, other.scale.ticks_per_unit);
  for (chosen_schedule* each : {&own, &other}) refine(*each, ticks / each->scale.ticks_per_unit);
  return ashlar::html(own.schedule, other.schedule,
                      {.title = with_shares(with_shares(both, own), other),
                       .name = chosen.name,
                       .other_name = other.name,
                       .theme = request.theme,
                       .unit = unit_of(own.scale)});
}

std::string page_of(std::string const& title, std::string const& text, std::string const& picture) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<title>{0}</title>\n<style>:root{{color-scheme:light dark}}body{{font-family:system-ui,"
      "sans-serif;margin:1rem}}pre{{overflow-x:auto}}</style></head>\n"
      "<body><h1>{0}</h1>\n<pre>{1}</pre>\n{2}</body></html>\n",
      ashlar::render_detail::escape_xml(title), ashlar::render_detail::escape_xml(text), picture);
}

}  // namespace tool
