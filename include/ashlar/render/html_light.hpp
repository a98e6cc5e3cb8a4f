// Made by cmake/embed_page.cmake of cmake/page/light.css: change that file.
#pragma once

namespace ashlar::render_detail {

inline constexpr char const* html_light = R"css(
:root{
  color-scheme:light;
  --page:#fff;
  --ink:#1f2328;
  --faint:#57606a;
  --idle:#e9ecef;
  --rule:#6e7781;
  --held:#c9d1da;
  --tip:#fff;
  --need:#c2185b;
  --give:#00796b;
  --twin:#1f2328;
}
)css";

}  // namespace ashlar::render_detail
