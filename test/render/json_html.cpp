// The data inside the HTML page; test/browser looks at how the page uses it.
#include "shapes.hpp"
#include <ashlar/render/html.hpp>
#include <ashlar/render/needs.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

using namespace ashlar;

namespace {

nlohmann::json data_of(std::string const& page) {
  std::string const begin = "id=\"data\">";
  auto const at = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at));
}

}  // namespace

TEST_CASE("the page holds every pass with its place, its time and its inputs") {
  schedule const s = shapes::two_ways(4) | repeat(micro_batches{8}) | squeeze();
  auto const data = data_of(html(s, {.name = "both ways"}));
  REQUIRE(data["schedules"].size() == 1);
  auto const& shown = data["schedules"][0];
  CHECK(shown["name"] == "both ways");
  CHECK(shown["devices"] == 4);
  CHECK(shown["microBatches"] == 8);
  CHECK(shown["routes"] == 2);
  CHECK(shown["shades"] == 1);
  CHECK(shown["makespan"] == makespan(s));
  CHECK(shown["bound"] == schedule_bound(s)->makespan);
  CHECK(shown["bubble"].get<double>() == doctest::Approx(10'000 * bubble_rate(s)).epsilon(0.001));
  auto const all = needs_of(s);
  REQUIRE(shown["passes"].size() == 4);
  int number = 0;
  for (int d = 0; d < 4; ++d) {
    tick time = 0;
    for (auto const& p : shown["passes"][static_cast<std::size_t>(d)]) {
      auto const& own = all.at(static_cast<std::size_t>(number));
      CHECK(own.device == d);
      CHECK(p[0] == static_cast<int>(own.what.kind));
      CHECK(p[1] == own.what.stage);
      CHECK(p[2] == own.what.micro_batch);
      CHECK(time + p[3].get<tick>() == own.start);
      time = own.start + p[4].get<tick>();
      CHECK(time == own.end);
      std::vector<std::size_t> needs;
      for (int const back : p[5]) needs.push_back(static_cast<std::size_t>(number - back));
      CHECK(needs == own.needs);
      int const route = own.what.micro_batch % 2;
      CHECK(p.size() == (route == 0 ? 6 : 9));
      if (route == 1) CHECK(p[8] == 1);
      ++number;
    }
  }
  CHECK(number == static_cast<int>(all.size()));
}

TEST_CASE("two schedules, side by side in one page") {
  schedule const one = shapes::one_f_one_b(2, 4);
  schedule const other = catalog::v_half(devices{2}) | repeat(micro_batches{4}) | squeeze();
  auto const data = data_of(html(one, other, {.name = "one", .other_name = "other"}));
  REQUIRE(data["schedules"].size() == 2);
  CHECK(data["schedules"][1]["name"] == "other");
  CHECK(data["schedules"][1]["shades"] == 2);
  CHECK(data["schedules"][0]["bound"] == schedule_bound(one)->makespan);
  CHECK(data["schedules"][1]["bound"] == schedule_bound(other)->makespan);
  CHECK(data["schedules"][1]["colours"][0].size() == 2);
  CHECK(data["kinds"].size() == pass_kinds);
  CHECK(data["kinds"][1]["letter"] == "R");
}

TEST_CASE("a page without passes, and one with work, are still pages") {
  schedule empty = shapes::one_f_one_b(2, 2);
  for (auto& order : empty.order) order.clear();
  CHECK(data_of(html(empty))["schedules"][0]["passes"] == nlohmann::json::parse("[[],[]]"));
  schedule const busy = shapes::with_work(shapes::one_f_one_b(2, 2));
  auto const rows = data_of(html(busy))["schedules"][0]["passes"];
  CHECK(rows[0].size() + rows[1].size() == 10);
}

TEST_CASE("thousands of passes make a page that one can send") {
  schedule const s = shapes::one_f_one_b(32, 128);
  CHECK(html(s).size() < 300'000);
}

TEST_CASE("names cannot break out of the page") {
  std::string const name = "</script><script>alert(\"1\")</script>\\";
  std::string const page = html(shapes::one_f_one_b(1, 1), {.title = name, .name = name});
  CHECK(page.find("</script><script>alert") == std::string::npos);
  CHECK(data_of(page)["schedules"][0]["name"] == name);
  CHECK(page.find("<title>&lt;/script&gt;") != std::string::npos);
}

TEST_CASE("the page fetches nothing") {
  std::string const page = html(shapes::one_f_one_b(2, 2));
  for (std::string_view word : {"http:", "https:", " src=", " href=", "@import", "fetch(", "import("})
    CHECK(page.find(word) == std::string::npos);
  CHECK(page.find("default-src 'none'") != std::string::npos);
  CHECK(page.find("prefers-color-scheme:dark") != std::string::npos);
  CHECK(html(shapes::one_f_one_b(2, 2), {.theme = picture_theme::dark}).find("prefers-color-scheme")
        == std::string::npos);
}
