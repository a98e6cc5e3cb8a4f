// The data inside the HTML page; test/browser looks at what the page does with it.
#include "shapes.hpp"
#include <ashlar/render/html.hpp>
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
  CHECK(shown["bound"].is_null());  // several routes
  CHECK(shown["bubble"].get<double>() == doctest::Approx(10'000 * bubble_rate(s)).epsilon(0.001));
  auto const all = needs_of(s);
  REQUIRE(shown["passes"].size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const& p = shown["passes"][i];
    CHECK(p[0] == static_cast<int>(all[i].what.kind));
    CHECK(p[1] == all[i].what.stage);
    CHECK(p[2] == all[i].what.micro_batch);
    CHECK(p[3] == all[i].device);
    CHECK(p[4] == all[i].start);
    CHECK(p[5] == all[i].end);
    CHECK(p[8] == all[i].what.micro_batch % 2);  // the route
    CHECK(p[9] == all[i].needs);
  }
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
  CHECK(data_of(html(empty))["schedules"][0]["passes"].empty());
  schedule const busy = shapes::with_work(shapes::one_f_one_b(2, 2));
  CHECK(data_of(html(busy))["schedules"][0]["passes"].size() == 10);
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
