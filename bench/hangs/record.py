"""Records healthy and faulty runs. Usage: record.py FOLDER RANKS CASES, where CASES is
a JSON list of {"name", "loop", "schedule", "steps", "eager", "kept", "fault": null or
{"what", "rank", "at"}, "snapshot": seconds or null}. Each case leaves a folder with
fr/rank_N as ProcessGroupNCCL writes it, hook/rank_N as PyTorch's recorder writes it, and
truth.json.
"""

import contextlib
import json
import multiprocessing
import pathlib
import pickle
import random
import sys
import threading
import time

import backend
import meeting
import torch
import torch.distributed as dist
from faults import Fault
from loops import LOOPS
from torch._C import _distributed_c10d as c10d

STILL = 4.0  # seconds without progress that are a hang


def rank_of(rank, ranks, address, folder, cases):
    torch.set_num_threads(1)
    backend.install()
    meet = meeting.Rank(address)
    hub = dist.FileStore(str(folder / "hub"), ranks)

    def together(key):
        hub.add(key, 1)
        while hub.add(key, 0) < ranks:
            time.sleep(0.02)

    for index, case in enumerate(cases):
        together(f"start{index}")
        if rank == 0:
            meet.forget()
        together(f"forgot{index}")
        c10d._reset_fr_trace(backend=backend.NAME)
        planned = case.get("fault")
        run = backend.Run(meet, rank, case["eager"], case["kept"])
        run.dead = False
        fault = contextlib.nullcontext()
        if planned and planned.get("rank") == rank:
            fault = Fault(planned["what"], planned["at"], run)
        backend.RUN = run
        random.seed(index)
        torch.manual_seed(index)
        to = folder / case["name"]
        (to / "fr").mkdir(parents=True, exist_ok=True)
        (to / "hook").mkdir(parents=True, exist_ok=True)
        state = {"dumped": False, "hung": False}

        def dump(to=to, run=run, state=state):
            state["dumped"] = True
            if run.dead:
                return
            (to / "fr" / f"rank_{rank}").write_bytes(
                pickle.dumps(run.dump(), protocol=2)
            )
            # The recorder keeps the groups of earlier runs of its process.
            own = pickle.loads(c10d._dump_fr_trace(backend=backend.NAME))
            own["pg_config"] = dict(run.configuration)
            (to / "hook" / f"rank_{rank}").write_bytes(pickle.dumps(own, protocol=2))

        over = threading.Event()

        def watch(index=index, run=run, state=state, over=over, case=case, dump=dump):
            begun = time.monotonic()
            while not over.wait(0.1):
                snapshot = case.get("snapshot")
                if snapshot and not state["dumped"]:
                    if time.monotonic() - begun > snapshot:
                        dump()
                    continue
                if hub.add(f"hung{index}", 0) > 0:
                    break
                if time.monotonic() - run.progress > STILL and not run.dead:
                    hub.add(f"hung{index}", 1)
                    break
            else:
                return
            state["hung"] = True
            dump()
            run.aborted.set()

        run.progress = time.monotonic() + 20  # groups are made first
        dist.init_process_group(
            backend.NAME,
            store=dist.PrefixStore(f"case{index}", hub),
            rank=rank,
            world_size=ranks,
        )
        run.progress = time.monotonic()
        watcher = threading.Thread(target=watch)
        watcher.start()
        failure = ""
        try:
            with fault:
                LOOPS[case["loop"]](run, case["schedule"], case["steps"])
        except backend.Aborted:
            # the program of a rank that dies is gone; others are given up later
            run.dead = not run.aborted.is_set()
        except RuntimeError as error:
            failure = "" if run.aborted.is_set() else repr(error)
            run.dead = bool(failure)
        except BaseException as error:
            failure = repr(error)
            run.dead = True
        hub.add(f"ended{index}", 1)
        while hub.add(f"ended{index}", 0) < ranks:
            run.moved()
            time.sleep(0.05)
        over.set()
        watcher.join()
        if not state["dumped"]:
            dump()
        run.aborted.set()
        (to / f"truth_{rank}.json").write_text(
            json.dumps(
                {
                    "case": case,
                    "hung": state["hung"],
                    "failure": failure,
                    "hit": getattr(fault, "hit", None),
                    "operations": run.issued,
                }
            )
        )
        together(f"end{index}")
        dist.destroy_process_group()


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    ranks = int(sys.argv[2])
    cases = json.loads(pathlib.Path(sys.argv[3]).read_text())
    folder.mkdir(parents=True, exist_ok=True)
    address = str(folder / "meeting")
    pathlib.Path(address).unlink(missing_ok=True)
    (folder / "hub").unlink(missing_ok=True)
    context = multiprocessing.get_context("fork")
    server = context.Process(target=meeting.serve, args=(address,))
    server.start()
    while not pathlib.Path(address).exists():
        time.sleep(0.05)
    workers = [
        context.Process(target=rank_of, args=(rank, ranks, address, folder, cases))
        for rank in range(ranks)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    meeting.Rank(address).stop()
    server.join()


if __name__ == "__main__":
    main()
