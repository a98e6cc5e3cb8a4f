#!/usr/bin/env python3
"""Processes that are killed, stopped, or not what the others expect: the rest ends in time, says why, and leaves nothing behind.

usage: faults.py PROGRAM LAUNCHER…
"""
import os
import re
import subprocess
import sys
import time
from pathlib import Path

DEADLINE = 2.0
STARTS_AND_ENDS = 15.0  # of the launcher, on a busy machine

RECEIVE = r"has waited \d+ ms for process 2 \(device 2\): receive \S+ from device 2 \(position \d+ of step 3\)"
SEND = r"has waited \d+ ms for process 2 \(device 2\): (send|receive) \S+ (to|from) device 2 \(position \d+ of step 3\)"
# Fault, options of the launcher, seconds that it has to last, texts that must occur.
CASES = [
    ("none", [], 0, ["trained"]),
    ("slow", [], 2 * DEADLINE, ["trained"]),
    ("killed", [], 0, [SEND, "the launcher ends all processes", r"process 2 \(device 2\) does not answer",
                       r"process [013] \(device [013]\) has waited"]),
    ("killed", ["--enable-recovery"], DEADLINE, [SEND, r"process 2 \(device 2\) does not answer",
                                                  r"process [013] \(device [013]\) has waited"]),
    ("stopped", [], DEADLINE, [SEND, r"process 2 \(device 2\) does not answer", r"process [013] \(device [013]\) has waited"]),
    ("idle", [], DEADLINE, [SEND, r"process 2 \(device 2\) has been between steps 2 and 3 for \d+ ms"]),
    ("throws", [], 0, ["process 2: out of luck"]),
    ("absent", [], DEADLINE, ["no program came from process 2 within 2000 ms"]),
    ("schedule", [], 0, [r"process 0 has version \S+, 4 devices.*program (\w+),.*; process 2 has version.*program (?!\1)"]),
    ("shape", [], 0, [r"process 0 has .*model shape (\w+); process 2 has .*model shape (?!\1)"]),
    ("version", [], 0, [r"process 0 has version 1,.*; process 2 has version 2,"]),
]


def alive(program):
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(entry / "exe") == program and f"FAULTS_TEST={os.getpid()}" in (entry / "environ").read_text():
                found.append(entry.name)
        except OSError:
            pass
    return found


def main():
    program, launcher = os.path.realpath(sys.argv[1]), sys.argv[2:]
    failures = 0
    for fault, options, least, expected in CASES:
        command = [*launcher, *options, program, fault, "2", str(int(1000 * DEADLINE))]
        begin = time.monotonic()
        try:
            result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                    env={**os.environ, "FAULTS_TEST": str(os.getpid())}, timeout=6 * DEADLINE + STARTS_AND_ENDS)
            output, status = result.stdout, result.returncode
        except subprocess.TimeoutExpired as late:
            output, status = (late.stdout or b"").decode() + "\nnever ended", None
        seconds = time.monotonic() - begin
        wrong = [f"lacks: {text}" for text in expected if not re.search(text, output)]
        if "--enable-recovery" not in options and (status == 0) != ("trained" in expected):  # it makes the status 0
            wrong.append(f"exit status {status}")
        if seconds < least:
            wrong.append(f"ended before {least} s")
        for _ in range(50):
            if not (left := alive(program)):
                break
            time.sleep(0.1)
        if left:
            wrong.append(f"still there: {left}")
        print(f"{fault} {' '.join(options)}: {seconds:.1f} s, " + ("; ".join(wrong) if wrong else "ok"))
        if wrong:
            print(output)
        failures += bool(wrong)
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
