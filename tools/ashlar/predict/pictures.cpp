// The order of passes of a predicted run, in its predicted times: as a picture, a page and a trace.
#include "report/pictures.hpp"

#include "command.hpp"
#include "predict/machines.hpp"
#include "predict/report.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/render/chrome_trace.hpp>
#include <ashlar/render/svg_canvas.hpp>

#include <fmt/core.h>

namespace tool {

namespace {

constexpr double drawn_tick = 1e-9;  // seconds: what a tick of the picture is

std::string title_of(prediction const& p) {
  return fmt::format("{} on {}", p.model.name, name_of(p.asked.cluster));
}

}  // namespace

ashlar::schedule schedule_of(prediction const& p) {
  ashlar::cost::question q = p.asked;
  if (!q.layout.is_executed())
    q.layout.order = ashlar::catalog::find(q.layout.chunks == 1 ? "1f1b" : "depth-first");
  ashlar::cost::execution const run =
      execute(q, stages_of(q), p.answer.step.of_stages, p.constants.values, true);
  if (run.tick > drawn_tick) throw usage_error("a pass is too long to be drawn");
  return run.timed[0];
}

std::string svg_of(prediction const& p) {
  return svg_of(schedule_of(p), title_of(p), {.ticks_per_unit = 1'000'000, .unit = "ms"},
                picture_request{});
}

std::string trace_of(prediction const& p) { return chrome_trace(schedule_of(p), 1); }

std::string html_of(prediction const& p) {
  std::string picture;
  try {
    picture = svg_of(p);
  } catch (usage_error const& e) {  // too many passes: the numbers alone
    picture = fmt::format("<p>{}</p>", ashlar::render_detail::escape_xml(e.what()));
  }
  return page_of(title_of(p), text_of(p, true), picture);
}

}  // namespace tool
