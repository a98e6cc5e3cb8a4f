// What the HTML page does: draws the schedules that are embedded in it, zooms, pans, follows data.
#pragma once

namespace ashlar::render_detail {

// A pass is an array [kind, stage, micro-batch, device, start, end, part, shade, route, needs]; `needs`
// are the numbers of other passes of its schedule.
inline constexpr char const* html_script = R"js(
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const by = id => document.getElementById(id);
const plot = by("plot"), tip = by("tip"), frame = by("frame"), controls = by("controls");
const left = 92, right = 14, top0 = 8, tall = 24;

function add(parent, name, attributes, words) {
  const node = document.createElementNS(parent.namespaceURI, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (words !== undefined) node.textContent = words;
  return parent.appendChild(node);
}

// ---- the data
const schedules = data.schedules.map((s, number) => {
  const passes = s.passes.map((values, index) => {
    const [kind, stage, microBatch, device, start, end, part, shade, route, needs] = values;
    const token = stage + data.kinds[kind].letter + microBatch;
    return {kind, stage, microBatch, device, start, end, part, shade, route, needs, gives: [],
            token, number, index};
  });
  passes.forEach((pass, i) => pass.needs.forEach(n => passes[n].gives.push(i)));
  return {...s, number, passes, byToken: new Map(passes.map((pass, i) => [pass.token, i]))};
});
const all = schedules.flatMap(s => s.passes);
const first = Math.min(0, ...schedules.map(s => s.first));
const last = Math.max(first + 1, ...schedules.map(s => s.makespan));
const window0 = {from: first, to: last + (last - first) * 0.01};
const view = {...window0};

// ---- what never changes
const defs = add(plot, "defs", {});
const clip = add(add(defs, "clipPath", {id: "inside"}), "rect", {x: left, y: 0, height: 1e6});
const behind = add(plot, "g", {}), inside = add(plot, "g", {"clip-path": "url(#inside)"});
const curves = add(inside, "g", {});

// Cells of later routes are hatched, each in another direction.
function fillOf(s, pass) {
  const colour = s.colours[pass.kind][pass.shade];
  if (pass.route === 0) return colour.fill;
  const hatch = (pass.route - 1) % 8, id = ["h", s.number, pass.kind, pass.shade, hatch].join("-");
  if (!by(id)) {
    const step = hatch < 4 ? 7 : 4, turn = [45, -45, 0, 90][hatch % 4];
    const pattern = add(defs, "pattern", {id, width: step, height: step, patternUnits: "userSpaceOnUse",
                                          patternTransform: "rotate(" + turn + ")"});
    add(pattern, "rect", {width: step, height: step, fill: colour.fill});
    add(pattern, "path", {d: "M0 1h" + step, stroke: colour.ink, "stroke-opacity": 0.4,
                          "stroke-width": 1.2});
  }
  return "url(#" + id + ")";
}
for (const s of schedules) {
  s.cells = add(inside, "g", {class: "cells", "data-schedule": s.number});
  s.boxes = s.passes.map((pass, i) => add(s.cells, "rect", {
    "data-pass": pass.token, "data-number": i, fill: fillOf(s, pass)}));
  s.labels = add(s.cells, "g", {class: "labels"});
}
const sent = add(inside, "path", {class: "sent"});
const links = add(inside, "g", {class: "links"});

// ---- where things stand
const chosen = name => controls.elements[name] && controls.elements[name].value;
const ticked = name => controls.elements[name] && controls.elements[name].checked;
function rowOf(s, device) {
  const pitch = tall + (ticked("memory") ? 30 : ticked("transfers") ? 16 : 6);
  const mode = schedules.length < 2 ? "below" : chosen("mode");
  if (mode === "over") return top0 + device * pitch;
  if (mode === "rows") return top0 + (device * schedules.length + s.number) * pitch + device * 6;
  let y = top0;
  for (const before of schedules.slice(0, s.number)) y += before.devices * pitch + 26;
  return y + (schedules.length > 1 ? 16 : 0) + device * pitch;
}
const scale = () => Math.max(100, plot.clientWidth - left - right) / (view.to - view.from);
const xOf = time => left + (time - view.from) * scale();
const overlaid = () => schedules.length > 1 && chosen("mode") === "over";
const isFront = s => !overlaid() || (s.number === 1) === ticked("front");
// Of two schedules laid over each other the front one has lower cells, so that both are seen.
const inset = pass => overlaid() && isFront(schedules[pass.number]) ? tall / 4 : 0;
const heightOf = pass => (tall - 2 * inset(pass)) / (pass.part === 0 ? 1 : 2);
const topOf = pass =>
  rowOf(schedules[pass.number], pass.device) + inset(pass) + (pass.part === 2 ? heightOf(pass) : 0);

function round(step) {
  const decade = 10 ** Math.floor(Math.log10(Math.max(step, 1)));
  return [1, 2, 5, 10].map(f => f * decade).find(n => n >= step) || 1;
}
function curve(pass, other) {  // from the end of one to the start of the other
  const x1 = xOf(pass.end), x2 = xOf(other.start), bend = Math.abs(x2 - x1) / 2;
  const y1 = topOf(pass) + heightOf(pass) / 2, y2 = topOf(other) + heightOf(other) / 2;
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

function draw() {
  const width = Math.max(200, plot.clientWidth), zoom = scale();
  const over = overlaid();
  clip.setAttribute("width", width - left);
  behind.replaceChildren();
  curves.replaceChildren();
  let bottom = 0, sentData = "";
  for (const s of schedules) {
    const front = isFront(s);
    s.cells.classList.toggle("front", over && front);
    if (front) inside.insertBefore(s.cells, sent);
    for (let device = 0; device < s.devices; ++device) {
      const y = rowOf(s, device), both = schedules.length > 1 && chosen("mode") === "rows";
      if (s.number === 0 || !over || device >= schedules[0].devices) {
        const words = both ? "device " + device + (s.number ? " B" : " A") : "device " + device;
        add(behind, "text", {x: left - 8, y: y + tall / 2 + 4, class: "end"}, words);
      }
      const wide = Math.max(0, xOf(s.makespan) - xOf(first));
      add(curves, "rect", {x: xOf(first), y, width: wide, height: tall, class: "idle"});
      if (device === 0 && !over && !both && schedules.length > 1)
        add(behind, "text", {x: 0, y: y - 5, class: "name"}, (s.number ? "B: " : "A: ") + s.name);
      bottom = Math.max(bottom, y + tall + (ticked("memory") ? 26 : 0));
      if (ticked("memory") && front) {
        const floor = y + tall + 24, unit = 20 / Math.max(1, ...schedules.map(other => other.peak));
        let path = "";
        for (const [time, held] of s.held[device])
          path += (path ? "H" + xOf(time) : "M" + xOf(time) + " " + floor) + "V" + (floor - held * unit);
        add(curves, "path", {d: path && path + "H" + xOf(last) + "V" + floor, class: "held"});
      }
    }
    const words = [];
    s.passes.forEach((pass, i) => {
      const x = xOf(pass.start), wide = xOf(pass.end) - x, y = topOf(pass), high = heightOf(pass);
      const hair = wide > 4 ? 0.5 : 0, box = s.boxes[i], label = String(pass.microBatch);
      box.setAttribute("x", x + hair);
      box.setAttribute("y", y);
      box.setAttribute("width", Math.max(0.2, wide - 2 * hair));
      box.setAttribute("height", high);
      if (front && wide > 6.4 * label.length + 3 && x < width && x + wide > left) {
        const colour = s.colours[pass.kind][pass.shade], small = high < tall;
        words.push({x: x + wide / 2, y: y + high / 2 + (small ? 3.2 : 4), class: small ? "small" : "",
                    style: `fill:${colour.ink};stroke:${pass.route ? colour.fill : "none"}`, label});
      }
      if (ticked("transfers") && front)
        for (const n of pass.needs)
          if (s.passes[n].device !== pass.device) sentData += curve(s.passes[n], pass);
    });
    s.labels.replaceChildren();
    for (const {label, ...attributes} of words) add(s.labels, "text", attributes, label);
  }
  sent.setAttribute("d", sentData);
  const step = round(Math.max(12, 7 * String(last).length + 10) / zoom);
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
    add(behind, "path", {d: `M${xOf(t)} ${bottom + 4}v5`, class: "rule"});
    add(behind, "text", {x: xOf(t), y: bottom + 20, class: "middle small"}, t);
  }
  add(behind, "text", {x: left - 8, y: bottom + 20, class: "end small"}, "ticks");
  plot.setAttribute("height", bottom + 28);
  if (shown) show(shown);
}

// ---- following data
let shown = null;
function mark(s, numbers, look) {
  for (const n of numbers) s.boxes[n].classList.add(look);
}
function hide() {
  for (const box of plot.querySelectorAll(".cells rect[class]")) box.removeAttribute("class");
  links.replaceChildren();
  plot.classList.remove("focus");
  tip.hidden = true;
  shown = null;
}
function line(words, look) {
  const node = add(tip, "div", {}, words);
  if (look) node.className = look;
}
function show(pass) {
  hide();
  shown = pass;
  const s = schedules[pass.number], others = schedules.filter(other => other !== s);
  const name = n => s.passes[n].token + " on device " + s.passes[n].device;
  plot.classList.add("focus");
  mark(s, pass.needs, "need");
  mark(s, pass.gives, "give");
  mark(s, [pass.index], "here");
  for (const n of pass.needs) add(links, "path", {d: curve(s.passes[n], pass), class: "need"});
  for (const n of pass.gives) add(links, "path", {d: curve(pass, s.passes[n]), class: "give"});
  tip.replaceChildren();
  add(tip, "b", {}, pass.token);
  line(data.kinds[pass.kind].name + " of stage " + pass.stage + ", micro-batch " + pass.microBatch);
  line("device " + pass.device + (s.routes > 1 ? ", route " + pass.route : "") + ", ticks " + pass.start
       + " to " + pass.end + (schedules.length > 1 ? ", " + s.name : ""));
  if (pass.needs.length) line("needs " + pass.needs.map(name).join(", "), "need");
  if (pass.gives.length) line("gives to " + pass.gives.map(name).join(", "), "give");
  for (const other of others) {
    if (!other.byToken.has(pass.token)) continue;
    const number = other.byToken.get(pass.token), twin = other.passes[number];
    const later = twin.start - pass.start;
    mark(other, [number], "twin");
    line(other.name + ": ticks " + twin.start + " to " + twin.end + " on device " + twin.device
         + (later ? ", " + Math.abs(later) + (later > 0 ? " later" : " earlier") : ""), "twin");
  }
  tip.hidden = false;
}
function place(event) {
  const box = tip.getBoundingClientRect();
  const x = event.clientX + 16, y = event.clientY + 18;
  tip.style.left = Math.max(4, Math.min(x, innerWidth - box.width - 8)) + "px";
  const above = Math.max(4, event.clientY - box.height - 12);
  tip.style.top = (y + box.height > innerHeight - 8 ? above : y) + "px";
}

// ---- moving about
function move(from, to) {
  const least = Math.max((last - first) / 5000, 1), most = (window0.to - window0.from) * 1.5;
  const length = Math.min(Math.max(to - from, least), most), middle = (from + to) / 2;
  view.from = Math.min(Math.max(middle - length / 2, first - length / 2), last - length / 2);
  view.to = view.from + length;
  draw();
}
function zoomAt(time, factor) {
  const length = view.to - view.from, least = Math.max((last - first) / 5000, 1);
  const f = Math.max(factor, least / length);
  move(time - (time - view.from) * f, time + (view.to - time) * f);
}
const timeAt = event => view.from + (event.clientX - plot.getBoundingClientRect().left - left) / scale();

let drag = null;
plot.addEventListener("pointerover", event => {
  const box = event.target.closest("rect[data-pass]");
  if (drag) return;
  if (!box) return hide();
  show(schedules[box.parentNode.dataset.schedule].passes[box.dataset.number]);
  place(event);
});
plot.addEventListener("pointerleave", () => drag || hide());
plot.addEventListener("pointerdown", event => {
  if (event.button !== 0) return;
  drag = {x: event.clientX, y: event.clientY, from: view.from, to: view.to, scroll: frame.scrollTop};
  plot.classList.add("drag");
});
addEventListener("pointermove", event => {
  if (!drag) return shown && place(event);
  const ticks = (drag.x - event.clientX) / scale();
  frame.scrollTop = drag.scroll + drag.y - event.clientY;
  hide();
  move(drag.from + ticks, drag.to + ticks);
});
addEventListener("pointerup", () => {
  drag = null;
  plot.classList.remove("drag");
});
plot.addEventListener("wheel", event => {
  event.preventDefault();
  const length = view.to - view.from;
  if (event.shiftKey) {
    const ticks = length * (event.deltaY || event.deltaX) / 1000;
    move(view.from + ticks, view.to + ticks);
  } else {
    zoomAt(timeAt(event), Math.exp(Math.max(-400, Math.min(400, event.deltaY)) / 400));
  }
}, {passive: false});
const middle = () => (view.from + view.to) / 2;
const acts = {
  "+": () => zoomAt(middle(), 0.7),
  "-": () => zoomAt(middle(), 1 / 0.7),
  "0": () => move(window0.from, window0.to),
  ArrowLeft: () => move(view.from - (view.to - view.from) / 8, view.to - (view.to - view.from) / 8),
  ArrowRight: () => move(view.from + (view.to - view.from) / 8, view.to + (view.to - view.from) / 8),
};
plot.addEventListener("keydown", event => {
  const act = acts[event.key === "=" ? "+" : event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
for (const button of controls.querySelectorAll("button"))
  button.addEventListener("click", () => acts[button.value]());
controls.addEventListener("submit", event => event.preventDefault());
controls.addEventListener("input", () => {
  by("front").hidden = !overlaid();
  draw();
});
addEventListener("resize", draw);

// ---- words around
for (const s of schedules) {
  const row = add(by("numbers"), "tr", {});
  const words = [(schedules.length > 1 ? (s.number ? "B: " : "A: ") : "") + s.name, s.devices,
                 s.microBatches, s.makespan, (s.bubble / 100).toFixed(2) + " %", s.peak];
  for (const word of words) add(row, "td", {}, word);
}
const legend = by("legend");
data.kinds.forEach((kind, number) => {
  const used = schedules.find(s => s.passes.some(pass => pass.kind === number));
  if (!used) return;
  const item = add(legend, "span", {});
  for (const colour of used.colours[number])
    add(item, "i", {style: "background:" + colour.fill + ";margin-right:-5px"});
  add(item, "span", {style: "margin-left:5px"}, kind.name);
});
if (schedules.some(s => s.shades > 1))
  add(legend, "span", {}, "dark to light: first to last stage of a device");
if (schedules.some(s => s.routes > 1)) add(legend, "span", {}, "hatched: later routes");
if (all.some(pass => pass.part > 0)) add(legend, "span", {}, "halves: overlapped");
if (schedules.length < 2) for (const node of controls.querySelectorAll(".two")) node.hidden = true;
draw();
)js";

}  // namespace ashlar::render_detail
