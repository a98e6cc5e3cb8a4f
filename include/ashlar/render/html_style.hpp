// Made by cmake/embed_page.cmake of cmake/page/style.css: change that file.
#pragma once

namespace ashlar::render_detail {

inline constexpr char const* html_style = R"css(
body{margin:0;padding:14px 18px;height:100vh;box-sizing:border-box;display:flex;flex-direction:column;
gap:10px;background:var(--page);color:var(--ink);font:13px Helvetica,Arial,"Liberation Sans",sans-serif}
h1{font-size:17px;margin:0}
table{border-collapse:collapse;align-self:flex-start}
td,th{padding:1px 14px 1px 0;text-align:right;font-variant-numeric:tabular-nums}
th{color:var(--faint);font-weight:normal}
td:first-child,th:first-child{text-align:left}
td:not(:first-child){white-space:nowrap}
@media(max-width:600px){body{padding:8px;height:auto;min-height:100vh}td,th{padding-right:6px;font-size:12px}
table{display:block;max-width:100%;overflow-x:auto}th{white-space:nowrap}}
form{display:flex;flex-wrap:wrap;gap:6px 16px;align-items:center;margin:0}
fieldset{border:0;margin:0;padding:0;display:flex;gap:10px}
label{display:flex;gap:5px;align-items:center}
button{font:inherit;min-width:28px}
#legend{display:flex;flex-wrap:wrap;gap:4px 14px;color:var(--ink)}
#legend span{display:flex;align-items:center;gap:5px}
#legend i{display:inline-block;width:13px;height:13px}
#frame{flex:1;min-height:120px;overflow-y:auto}
#plot{display:block;width:100%;cursor:grab;touch-action:none;user-select:none;outline-offset:-2px}
#plot.drag{cursor:grabbing}
#plot text{font-size:11px;fill:var(--ink)}
#plot text.end{text-anchor:end}
#plot text.middle{text-anchor:middle}
#plot text.small{font-size:9px}
#plot text.name{font-weight:bold}
#plot .cells text{text-anchor:middle;pointer-events:none;paint-order:stroke;stroke-width:3px;
stroke-linejoin:round}
.idle{fill:var(--idle)}
.rule{stroke:var(--rule);fill:none}
.held{fill:var(--held);stroke:var(--rule);pointer-events:none}
.sent{stroke:var(--faint);stroke-opacity:.7;fill:none;pointer-events:none}
.links{fill:none;pointer-events:none;stroke-width:2}
.links .need,.links .give{fill:none}
#plot.focus .cells rect{opacity:.32}
#plot.focus .cells text{opacity:.7}
:where(.front) rect{stroke:var(--page)}
#plot.focus .cells .here,#plot.focus .cells .need,#plot.focus .cells .give,#plot.focus .cells .twin{
opacity:1;stroke-width:2.5;paint-order:normal}
.here{stroke:var(--ink)}.need{stroke:var(--need)}.give{stroke:var(--give)}
.twin{stroke:var(--twin);stroke-dasharray:4 3}
#tip{position:fixed;z-index:1;pointer-events:none;max-width:340px;padding:7px 10px;border-radius:5px;
border:1px solid var(--rule);background:var(--tip);line-height:1.45;box-shadow:0 2px 8px #0004}
#tip b{font-size:14px}
#tip .need{color:var(--need)}#tip .give{color:var(--give)}#tip .twin{color:var(--faint)}
[hidden]{display:none!important}
)css";

}  // namespace ashlar::render_detail
