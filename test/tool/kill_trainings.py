"""Trainings of several processes that are killed at any time: any process, rank 0, the launcher, or who starts them again.

    kill_trainings.py TOOL [--trials N] [--seed N] [--launcher "mpirun --oversubscribe"]

Each must end with what an undisturbed training learns, bit by bit, and leave no process behind.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = 60
DEADLINE = 20  # seconds, of the trainings and for processes to end
HANGS = 600  # seconds after which a training is said to hang, however busy the machine
SIZES = ["--blocks", "4", "--width", "16", "--heads", "2", "--context", "16", "--sequences", "1"]
SHAPES = {
    "a pipeline": ["-p", "2", "-m", "4", "--schedule", "1f1b"],
    "data-parallel ranks": ["-p", "1", "-m", "4", "--schedule", "gpipe", "--data-ranks", "2"],
    "sharded ranks of a pipeline": ["-p", "2", "-m", "4", "--schedule", "v-half", "--data-ranks", "2", "--sharding", "full"],
}
TARGETS = ("rank 0", "another rank", "the launcher", "who starts it again")


class Training:
    """A training in a folder of its own, under who starts it again."""

    def __init__(self, line: list[str], folder: Path):
        self.folder = folder
        resume = ["--resume", str(folder)] if any(folder.glob("*.checkpoint")) else []
        self.said = (folder.parent / f"{folder.name}.said").open("w+")
        self.process = subprocess.Popen([*line, "--save", str(folder), *resume], stdout=subprocess.DEVNULL, stderr=self.said)

    def processes(self) -> dict[str, list[int]]:
        """Those that name the folder, by what they are."""
        found: dict[str, list[int]] = {target: [] for target in TARGETS}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if str(self.folder).encode() not in words:
                    continue
                here = dict(one.split(b"=", 1) for one in (entry / "environ").read_bytes().split(b"\0") if b"=" in one)
            except OSError:
                continue  # it has ended
            rank = here.get(b"OMPI_COMM_WORLD_RANK", here.get(b"PMI_RANK"))
            if rank is not None:
                found["rank 0" if int(rank) == 0 else "another rank"].append(int(entry.name))
            elif int(entry.name) == self.process.pid:
                found["who starts it again"].append(int(entry.name))
            else:
                found["the launcher"].append(int(entry.name))
        return found

    def kill_some(self, target: str, number: signal.Signals) -> bool:
        there = self.processes()[target]
        if not there:
            return False
        try:
            os.kill(random.choice(there), number)
        except ProcessLookupError:
            return False
        return True

    def end(self) -> int:
        try:
            return self.process.wait(timeout=HANGS)
        except subprocess.TimeoutExpired:
            raise SystemExit(f"{self.folder}: the training hangs; {self.words()}") from None

    def words(self) -> str:
        self.said.seek(0)
        return self.said.read()[-2000:]

    def wait_for_orphans(self) -> None:
        end = time.monotonic() + DEADLINE
        while any(self.processes().values()):
            if time.monotonic() > end:
                raise SystemExit(f"{self.folder}: processes are left: {self.processes()}")
            time.sleep(0.02)


def learned(folder: Path) -> object:
    manifest = json.loads((folder / f"step-{STEPS:08d}.checkpoint" / "manifest.json").read_text())["checkpoint"]
    return [manifest["losses"], sorted((n, t["crc32"]) for part in manifest["parts"] for n, t in part["tensors"].items())]


def trial(line: list[str], folder: Path, longest: float, expected: object) -> str:
    """Kills once or twice; what was killed. The training must go on by itself unless who starts it again is gone."""
    training = Training(line, folder)
    killed = []
    for _ in range(random.choice((1, 1, 2))):
        time.sleep(random.uniform(0, longest))
        target, number = random.choice(TARGETS), random.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM))
        if training.kill_some(target, number):
            killed.append(f"{target} by {number.name}")
    code = training.end()
    training.wait_for_orphans()
    termination_requested = any("SIGTERM" in one for one in killed)
    alone = any("who starts" in one for one in killed)
    if killed == ["the launcher by SIGTERM"] and code not in (0, 128 + signal.SIGTERM):
        raise SystemExit(f"{folder}: exit code {code} after {killed}: {training.words()}")
    if code != 0 and not termination_requested and not alone:
        raise SystemExit(f"{folder}: exit code {code} after {killed}: {training.words()}")
    if code != 0:
        training = Training(line, folder)
        if (code := training.end()) != 0:
            raise SystemExit(f"{folder}: exit code {code}, started anew after {killed}: {training.words()}")
        training.wait_for_orphans()
    if learned(folder) != expected:
        raise SystemExit(f"{folder}: other bits after {killed}")
    return " and ".join(killed) or "nothing"


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("tool")
    parse.add_argument("--trials", type=int, default=6)
    parse.add_argument("--seed", type=int, default=random.randrange(10**6))
    parse.add_argument("--launcher", default="mpirun --oversubscribe --allow-run-as-root")
    given = parse.parse_args()
    random.seed(given.seed)
    print(f"seed {given.seed}", flush=True)

    folder = Path(tempfile.mkdtemp(prefix="ashlar-killed-"))
    text = folder / "corpus"
    text.mkdir()
    (text / "text.txt").write_text("a stone, a stone, and a joint between stones\n" * 400)
    shapes = []
    for name, options in SHAPES.items():
        line = [given.tool, "train", "--backend", "mpi", "--launcher", given.launcher, "--restart", "5", "--corpus", str(text),
                "--steps", str(STEPS), "--save-every", "3", "--deadline", str(DEADLINE), *options, *SIZES]
        whole = folder / f"whole-{len(shapes)}"
        begin = time.monotonic()
        training = Training(line, whole)
        if training.end() != 0:
            raise SystemExit(f"{name}: {training.words()}")
        shapes.append((name, line, time.monotonic() - begin, learned(whole)))
    killed = 0
    for number in range(given.trials):
        name, line, longest, expected = shapes[number % len(shapes)]
        what = trial(line, folder / f"trial-{number}", longest, expected)
        killed += what != "nothing"
        print(f"{number + 1}/{given.trials}: {name}, killed: {what}", flush=True)
        shutil.rmtree(folder / f"trial-{number}", ignore_errors=True)
    shutil.rmtree(folder)
    print(f"{killed} of {given.trials} trainings were killed; all learned the same bits")
    sys.exit(killed == 0)


if __name__ == "__main__":
    main()
