// What the page does when the reader points, zooms, drags and ticks. It comes after drawing.js, whose
// names it uses.
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
// How long the device idles before a pass, and the last of what the pass needs that ended meanwhile.
function waitOf(s, pass) {
  const before = s.passes[pass.index - 1];
  const free = before && before.device === pass.device ? before.end : Math.min(0, s.first);
  const late = pass.needs.map(n => s.passes[n]).filter(other => other.end > free);
  return {time: pass.start - free, until: late.sort((a, b) => b.end - a.end)[0]};
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
  const works = data.kinds[pass.kind].letter === "X";
  line(data.kinds[pass.kind].name + (works ? " of job " : " of stage ") + pass.stage
       + (works ? ", part " : ", micro-batch ") + pass.microBatch);
  line("device " + pass.device + (s.routes > 1 ? ", route " + pass.route : "") + ", " + fromTo(pass)
       + (schedules.length > 1 ? ", " + s.name : ""));
  const wait = waitOf(s, pass);
  if (wait.time > 0)
    line("device " + pass.device + " waits " + inUnits(wait.time) + (wait.until ? " for " + wait.until.token : ""));
  if (pass.needs.length) line("needs " + pass.needs.map(name).join(", "), "need");
  if (pass.gives.length) line("gives to " + pass.gives.map(name).join(", "), "give");
  for (const other of others) {
    if (!other.byToken.has(pass.token)) continue;
    const number = other.byToken.get(pass.token), twin = other.passes[number];
    const later = twin.start - pass.start;
    mark(other, [number], "twin");
    line(other.name + ": " + fromTo(twin) + " on device " + twin.device
         + (later ? ", " + inUnits(Math.abs(later)) + (later > 0 ? " later" : " earlier") : ""), "twin");
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
addEventListener("keydown", event => {
  if (event.target !== window && event.target.closest("input")) return;
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
if (inShares) by("peak").textContent = "peak activations, in a device's share";
const gapOf = s => s.bound ? (100 * (s.makespan / s.bound - 1)).toFixed(2) + " %" : "";
for (const s of schedules) {
  const row = add(by("numbers"), "tr", {});
  const words = [(schedules.length > 1 ? (s.number ? "B: " : "A: ") : "") + s.name, s.devices,
                 s.microBatches, inUnits(s.makespan), s.bound === null ? "" : inUnits(s.bound), gapOf(s), (s.bubble / 100).toFixed(2) + " %",
                 +s.peak.toPrecision(6)];
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
const idle = add(legend, "span", {});
add(idle, "i", {style: "background:var(--idle)"});
add(idle, "span", {}, "idle");
if (schedules.some(s => s.shades > 1))
  add(legend, "span", {}, "dark to light: first to last stage of a device");
if (schedules.some(s => s.routes > 1)) add(legend, "span", {}, "hatched: later routes");
if (all.some(pass => pass.part > 0)) add(legend, "span", {}, "halves: overlapped");
if (schedules.length < 2) for (const node of controls.querySelectorAll(".two")) node.hidden = true;
draw();
