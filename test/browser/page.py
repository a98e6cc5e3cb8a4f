#!/usr/bin/env python3
"""The HTML page works in a browser: it draws all passes, overlapped pairs as halves, shows what a pass needs, zooms, moves,
compares.

usage: page.py TOOL [CHROMIUM]      exit code 77: skipped, for there is no browser
"""
import html
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
TOOL = sys.argv[1]
BROWSER = sys.argv[2] if len(sys.argv) > 2 else ""
complaints = []

# This stands before the page's own script.
CATCH = "<script>const problems = []; addEventListener('error', event => problems.push(event.message));</script>"

# This stands behind it: it acts as a user does and writes down what is then to be seen.
PROBE = """<script>
{
const boxes = number => [...document.querySelectorAll(`[data-schedule="${number}"] rect[data-pass]`)];
const tokens = look => [...document.querySelectorAll(".cells rect." + look)].map(box => box.dataset.pass).sort();
const place = box => ["x", "y", "width", "height"].map(name => Number(box.getAttribute(name)));
const over = (node, x = 0, y = 0) =>
  node.dispatchEvent(new PointerEvent("pointerover", {bubbles: true, clientX: x, clientY: y}));
const count = selector => document.querySelectorAll(selector).length;
const seen = {schedules: [], problems};
try {
  for (let number = 0; boxes(number).length; ++number) {
    const passes = boxes(number).map(box => {
      over(box);
      const marks = Object.fromEntries(["here", "need", "give", "twin"].map(look => [look, tokens(look)]));
      return {token: box.dataset.pass, place: place(box), fill: getComputedStyle(box).fill, ...marks,
              lines: count(".links path"), tip: document.getElementById("tip").innerText};
    });
    seen.schedules.push(passes);
  }
  seen.labels = count(".labels text");
  seen.legend = document.getElementById("legend").innerText;
  over(document.getElementById("plot"));
  seen.afterwards = {marks: count(".cells rect[class]"), lines: count(".links path"),
                     tip: document.getElementById("tip").hidden};
  seen.page = getComputedStyle(document.body).backgroundColor;

  const box = boxes(0)[3], rim = document.getElementById("plot").getBoundingClientRect();
  const wheel = (deltaY, x) => document.getElementById("plot").dispatchEvent(
    new WheelEvent("wheel", {bubbles: true, cancelable: true, deltaY, clientX: x}));
  const key = name => document.getElementById("plot").dispatchEvent(
    new KeyboardEvent("keydown", {bubbles: true, cancelable: true, key: name}));
  seen.before = place(box);
  wheel(-400, rim.left + place(box)[0]);
  seen.zoomed = place(box);
  for (let i = 0; i < 60; ++i) wheel(-400, rim.left + 300);
  seen.closest = place(box);
  key("0");
  seen.whole = place(box);
  key("ArrowRight");
  seen.right = place(box);
  key("0");
  const pointer = (name, node, x) => node.dispatchEvent(
    new PointerEvent(name, {bubbles: true, button: 0, clientX: x, clientY: 0}));
  pointer("pointerdown", box, 500);
  pointer("pointermove", document.body, 450);
  pointer("pointerup", document.body, 450);
  seen.dragged = place(box);
  key("0");

  const controls = document.getElementById("controls");
  const tick = name => { controls.elements[name].click(); };
  tick("transfers");
  seen.sent = (document.querySelector(".sent").getAttribute("d").match(/M/g) || []).length;
  tick("memory");
  seen.curves = count("path.held");
  tick("memory");
  seen.modes = {};
  for (const radio of controls.querySelectorAll("[name=mode]")) {
    radio.click();
    seen.modes[radio.value] = [0, 1].map(number => boxes(number).map(place));
  }
  seen.touched = [0, 1].map(number => boxes(number).filter(box => {
    const rim = box.getBoundingClientRect();
    return document.elementFromPoint(rim.x + rim.width / 2, rim.y + 3) === box;
  }).length);
  tick("front");
  seen.swapped = [0, 1].map(number => boxes(number).map(place));
  seen.rows = document.querySelectorAll("#numbers tr").length;
  seen.numbers = document.getElementById("numbers").innerText;
} catch (problem) {
  problems.push(String(problem.stack || problem));
}
document.body.append(Object.assign(document.createElement("pre"), {id: "probe", textContent: JSON.stringify(seen)}));
}
</script>"""


def check(holds, what):
    if not holds:
        complaints.append(what)


def emit(*arguments):
    return subprocess.run([TOOL, "emit", *arguments], check=True, capture_output=True, text=True).stdout


def look_at(page):
    """The page as the browser shows it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "page.html")
        file.write_text(page.replace("<head>", "<head>" + CATCH, 1).replace("</body>", PROBE + "</body>"))
        command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--window-size=1200,800", f"--user-data-dir={folder}/profile", "--dump-dom", file.as_uri()]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    found = re.search(r'<pre id="probe">(.*?)</pre>', ran.stdout, re.S)
    if not found:
        sys.exit(f"the page's script did not run to its end\n{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}")
    return json.loads(html.unescape(found[1]))


def expected(schedule, sequence_chunks=1):
    """The needs of each pass of a chain, computed again: by stage and micro-batch, from the orders alone. In a sequence of chunks
    each forward also needs the one before, each backward the one behind."""
    passes = {}
    for device, (order, starts) in enumerate(zip(schedule["orders"], schedule["starts"])):
        for token, start in zip(order, starts):
            stage, kind, micro_batch = re.fullmatch(r"(\d+)([FRBIW])(\d+)", token).groups()
            passes[token] = (int(stage), kind, int(micro_batch), device, start)
    needs = {}
    for token, (stage, kind, k, _, _) in passes.items():
        wanted = {"F": [f"{stage - 1}F{k}"], "R": [f"{stage}F{k}"], "W": [f"{stage}I{k}"]}.get(
            kind, [f"{stage}F{k}", f"{stage}R{k}", f"{stage + 1}B{k}", f"{stage + 1}I{k}"])
        if kind == "F" and k % sequence_chunks > 0:
            wanted.append(f"{stage}F{k - 1}")
        if kind in "BI" and (k + 1) % sequence_chunks > 0:
            wanted += [f"{stage}B{k + 1}", f"{stage}I{k + 1}"]
        needs[token] = sorted(name for name in wanted if name in passes)
    gives = {token: sorted(other for other in needs if token in needs[other]) for token in needs}
    return passes, needs, gives


def pairs(schedule):
    """The overlapped pairs: forward and backward that begin together on a device."""
    return [(first, second) for order, starts in zip(schedule["orders"], schedule["starts"])
            for first, second, a, b in zip(order, order[1:], starts, starts[1:]) if a == b]


def check_halves(name, places, schedule, whole):
    """A pair is two halves of a cell, the forward above; every other pass is a cell of height `whole`."""
    together = pairs(schedule)
    for first, second in together:
        (x, y, width, height), below = places[first], places[second]
        check("F" in first and "B" in second, f"{name}: {first} and {second} begin together")
        check(height == whole / 2 and below == [x, y + whole / 2, width, whole / 2],
              f"{name}: {first} at {places[first]} and {second} at {below} are no halves")
    halves = {token for pair in together for token in pair}
    for token, place in places.items():
        check(token in halves or place[3] == whole, f"{name}: {token} is {place[3]} high")
    return len(together)


def waits(schedule):
    """How long its device idles before each pass."""
    parts = {"F": ["forward"], "I": ["backward_input"], "W": ["backward_weight"], "B": ["backward_input", "backward_weight"]}
    each = schedule["costs"]["per_stage"]
    idle = {}
    for order, starts in zip(schedule["orders"], schedule["starts"]):
        free = 0
        for token, start in zip(order, starts):
            stage, kind, _ = re.fullmatch(r"(\d+)([FBIW])(\d+)", token).groups()
            idle[token] = start - free
            free = start + sum(each[int(stage) % len(each)][part] for part in parts[kind])
    return idle


def check_schedule(name, seen, schedule, other_tokens, sequence_chunks=1, unit=1):
    """`unit`: what a tick of the schedule alone is on the page."""
    passes, needs, gives = expected(schedule, sequence_chunks)
    idle = {} if pairs(schedule) else waits(schedule)
    check(not idle or max(idle.values()) > 0, f"{name}: nothing waits")
    check(sorted(p["token"] for p in seen) == sorted(passes), f"{name}: not every pass is drawn once")
    scale = None
    for p in seen:
        token, (x, y, width, height) = p["token"], p["place"]
        if token not in passes:
            continue
        start = passes[token][4]
        check(p["here"] == [token], f"{name}: {token} under the pointer, but {p['here']} is marked")
        check(p["need"] == needs[token], f"{name}: {token} needs {needs[token]}, but {p['need']} is marked")
        check(p["give"] == gives[token], f"{name}: {token} gives to {gives[token]}, but {p['give']} is marked")
        check(p["twin"] == ([token] if token in other_tokens else []), f"{name}: {token}: twins {p['twin']}")
        check(p["lines"] == len(needs[token]) + len(gives[token]), f"{name}: {token}: {p['lines']} lines")
        check(p["tip"].startswith(token) and all(n in p["tip"] for n in needs[token]),
              f"{name}: {token}: the words are {p['tip']!r}")
        if token in idle:
            words = re.search(r" waits ([\d.]+)(?: for (\w+))?", p["tip"])
            told = float(words[1]) if words else 0
            check(abs(idle[token] * unit - told) < 1e-9, f"{name}: {token} waits {idle[token] * unit}, not {p['tip']!r}")
            check(not words or words[2] is None or words[2] in needs[token], f"{name}: {token} waits for what it does not need")
        check(width > 2 and height > 5, f"{name}: {token} is {width} by {height}")
        if start > 0:
            scale = scale or (x - 92.5) / start  # a margin, and a hair between neighbours
            check(abs(x - 92.5 - start * scale) < 1e-3, f"{name}: {token} at tick {start} stands at {x}")
    return len(passes)


def main():
    if not BROWSER or not Path(BROWSER).exists():
        print("skipped: no chromium here (Debian: chromium), so nobody looked at the HTML page")
        return SKIPPED
    shape = ["-p", "3", "-m", "5"]
    page = emit("zb-h1", *shape, "--as", "html", "--against", "v-half", "--dark")
    for word in ("http:", "https:", "src=", "href=", "@import", "url(\"", "url('"):
        check(word not in page, f"the page has outside parts: {word}")
    schedules = [json.loads(emit(name, *shape, "--as", "json")) for name in ("zb-h1", "v-half")]
    seen = look_at(page)
    check(not seen["problems"], f"problems: {seen['problems']}")
    check(len(seen["schedules"]) == 2, "not two schedules")
    tokens = [set(expected(schedule)[0]) for schedule in schedules]
    units = [1, 0.5]  # on one model, a stage of v-half is half of one of zb-h1
    drawn = sum(check_schedule(schedule["schedule"], passes, schedule, other, unit=unit)
                for schedule, passes, other, unit in zip(schedules, seen["schedules"], reversed(tokens), units))
    check(seen["labels"] == drawn, f"{seen['labels']} numbers on {drawn} passes")
    check(seen["afterwards"] == {"marks": 0, "lines": 0, "tip": True}, f"marks stay: {seen['afterwards']}")
    check(seen["page"] == "rgb(13, 17, 23)", f"the dark page is {seen['page']}")

    before, zoomed = seen["before"], seen["zoomed"]
    check(zoomed[2] > 2 * before[2] and abs(zoomed[0] - before[0]) < 1, f"zoom: {before} becomes {zoomed}")
    check(seen["closest"][2] > 10 * before[2], f"closest: {seen['closest']}")
    check(seen["whole"] == before, f"the whole again: {seen['whole']} instead of {before}")
    check(seen["right"][0] < before[0] and abs(seen["right"][2] - before[2]) < 1e-6, f"to the right: {seen['right']}")
    check(abs(seen["dragged"][0] - (before[0] - 50)) < 1e-6, f"dragged by 50: {before} becomes {seen['dragged']}")

    transfers = sum(passes[a][3] != passes[b][3] for passes, needs, _ in map(expected, schedules)
                    for a in needs for b in needs[a])
    check(seen["sent"] == transfers, f"{seen['sent']} transfers drawn, not {transfers}")
    check(seen["curves"] == 6, f"{seen['curves']} curves of activations, not 6")
    rows = {mode: [{place[1] for place in places} for places in both] for mode, both in seen["modes"].items()}
    check(max(rows["below"][0]) < min(rows["below"][1]), "one below the other: they are not")
    low, high = seen["modes"]["over"]
    check({y - 6 for y in rows["over"][0]} == rows["over"][1] and len(rows["over"][1]) == 3, "overlaid: rows differ")
    check({h for _, _, _, h in low} == {12} and {h for _, _, _, h in high} == {24}, "overlaid: one does not show the other")
    check(seen["touched"] == [len(low), len(high)], f"overlaid: {seen['touched']} cells can be pointed at")
    check({p[3] for p in seen["swapped"][0]} == {24} and {p[3] for p in seen["swapped"][1]} == {12}, "B in front: it is not")
    one, other = sorted(rows["rows"][0]), sorted(rows["rows"][1])
    check(one[0] < other[0] < one[1] < other[1] < one[2] < other[2], "device by device: they are not")
    gaps = [f"{schedule['makespan'] * unit:g}\t{schedule['makespan_bound'] * unit:g}\t{100 * schedule['makespan_gap']:.2f} %"
            for schedule, unit in zip(schedules, units)]
    check(seen["rows"] == 2 and all(gap in seen["numbers"] for gap in gaps),
          f"the numbers are not there: {seen['numbers']!r} instead of {gaps}")

    alone = look_at(emit("1f1b", *shape, "--as", "html", "--light"))
    check(not alone["problems"], f"problems of one schedule: {alone['problems']}")
    check(len(alone["schedules"]) == 1 and alone["page"] == "rgb(255, 255, 255)", "one schedule, light")
    drawn += check_schedule("1f1b", alone["schedules"][0], json.loads(emit("1f1b", *shape, "--as", "json")), set())

    # These have overlapped pairs, and sequences in three chunks.
    pair, chunks = ["dualpipev", "-p", "3", "-m", "6"], ["seq1f1b", "-p", "3", "-m", "2", "--sequence-chunks", "3"]
    schedule = json.loads(emit(*pair, "--as", "json"))
    found = look_at(emit(*pair, "--as", "html", "--light"))
    check(not found["problems"], f"problems of overlapped pairs: {found['problems']}")
    drawn += check_schedule("dualpipev", found["schedules"][0], schedule, set())
    places = {p["token"]: p["place"] for p in found["schedules"][0]}
    check(check_halves("dualpipev", places, schedule, 24) > 6, "hardly any pair overlaps")
    check("halves: overlapped" in found["legend"], f"the legend says {found['legend']!r}")
    check("halves" not in seen["legend"], "halves where nothing overlaps")

    both = look_at(emit(*pair, "--as", "html", "--against", "zbv"))
    check(not both["problems"], f"problems of pairs in a comparison: {both['problems']}")
    check(len(both["schedules"]) == 2, "no other schedule beside the pairs")
    tokens = [p["token"] for p in both["schedules"][0]]
    for when, high in (("over", 12), ("below", 24), ("rows", 24)):
        check_halves(f"dualpipev, {when}", dict(zip(tokens, both["modes"][when][0])), schedule, high)

    schedule = json.loads(emit(*chunks, "--as", "json"))
    check(schedule["micro_batches"] == 6, "two sequences of three chunks are six")
    found = look_at(emit(*chunks, "--as", "html", "--light"))
    check(not found["problems"], f"problems of sequence chunks: {found['problems']}")
    drawn += check_schedule("seq1f1b", found["schedules"][0], schedule, set(), 3, unit=1 / 3)
    _, needs, _ = expected(schedule, 3)
    check(needs["1F4"] == ["0F4", "1F3"] and needs["1F3"] == ["0F3"] and "1B5" in needs["1B4"], "chunks need each other")

    for complaint in complaints[:20]:
        print(complaint)
    print(f"{drawn} passes looked at, {len(complaints)} complaints")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
