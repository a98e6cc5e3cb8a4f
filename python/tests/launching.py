"""Starts a function of ranks.py on several processes, and collects what each returns."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

TIMEOUT = 1200  # seconds


def on_ranks(function, world, arguments=None, prefix=()):
    """What each rank returns, in their order. Raises AssertionError with the errors of those that fail."""
    with tempfile.TemporaryDirectory() as folder:
        meeting = os.path.join(folder, "meeting")
        line = [*prefix, sys.executable, str(pathlib.Path(__file__).with_name("ranks.py")), function]
        runs = [
            subprocess.Popen(
                [*line, str(rank), str(world), meeting, json.dumps(arguments)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(world)
        ]
        try:
            results = []
            for rank, run in enumerate(runs):
                output, errors = run.communicate(timeout=TIMEOUT)
                assert run.returncode == 0, f"rank {rank}: {errors[-3000:]}"
                results.append(json.loads(output.splitlines()[-1]))
            return results
        finally:
            for run in runs:
                run.kill()
