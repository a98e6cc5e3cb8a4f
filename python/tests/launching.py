"""Starts a function of a script on several processes, and collects what each
returns.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

TIMEOUT = 1200  # seconds


def on_ranks(function, world, arguments=None, prefix=(), script="ranks.py"):
    """Returns the results of all ranks in order. Raises AssertionError with the errors
    of ranks that fail.
    """
    with tempfile.TemporaryDirectory() as folder:
        meeting = os.path.join(folder, "meeting")
        line = [
            *prefix,
            sys.executable,
            str(pathlib.Path(__file__).with_name(script)),
            function,
        ]
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
            said = [run.communicate(timeout=TIMEOUT) for run in runs]
            failed = [
                f"rank {rank}: {said[rank][1][-3000:]}"
                for rank, run in enumerate(runs)
                if run.returncode != 0
            ]
            assert not failed, "\n".join(failed)
            return [json.loads(output.splitlines()[-1]) for output, _ in said]
        finally:
            for run in runs:
                run.kill()
