#!/usr/bin/env python3
"""The page that explores schedules works from a file in a browser: what it shows is what the tool says for the command line that it
offers, sliders change it, two schedules are compared, and a shape that cannot be is refused in words.

usage: explore.py TOOL [CHROMIUM]      exit code 77: skipped, for there is no browser, or nothing that makes WebAssembly
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
BUILD = Path(__file__).resolve().parent.parent.parent / "docs/site/explore/build.py"
complaints = []

# The settings, one after the other: values of controls by their ids.
STEPS = [
    {},
    {"Achoice": "v-half", "p": 6, "m": 12, "forward": 10, "input": 13, "weight": 7, "transfer": 1},
    {"Achoice": "depth-first", "p": 4, "m": 8, "chunks": 3},
    {"Achoice": "searched, v", "limit": 6},
    {"Achoice": "searched, linear", "limit": 4},
    {"both": True, "Bchoice": "chimera"},
    {"both": False, "Achoice": "chimera", "p": 3},
    {"Achoice": "1f1b", "p": 4},
]
PROBE = """<script>
(async () => {
  const seen = {problems};
  try {
    await started;
    seen.steps = [];
    for (const step of STEPS) {
      for (const [id, value] of Object.entries(step)) {
        const control = by(id);
        if (id === "both") control.checked = value;
        else if (id.endsWith("choice")) control.value = [...control.options].find(one => one.text === value).value;
        else control.value = value;
      }
      by("sides").dispatchEvent(new Event("input", {bubbles: true}));
      while (busy) await new Promise(done => setTimeout(done, 5));
      const page = by("picture").srcdoc;
      seen.steps.push({
        commands: ["A", "B"].filter(letter => by(letter).offsetHeight > 0).map(letter => by(letter + "command").textContent),
        makespans: [...page.matchAll(/"makespan":(\\\\d+)/g)].map(found => Number(found[1])),
        shown: by("pshown").value, off: [by("chunks").disabled, by("limit").disabled], wrong: by("wrong").textContent,
        link: location.hash});
    }
    Object.defineProperty(navigator, "clipboard", {value: {writeText: async words => { seen.copied = words; }}});
    by("Acopy").click();
    await new Promise(done => setTimeout(done, 100));
    seen.boxes = by("picture").contentDocument.querySelectorAll("rect[data-pass]").length;
  } catch (problem) {
    problems.push(String(problem.stack || problem));
  }
  document.body.append(Object.assign(document.createElement("pre"), {id: "probe", textContent: JSON.stringify(seen)}));
})();
</script>"""
CATCH = "<script>const problems = []; addEventListener('error', event => problems.push(event.message));</script>"


def check(holds, what):
    if not holds:
        complaints.append(what)


def look_at(page, folder):
    file = Path(folder, "page.html")
    probe = PROBE.replace("STEPS", json.dumps(STEPS)).replace("\\\\", "\\")
    file.write_text(page.replace("<head>", "<head>" + CATCH, 1).replace("</body>", probe + "</body>"))
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,900",
               f"--user-data-dir={folder}/profile", "--virtual-time-budget=60000", "--dump-dom", file.as_uri()]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=200)
    found = re.search(r'<pre id="probe">(.*?)</pre>', ran.stdout, re.S)
    if not found:
        sys.exit(f"the page's script did not run to its end\n{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}")
    return json.loads(html.unescape(found[1]))


def told(command):
    """The makespan that the tool says, or what a search reached."""
    words = [TOOL, *command.split()[1:]]
    said = subprocess.run(words + (["--as", "json"] if words[1] == "search" else []), capture_output=True, text=True, check=True).stdout
    if words[1] == "search":
        found = json.loads(said)
        return found["makespan"] if "makespan" in found else None
    return int(re.search(r"^makespan +(\d+) ticks", said, re.M)[1])


def main():
    if not BROWSER:
        print("skipped: no chromium")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "explore.html")
        built = subprocess.run([sys.executable, "-B", str(BUILD), "--out", str(file)])
        if built.returncode:
            return built.returncode
        seen = look_at(file.read_text(), folder)
    check(not seen["problems"], f"errors on the page: {seen['problems']}")
    steps = seen.get("steps", [])
    check(len(steps) == len(STEPS), "not all steps were taken")
    for step in steps:
        if step["wrong"]:
            continue
        check(len(step["commands"]) == len(step["makespans"]), f"{step['commands']} have makespans {step['makespans']}")
        for command, makespan in zip(step["commands"], step["makespans"]):
            check(told(command) in (makespan, None), f"{command} says {told(command)}, the page {makespan}")
    if len(steps) == len(STEPS):
        check([step["shown"] for step in steps] == ["4", "6", "4", "4", "4", "4", "3", "4"], "a slider's number is not beside it")
        check([bool(step["wrong"]) for step in steps] == [False] * 6 + [True, False], f"refused: {[step['wrong'] for step in steps]}")
        check("multiple" in steps[6]["wrong"], f"not in words: {steps[6]['wrong']}")
        check(steps[2]["off"] == [False, True] and steps[3]["off"] == [True, False], "sliders without an effect are not greyed out")
        check(len(steps[5]["commands"]) == 2 and len(steps[7]["commands"]) == 1, "two are not compared")
        check(steps[1]["link"].startswith("#v-half/6/12/"), f"the link does not say what is shown: {steps[1]['link']}")
        check(seen.get("copied") == steps[7]["commands"][0], f"copied: {seen.get('copied')}")
        check(seen.get("boxes") == 4 * 8 * 2, f"{seen.get('boxes')} passes are drawn")
    for complaint in complaints:
        print(complaint)
    print(f"{len(steps)} steps, {len(complaints)} complaints")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
