// SVG pictures: well-formed, complete, and safe with any title.
#include "catalog_cases.hpp"
#include "shapes.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/render/picture.hpp>
#include <ashlar/render/svg.hpp>

#include <doctest/doctest.h>

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace ashlar;

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size()))
    ++n;
  return n;
}

// Whether tags nest, attributes are quoted, and no ampersand is bare. This is enough of XML for what we
// write.
bool well_formed(std::string_view xml) {
  std::vector<std::string> open;
  while (!xml.empty()) {
    auto const tag = xml.find('<');
    std::string_view const words = xml.substr(0, tag);
    for (auto at = words.find('&'); at != std::string_view::npos; at = words.find('&', at + 1)) {
      auto const end = words.find(';', at);
      if (end == std::string_view::npos || end - at > 5) return false;
    }
    if (tag == std::string_view::npos) break;
    auto const end = xml.find('>', tag);
    if (end == std::string_view::npos) return false;
    std::string_view const inside = xml.substr(tag + 1, end - tag - 1);
    xml.remove_prefix(end + 1);
    if (count(inside, "\"") % 2 != 0 || inside.find('<') != std::string_view::npos) return false;
    if (inside.starts_with("/")) {
      if (open.empty() || open.back() != inside.substr(1)) return false;
      open.pop_back();
    } else if (!inside.ends_with("/")) {
      open.emplace_back(inside.substr(0, inside.find(' ')));
    }
  }
  return open.empty();
}

// A forward and a backward of each micro-batch in one slot, as on a device that overlaps them.
schedule overlapped() {
  schedule s = catalog::find("1f1b")->make(
      {devices{1}, micro_batches{6}, costs(stage_cost{.forward = 2, .backward_input = 1})});
  s.cost.passes.overlapped = 2;
  std::vector<time_slot> pairs;
  for (std::size_t i = 0; i + 1 < s.order[0].size(); i += 2)
    pairs.push_back({s.order[0][i].what, tick(i), s.order[0][i + 1].what});
  s.order[0] = pairs;
  return s;
}

// Half a million letters in boxes; here a path for each look.
TEST_CASE("thousands of passes are small and without numbers") {
  for (char const* const name : {"1f1b", "chimera", "dualpipev"}) {
    CAPTURE(name);
    schedule const s = catalog::find(name)->make({.p = devices{32}, .m = micro_batches{128}});
    std::string const text = svg(s);
    CHECK(well_formed(text));
    CHECK(text.size() < 300'000);
    CHECK(count(text, "<path class=\"F0 ") >= 1);
    CHECK(count(text, "class=\"m F0") == 0);
    CHECK(count(text, ">idle<") == 1);
  }
  // Forwards that follow each other are one: a device's first and last half of GPipe.
  schedule const s = catalog::find("gpipe")->make({.p = devices{4}, .m = micro_batches{1000}});
  std::string const text = svg(s);
  auto const begin = text.find("<path class=\"F0 whole\"");
  REQUIRE(begin != std::string::npos);
  std::string const path = text.substr(begin, text.find("/>", begin) - begin);
  CHECK(count(path, "M") + count(path, "m") == 4);
}

}  // namespace

TEST_CASE("pictures of the whole catalog are well-formed and show every pass") {
  for (catalog_case const& c : catalog_cases({4}, {8})) {
    CAPTURE(c);
    schedule const s = c.schedule();
    std::size_t const passes = pass_count(s);
    for (svg_options const& options :
         {svg_options{}, svg_options{.theme = picture_theme::dark, .transfers = true, .memory = true}}) {
      std::string const drawn = svg(s, options);
      CHECK(well_formed(drawn));
      CHECK(count(drawn, ", ticks ") == passes);
    }

    if (!c.has_block()) continue;
    block const b = c.block();
    std::string const small = svg(b);
    CHECK(well_formed(small));
    bool const lives = !c.is("inference");  // else nothing is kept
    CHECK(count(small, ": lifespan ")
          == (lives ? static_cast<std::size_t>(s.stage_count() * b.micro_batch_count()) : 0));
    CHECK(count(small, "holds ") == (lives ? static_cast<std::size_t>(b.where.device_count()) : 0));
    CHECK(small.find("interval ") != std::string::npos);
  }
}

TEST_CASE("the reader's theme is followed unless one is asked for") {
  schedule const s = catalog::find("zb-h1")->make({devices{2}, micro_batches{2}});
  CHECK(count(svg(s), "prefers-color-scheme:dark") == 1);
  std::string const dark = svg(s, {.theme = picture_theme::dark});
  CHECK(count(dark, "prefers-color-scheme") == 0);
  CHECK(count(dark, ".page{fill:#0d1117}") == 1);
  CHECK(count(svg(s, {.theme = picture_theme::light}), "#0d1117") == 0);
}

TEST_CASE("every value that changes device is an arrow") {
  schedule const s = catalog::find("1f1b")->make({devices{4}, micro_batches{8}});
  std::string const drawn = svg(s, {.transfers = true, .legend = false});
  CHECK(count(drawn, "class=\"go over\"") == 1);
  auto const path = [&](char const* look) {
    auto const at = drawn.find(std::string("class=\"") + look);
    return drawn.substr(at, drawn.find("/>", at) - at);
  };
  CHECK(count(path("go over"), "M") == 2 * 3 * 8);  // a line and a head each
  CHECK(count(path("back over"), "M") == 2 * 3 * 8);
  CHECK(count(svg(s), "activations sent") == 0);
  CHECK(count(svg(s, {.transfers = true}), "activations sent") == 1);
}

TEST_CASE("the memory curve names each device's peak") {
  schedule const s = catalog::find("1f1b")->make({devices{4}, micro_batches{8}});
  std::string const drawn = svg(s, {.memory = true});
  for (int peak = 1; peak <= 4; ++peak) CHECK(count(drawn, ">peak " + std::to_string(peak) + "<") == 1);
  CHECK(count(svg(s), ">peak ") == 0);
}

TEST_CASE("routes have a hatch each, but the first") {
  schedule const s = shapes::two_ways(4) | repeat(micro_batches{8}) | squeeze();
  std::string const drawn = svg(s);
  CHECK(well_formed(drawn));
  CHECK(count(drawn, "<pattern id=\"h1") == 2);  // for white numbers and for black ones
  CHECK(count(drawn, "<pattern ") == 2);
  CHECK(count(drawn, ">route 0<") == 1);
  CHECK(count(drawn, ">route 1<") == 1);
  CHECK(count(drawn, "class=\"over h1w\"") == 2);  // the cells and the legend
  CHECK(count(svg(shapes::one_f_one_b(4, 8)), "pattern") == 0);

  // Four times as many: every hatch is defined where it is used.
  block four = shapes::two_ways(4);
  four = overlay(overlay(four, four), overlay(four, four));
  std::string const many = svg(four);
  for (int h = 1; h < 8; ++h) CHECK(count(many, "<pattern id=\"h" + std::to_string(h)) == 2);
}

TEST_CASE("times are in a unit of so many ticks, if it is given") {
  schedule const s = catalog::find("1f1b")->make({devices{2}, micro_batches{2}});
  CHECK(makespan(s) == 9);
  std::string const halves = svg(s, {.unit = {2, "ms"}});
  CHECK(well_formed(halves));
  CHECK(count(halves, "ticks") == 0);
  CHECK(count(halves, ", ms 0 to 0.5<") == 1);
  CHECK(count(halves, ">4</text>") == 1);  // the last whole one
  CHECK(count(halves, ">4.5</text>") == 0);
  // Less than a few units is printed as parts of one.
  CHECK(count(svg(s, {.unit = {1000, "s"}}), ">0.005</text>") == 1);
}

TEST_CASE("an overlapped pair is one cell in two halves") {
  schedule const s = overlapped();
  std::string const drawn = svg(s);
  CHECK(well_formed(drawn));
  CHECK(count(drawn, ", ticks ") == 12);
  CHECK(count(drawn, "height=\"15\"") == 12);  // half of 30
  CHECK(count(drawn, ">overlapped<") == 1);
  picture const p = picture_of(s);
  CHECK(p.pairs);
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(p.rows[0][i].part == (i % 2 == 0 ? cell_part::upper : cell_part::lower));
    CHECK(p.rows[0][i].end == p.rows[0][i].start + 2);
  }
  CHECK(!picture_of(shapes::one_f_one_b(4, 8)).pairs);
}

TEST_CASE("blocks that hold nothing have no bars, and colliding ones are drawn") {
  block b = shapes::fork_join();
  std::erase_if(b.cells, [](cell const& c) { return c.what.kind == shapes::B; });
  CHECK(well_formed(svg(b)));
  CHECK(count(svg(b), "lifespan") == 0);
  CHECK(well_formed(svg(with_interval(shapes::fork_join(), 1))));
}

TEST_CASE("a title is escaped") {
  std::string const drawn =
      svg(catalog::find("1f1b")->make({devices{1}, micro_batches{1}}), {.title = "<script>\"&'\x01"});
  CHECK(well_formed(drawn));
  CHECK(drawn.find("<title>&lt;script&gt;&quot;&amp;&#39; </title>") != std::string::npos);
}

TEST_CASE("numbers of pixels are written shortly and the same everywhere") {
  CHECK(render_detail::px(0) == "0");
  CHECK(render_detail::px(12.5) == "12.5");
  CHECK(render_detail::px(-0.25) == "-0.25");
  CHECK(render_detail::px(3.04) == "3.04");
  CHECK(render_detail::px(99.999) == "100");
}

TEST_CASE("a long schedule stays within the widest picture") {
  std::string const drawn =
      svg(catalog::find("1f1b")->make({devices{2}, micro_batches{1000}}), {.widest = 500});
  CHECK(drawn.find("width=\"5") != std::string::npos);
  CHECK(drawn.find(">999<") == std::string::npos);     // no room for numbers
  CHECK(drawn.find(", ticks ") == std::string::npos);  // nor for a pointer
}

TEST_CASE("numbers come and go by the width of a cell, not by their own") {
  schedule const s = catalog::find("1f1b")->make({devices{2}, micro_batches{200}});
  for (double const widest : {500.0, 2000.0, 4000.0, 8000.0, 20'000.0}) {
    std::string const drawn = svg(s, {.widest = widest, .legend = false});
    std::size_t const first = count(drawn, "\">0</text>"), last = count(drawn, "\">199</text>");
    CAPTURE(widest);
    CHECK(first == last + 1);  // the axis has a 0 of its own
    CHECK((last == 0 || last == 2 || last == 4));
  }
  CHECK(count(svg(s, {.widest = 20'000}), "\">199</text>") == 4);
}
