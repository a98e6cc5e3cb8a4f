// SVG pictures: well-formed, complete, and safe with any title.
#include <ashlar/catalog.hpp>
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

// Tags nest, attributes are quoted, no bare ampersand. Enough of XML for what we write.
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

}  // namespace

TEST_CASE("pictures of the whole catalog are well-formed and show every pass") {
  for (auto const& entry : catalog::entries) {
    catalog::shape const shape{devices{4}, micro_batches{8}};
    schedule const s = entry.make(shape);
    std::size_t passes = 0;
    for (auto const& order : s.order) passes += order.size();
    std::string const drawn = svg(s);
    CHECK(well_formed(drawn));
    CHECK(count(drawn, ", micro-batch ") == passes);
    CHECK(drawn.find("prefers-color-scheme:dark") != std::string::npos);

    if (entry.block_of == nullptr) continue;
    block const b = entry.block_of(shape);
    std::string const small = svg(b);
    CHECK(well_formed(small));
    CHECK(count(small, "holds its activations for")
          == static_cast<std::size_t>(s.stage_count() * b.micro_batch_count()));
    CHECK(small.find("interval ") != std::string::npos);
  }
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
  CHECK(drawn.find(">999<") == std::string::npos);  // no room for numbers
}
