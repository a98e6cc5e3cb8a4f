// Made by cmake/embed_page.cmake of cmake/page/dark.css: change that file.
#pragma once

namespace ashlar::render_detail {

inline constexpr char const* html_dark = R"css(
:root{
  color-scheme:dark;
  --page:#0d1117;
  --ink:#e6edf3;
  --faint:#9da7b3;
  --idle:#21262d;
  --rule:#8b949e;
  --held:#373e47;
  --tip:#161b22;
  --need:#ff7eb6;
  --give:#4fd1c5;
  --twin:#e6edf3;
}
)css";

}  // namespace ashlar::render_detail
