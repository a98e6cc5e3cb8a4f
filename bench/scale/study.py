#!/usr/bin/env python3
"""Measures and predicts the numbers of docs/scale.md, and draws its pictures.

usage: study.py BUILD [--big]      BUILD is a folder of the preset `release` with benchmarks; --big also runs what needs 6 to 14 GiB
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(sys.argv[1])
BIG = "--big" in sys.argv[2:]
ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "scale.md"
PICTURES = ROOT / "docs" / "pictures"
MODEL = Path(__file__).resolve().parent / "model-52B.json"

SCHEDULES = ["gpipe", "1f1b", "depth-first", "zb-h1", "v-half"]
SHAPES = [(16, 128), (64, 512), (256, 1024), (1024, 1024)]
LONG_SHAPES = [("1f1b", 1024, 4096), ("v-half", 512, 2048)]
BIG_SHAPES = [(name, 1024, 8192) for name in SCHEDULES]
PHASES = "| schedule | p | m | passes | instructions | build | check | lower | prove | simulate | all, s | GiB | bubble % |"

NODES = [8, 16, 32, 64, 128, 256, 512]
BATCH = 4096
A100 = {"devices_per_node": 8, "like": "A100"}
NETWORKS = {"fast": 25e9, "slow": 25e9 / 8}
STEPS = "| devices | schedule | tensor | data | pipeline | micro-batches | recompute | step, s | utilisation % |"


def output_of(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **options).stdout


def table(head, rows, named=1):
    columns = head.count("|") - 1
    return "\n".join([head, "|" + "---|" * named + "---:|" * (columns - named), *rows])


def draw(file, title, x, y, points):
    lines = "".join(f"{series}\t{a}\t{b}\n" for series, a, b in points)
    (PICTURES / file).write_text(output_of(BUILD / "bench" / "bench_scale_draw", title, x, y, input=lines))


def phases():
    """Prints rows of the time and memory to make, prove and simulate; draws the picture."""
    rows, points = [], []
    for name in SCHEDULES:
        for p, m in [*SHAPES, *[(p, m) for n, p, m in LONG_SHAPES + BIG_SHAPES * BIG if n == name]]:
            cells = output_of(BUILD / "bench" / "bench_scale_phases", name, p, m).split("|")[1:-1]
            cells = [cell.strip() for cell in cells]
            passes, seconds = int(cells[3]), float(cells[10])
            rows.append("| " + " | ".join(cells) + " |")
            if seconds >= 0.05:  # long enough to measure
                points.append((name, passes / 1e6, seconds))
            print(rows[-1], flush=True)
    draw("scale-time.svg", "from a name to a proved, simulated program", "log:passes, millions", "log:processor time, s", points)
    return table(PHASES, rows)


def cluster(folder, nodes, network):
    path = Path(folder) / "cluster.json"
    path.write_text(json.dumps({"nodes": nodes, "network_bytes_per_s": NETWORKS[network], **A100}))
    return path


def steps(network):
    """Makes rows of the best plan of each schedule on each cluster, and draws the picture."""
    rows, points = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for nodes in NODES:
            for name in SCHEDULES:
                answer = output_of(BUILD / "ashlar", "plan", "--model", MODEL, "--cluster", cluster(folder, nodes, network),
                                   "--batch", BATCH, "--schedules", name, "--memory-margin", 10, "--top", 1, "--as", "json")
                plan = json.loads(answer)["plans"][0]
                devices = 8 * nodes
                rows.append("| " + " | ".join(str(cell) for cell in [
                    devices, name + (f" x{plan['chunks']}" if plan["chunks"] > 1 else ""), plan["tensor"], plan["data"],
                    plan["pipeline"], f"{plan['micro_batches']} of {plan['micro_batch']}", plan["recomputation"],
                    f"{plan['seconds']:.3f}", f"{100 * plan['utilisation']:.1f}"]) + " |")
                points.setdefault(name, []).append((name, devices, plan["utilisation"]))
    draw(f"scale-52B-{network}.svg", f"52 billion parameters, {NETWORKS[network] / 1e9:g} GB/s between nodes (simulated)",
         "log:devices", "%:utilisation", [point for name in SCHEDULES for point in points[name]])
    return table(STEPS, rows, 2)


def main():
    page = PAGE.read_text()
    parts = {"phases": phases, **{network: lambda network=network: steps(network) for network in NETWORKS}}
    for name, make in parts.items():
        mark = re.compile(rf"(<!-- {name}: by bench/scale/study.py -->\n)(?:\|.*\n)*")
        assert mark.search(page), name
        made = make()
        page = mark.sub(lambda found: found.group(1) + made + "\n", page)
        PAGE.write_text(page)


main()
