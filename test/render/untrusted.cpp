// A picture of any names, numbers and passes is drawn or refused.
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/render/chrome_trace.hpp>
#include <ashlar/render/html.hpp>
#include <ashlar/render/json_text.hpp>
#include <ashlar/render/named_curves.hpp>
#include <ashlar/render/svg.hpp>
#include <ashlar/render/svg_canvas.hpp>
#include <ashlar/render/svg_frame.hpp>
#include <ashlar/render/text.hpp>
#include <ashlar/render/text_graph.hpp>
#include <ashlar/render/utf8.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

using namespace shapes;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

// Every picture of a schedule is asked for one that somebody changed by hand.
template <class Change>
void no_picture_of(rule expected, Change change) {
  schedule s = shapes::one_f_one_b(2, 3);
  change(s);
  CHECK(violations::broken_by([&] { svg(s); }) == expected);
  CHECK(violations::broken_by([&] { text(s); }) == expected);
  CHECK(violations::broken_by([&] { html(s); }) == expected);
  CHECK(violations::broken_by([&] { chrome_trace(s); }) == expected);
  CHECK(violations::broken_by([&] { held_activations(s); }) == expected);
  CHECK(violations::broken_by([&] { needs_of(s); }) == expected);
}

TEST_CASE("no picture of passes that there are not") {
  no_picture_of(rule::every_pass_is_known, [](schedule& s) { s.order[0][1].what.stage = 2; });
  no_picture_of(rule::every_pass_is_known, [](schedule& s) { s.order[0][1].what.micro_batch = 3; });
  no_picture_of(rule::every_pass_is_known, [](schedule& s) { s.order[0][1].what = {X, 0, 0}; });
  no_picture_of(rule::micro_batches_take_a_route, [](schedule& s) { s.route[0] = 7; });
  no_picture_of(rule::tables_agree, [](schedule& s) { s.order.resize(9); });
  no_picture_of(rule::ticks_fit, [](schedule& s) { s.order[0][1].start = INT64_MIN; });
  block b = catalog::zb_h1(devices{2});
  b.interval = 0;
  CHECK_BREAKS(counts_are_positive, text(b));
  CHECK_BREAKS(counts_are_positive, svg(b));
  CHECK_BREAKS(tables_agree, svg(chain(stages{3}), linear(devices{2})));
  CHECK_BREAKS(counts_are_positive, svg(stage_graph{}, placement{}));
  CHECK_BREAKS(tables_agree, text(chain(stages{3}), linear(devices{2})));
}

TEST_CASE("the options of a picture have ranges") {
  schedule const s = shapes::one_f_one_b(2, 3);
  for (double const wrong : {0.0, -1.0, inf, 1e300, std::nan("")}) {
    CHECK_BREAKS(sizes_fit, svg(s, {.widest = wrong}));
    if (wrong < 1e300) CHECK_BREAKS(ticks_fit, chrome_trace(s, wrong == 0 ? -0.0 : wrong));
  }
  CHECK_BREAKS(ticks_fit, chrome_trace(s, 1e18));
  for (tick const wrong : {tick{0}, tick{-5}}) {
    CHECK_BREAKS(counts_are_positive, svg(s, {.unit = {wrong, "ms"}}));
    CHECK_BREAKS(counts_are_positive, html(s, {.unit = {wrong, "ms"}}));
  }
  for (int const width : {std::numeric_limits<int>::min(), -1, 1, std::numeric_limits<int>::max()})
    for (tick const unit : {INT64_MIN, tick{0}, INT64_MAX})
      CHECK(text(s, {.width = width, .unit = unit}).size() < 4'000);
  CHECK_FALSE(svg(s, {.unit = {INT64_MAX, "years"}}).empty());
  CHECK_BREAKS(ticks_fit, chrome_trace({{.name = {}, .start_ns = INT64_MIN, .end_ns = INT64_MAX}}, 2));
  CHECK(chrome_trace({{.device = INT32_MAX, .lane = INT32_MAX, .name = {}}}, INT32_MIN).size() < 1'000);
}

TEST_CASE("numbers of an axis have no point without digits, and no zero has a sign") {
  render_detail::svg_frame f;
  f.unit = {1'000'000'000, "s"};
  CHECK(f.number(4'000'000'001) == "4");
  CHECK((f.number(-1) == "0" && f.number(0) == "0" && f.number(-1'500'000'000) == "-1.5"));
  CHECK((f.number(999'999'999) == "1" && f.number(1'250'000'000) == "1.25"));
  CHECK((f.number(1'000'001'000) == "1.000001" && f.number(-2'000'000'000) == "-2"));
}

TEST_CASE("pixels of any number") {
  using render_detail::px;
  CHECK((px(-0.001) == "0" && px(-0.0) == "0" && px(std::nan("")) == "0"));
  CHECK((px(inf) == "1000000000000000" && px(-1e300) == "-1000000000000000"));
}

TEST_CASE("curves through points that are no numbers") {
  for (bool const logarithmic : {false, true})
    for (double const wrong : {std::nan(""), inf, -inf, -1.0, 0.0, 5e-324}) {
      std::string const drawn = svg({{.name = "c", .points = {{1, 2}, {wrong, wrong}}}},
                                    {.name = "x", .logarithmic = logarithmic},
                                    {.name = "y", .logarithmic = logarithmic}, "title");
      CHECK(drawn.find("nan") == std::string::npos);
      CHECK(drawn.size() < 100'000);
    }
}

TEST_CASE("names with bytes that are no UTF-8") {
  using render_detail::valid_utf8;
  std::string const mark = "\xEF\xBF\xBD", good = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";
  CHECK((valid_utf8(good) == good && valid_utf8("").empty()));
  for (std::string const bad : {"\xFF", "\xC3", "\x80", "\xC0", "\xF5"})
    CHECK(valid_utf8("a" + bad + "b") == "a" + mark + "b");
  CHECK(valid_utf8("\xC0\x80") == mark + mark);             // overlong
  CHECK(valid_utf8("\xED\xA0\x80") == mark + mark + mark);  // a surrogate
  CHECK(valid_utf8("\xEF\xBF\xBF") == mark + mark + mark);  // U+FFFF
  CHECK(valid_utf8("\xF4\x90\x80\x80").size() == 4 * 3);    // beyond the last
  CHECK(valid_utf8("\xE2\x82") == mark + mark);             // cut short
  schedule const s = shapes::one_f_one_b(2, 2);
  std::string const name = "<\xFF,\n\"&>";
  CHECK(svg(s, {.title = name}).find("&lt;" + mark + ",\n&quot;&amp;&gt;") != std::string::npos);
  std::string const page = html(s, {.title = name, .name = name});
  CHECK(page.find("\\u003c" + mark + ",\\u000a\\\"&>") != std::string::npos);
  CHECK(page.find('\xFF') == std::string::npos);
}

}  // namespace
