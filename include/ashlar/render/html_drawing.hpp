// Made by cmake/embed_page.cmake of cmake/page/drawing.js: change that file.
#pragma once

namespace ashlar::render_detail {

inline constexpr char const* html_drawing = R"js(
// What the page draws: the schedules that are embedded in it. Passes are listed device by device and so
// numbered, each as [kind, stage, micro-batch, wait, length, needs, part, shade, route]: `wait` ticks
// after the end of the one before it; `needs` are differences to the numbers of other passes of its
// schedule; what is 0 at the end is left out.
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
const inUnits = time => +(time / data.unit.ticks).toPrecision(12);
const fromTo = pass => data.unit.name + " " + inUnits(pass.start) + " to " + inUnits(pass.end);
const schedules = data.schedules.map((s, number) => {
  const passes = [];
  s.passes.forEach((row, device) => {
    let end = 0;
    for (const [kind, stage, microBatch, wait, length, back, part = 0, shade = 0, route = 0] of row) {
      const start = end + wait, index = passes.length, letter = data.kinds[kind].letter;
      end = start + length;
      passes.push({kind, stage, microBatch, device, start, end, part, shade, route, gives: [],
                   needs: back.map(n => index - n), token: stage + letter + microBatch,
                   label: (letter === "X" ? stage + "." : "") + microBatch, number, index});
    }
  });
  passes.forEach((pass, i) => pass.needs.forEach(n => passes[n].gives.push(i)));
  return {...s, number, passes, byToken: new Map(passes.map((pass, i) => [pass.token, i]))};
});
// Activations of schedules with different stages are counted in those of a device's share of the model.
const stagesOf = s => s.passes.reduce((most, pass) => Math.max(most, pass.stage + 1), 1);
const inShares = schedules.length > 1 && stagesOf(schedules[0]) !== stagesOf(schedules[1]);
for (const s of schedules) {
  const share = inShares ? s.devices / stagesOf(s) : 1;
  s.peak *= share;
  s.held = s.held.map(steps => steps.map(([time, held]) => [time, held * share]));
}
const all = schedules.flatMap(s => s.passes);
const first = Math.min(0, ...schedules.map(s => s.first));
const last = Math.max(first + 1, ...schedules.map(s => s.makespan));
const window0 = {from: first, to: last + (last - first) * 0.01};
const view = {...window0};
const least = (least, other) => Math.min(least, other), most = (most, other) => Math.max(most, other);
const shortest = all.map(pass => pass.end - pass.start).reduce(least, Infinity);
const letters = all.map(pass => pass.label.length).reduce(most, 1);

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
  const numbers = shortest * zoom > 6.4 * letters + 3;  // in all cells or in none
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
      const hair = wide > 4 ? 0.5 : 0, box = s.boxes[i], label = pass.label;
      box.setAttribute("x", x + hair);
      box.setAttribute("y", y);
      box.setAttribute("width", Math.max(0.2, wide - 2 * hair));
      box.setAttribute("height", high);
      if (front && numbers && x < width && x + wide > left) {
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
  const step = round(Math.max(12, 7 * String(inUnits(last)).length + 10) / zoom / data.unit.ticks) * data.unit.ticks;
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
    add(behind, "path", {d: `M${xOf(t)} ${bottom + 4}v5`, class: "rule"});
    add(behind, "text", {x: xOf(t), y: bottom + 20, class: "middle small"}, inUnits(t));
  }
  add(behind, "text", {x: left - 8, y: bottom + 20, class: "end small"}, data.unit.name);
  plot.setAttribute("height", bottom + 28);
  if (shown) show(shown);
}
)js";

}  // namespace ashlar::render_detail
