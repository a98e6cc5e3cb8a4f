// The order of passes of a predicted run, in its predicted times: as a picture, a page and a trace.
#include "report/pictures.hpp"

#include "command.hpp"
#include "predict/report.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/render/chrome_trace.hpp>
#include <ashlar/render/svg_canvas.hpp>

#include <fmt/core.h>

namespace tool {

namespace {

constexpr double drawn_tick = 1e-9;  // seconds: what a tick of the picture is

// What has a closed form is drawn as the catalog has it.
ashlar::schedule passes_of(prediction const& p) {
  ashlar::predict::question q = p.asked;
  if (!q.is_executed()) q.published = ashlar::catalog::find(q.chunks == 1 ? "1f1b" : "depth-first");
  ashlar::predict::execution const run = execute(q, p.answer.step.of_stages, p.constants.values, true);
  if (run.tick > drawn_tick) throw usage_error("a pass is too long to be drawn");
  return run.timed[0];
}

std::string title_of(prediction const& p) {
  return fmt::format("{} on {}x{}x{}", p.model.name, p.nodes, p.asked.per_node, p.machine);
}

}  // namespace

std::string svg_of(prediction const& p) {
  return svg_of(passes_of(p), title_of(p), {.ticks_per_unit = 1'000'000, .unit = "ms"},
                picture_request{});
}

std::string trace_of(prediction const& p) { return chrome_trace(passes_of(p), 1); }

std::string html_of(prediction const& p) {
  std::string picture;
  try {
    picture = svg_of(p);
  } catch (usage_error const& e) {  // too many passes: the numbers alone
    picture = fmt::format("<p>{}</p>", ashlar::render_detail::escape_xml(e.what()));
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<title>{0}</title>\n<style>:root{{color-scheme:light dark}}body{{font-family:system-ui,"
      "sans-serif;margin:1rem}}pre{{overflow-x:auto}}</style></head>\n"
      "<body><h1>{0}</h1>\n<pre>{1}</pre>\n{2}</body></html>\n",
      ashlar::render_detail::escape_xml(title_of(p)),
      ashlar::render_detail::escape_xml(text_of(p, true)), picture);
}

}  // namespace tool
