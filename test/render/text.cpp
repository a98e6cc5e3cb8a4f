// Text pictures: equal to the committed ones, within their width, each pass in its place.
#include "catalog_cases.hpp"
#include "render/pictures.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/render/text.hpp>

#include <doctest/doctest.h>

#include <sstream>
#include <string>

namespace {

using namespace ashlar;

catalog::shape shape(int p, int m) { return {devices{p}, micro_batches{m}}; }
schedule made(char const* name, catalog::shape const& s) { return catalog::find(name)->make(s); }

TEST_CASE("the ruler counts in units") {
  schedule const s = catalog::one_f_one_b(devices{1}) | repeat(micro_batches{2})
                     | retime(costs(stage_cost{20, 10, 10}));
  std::string const ticks = text(s), units = text(s, {.unit = 10});
  CHECK(ticks.find(" 50\n") != std::string::npos);
  CHECK(units.find(" 8\n") != std::string::npos);
  CHECK(units.find("50") == std::string::npos);
  CHECK(ticks.substr(ticks.find("device 0 |")) == units.substr(units.find("device 0 |")));
}

}  // namespace

TEST_CASE("pictures are as committed") {
  CHECK(text(made("1f1b", shape(4, 8)), {.width = 0}) == picture_file("1f1b.txt"));
  CHECK(text(made("1f1b", shape(4, 8)), {.width = 80}) == picture_file("1f1b-80.txt"));
  CHECK(text(made("1f1b", shape(4, 8)), {.width = 50}) == picture_file("1f1b-50.txt"));
  CHECK(text(made("1f1b", shape(4, 8)), {.width = 40}) == picture_file("1f1b-40.txt"));
  CHECK(text(made("zb-h1", shape(4, 6)), {.width = 0}) == picture_file("zb-h1.txt"));
  CHECK(text(catalog::find("v-half")->block_of(shape(4, 8)), {.width = 0})
        == picture_file("v-half-block.txt"));
}

TEST_CASE("no line is wider than asked for") {
  for (catalog_case const& c : catalog_cases({4}, {16}))
    for (int width : {40, 60, 100, 160}) {
      CAPTURE(c);
      std::istringstream lines(text(c.schedule(), {.width = width}));
      for (std::string line; std::getline(lines, line);)
        if (line.starts_with("device") || line.starts_with(" "))
          CHECK(line.size() <= static_cast<std::size_t>(width));
    }
}

TEST_CASE("a picture that is compressed has the end, and says which width has all") {
  schedule const s = made("v-half", shape(4, 16));
  std::string const drawn = text(s, {.width = 60}), whole = text(s, {.width = 0});
  CHECK(drawn.find("compressed to 60 columns") != std::string::npos);
  CHECK(whole.find("compressed") == std::string::npos);
  // The last pass is at the last column.
  std::size_t longest = 0;
  std::istringstream lines(drawn);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("device")) longest = max_of(longest, line.size());
  CHECK(longest >= 58);
  CHECK(text(s, {.width = 414}).find("columns") == std::string::npos);  // which the message says
  CHECK(drawn.find("width 0 draws all, in 414") != std::string::npos);
}

TEST_CASE("unevenly long passes are drawn to scale, and what is too short is counted") {
  costs const cost(stage_cost{.forward = 1'000'000, .backward_input = 1'000'000, .backward_weight = 1});
  schedule const s = made("zb-h1", {devices{2}, micro_batches{3}, cost});
  std::string const drawn = text(s, {.width = 80});
  CHECK(drawn.find("F0") != std::string::npos);
  CHECK(drawn.find("passes are shorter than a column and not shown") != std::string::npos);
}

TEST_CASE("colour adds escapes and nothing else") {
  schedule const s = made("v-half", shape(4, 8));
  std::string plain;
  std::string const coloured = text(s, {.colour = true, .width = 0});
  for (std::size_t i = 0; i < coloured.size(); ++i) {
    if (coloured[i] == '\x1b')
      i = coloured.find('m', i);
    else
      plain += coloured[i];
  }
  CHECK(plain == text(s, {.width = 0}));
}

TEST_CASE("more than two chunks a device: boxes carry the stage") {
  block const b = make_block(
      looped(devices{2}, chunks{3}), {}, 18, {pass_kind::forward, pass_kind::backward},
      [](pass_kind kind, int s) { return tick{kind == pass_kind::forward ? s : 6 + 2 * (5 - s)}; });
  CHECK(text(b, {.width = 0}).find("4F0") != std::string::npos);
}

TEST_CASE("an overlapped pair shares its columns") {
  schedule s = made("1f1b", {devices{1}, micro_batches{2}, costs(stage_cost{.forward = 2})});
  s.cost.passes.overlapped = 2;
  auto const& order = s.order[0];
  s.order[0] = {{order[0].what, 0, order[1].what}, {order[2].what, 2, order[3].what}};
  std::string const drawn = text(s, {.width = 0});
  CHECK(drawn.find("device 0 |F0+B0 F1+B1\n") != std::string::npos);
  CHECK(drawn.find("+: overlapped with the next") != std::string::npos);
}

TEST_CASE("passes that collide are drawn once, and counted") {
  schedule s = made("1f1b", shape(1, 2));
  for (time_slot& t : s.order[0]) t.start = 0;
  std::string const drawn = text(s, {.width = 0});
  CHECK(drawn.find("device 0 |F0\n") != std::string::npos);
  CHECK(drawn.find("3 passes") != std::string::npos);
}

TEST_CASE("a stage that both routes have on a device is one chunk there") {
  picture drawn;
  auto const chunk =
      render_detail::chunk_numbers(overlay(linear(devices{3}), mirror(linear(devices{3}))), drawn);
  CHECK(chunk[1] == std::vector<int>{-1, 0, -1});
  CHECK(chunk[0] == std::vector<int>{0, -1, 1});
  CHECK(drawn.chunk_count == 2);
}

TEST_CASE("an empty schedule has a picture") {
  schedule s = made("1f1b", shape(2, 2));
  for (auto& order : s.order) order.clear();
  CHECK(text(s).find("device 1 |") != std::string::npos);
  CHECK(!text(s, {.width = 1}).empty());
}
