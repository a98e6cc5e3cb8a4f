// Made by cmake/embed_page.cmake of cmake/page/body.html: change that file.
#pragma once

namespace ashlar::render_detail {

inline constexpr char const* html_body = R"html(
<table><thead><tr><th>schedule</th><th>devices</th><th>micro-batches</th><th>makespan</th>
<th title="no schedule of the same passes with the same memory takes less">no less than</th><th>gap</th>
<th>bubble rate</th><th id="peak">peak activations</th></tr></thead><tbody id="numbers"></tbody></table>
<form id="controls">
<fieldset class="two">
<label><input type="radio" name="mode" value="below" checked>one below the other</label>
<label><input type="radio" name="mode" value="rows">device by device</label>
<label><input type="radio" name="mode" value="over">overlaid</label>
<label id="front" hidden><input type="checkbox" name="front">B in front</label>
</fieldset>
<fieldset><label><input type="checkbox" name="transfers">transfers</label>
<label><input type="checkbox" name="memory">activations held</label></fieldset>
<fieldset><button type="button" value="-" aria-label="zoom out">−</button>
<button type="button" value="+" aria-label="zoom in">+</button>
<button type="button" value="0">whole</button></fieldset>
<span>wheel: zoom; drag: move; pointer: what a pass needs and gives</span>
</form>
<div id="legend"></div>
<div id="frame"><svg id="plot" tabindex="0" role="img" aria-label="schedules over time"></svg></div>
<div id="tip" hidden></div>
)html";

}  // namespace ashlar::render_detail
