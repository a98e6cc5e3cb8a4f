"""Made the traces of this folder and of profile_gpu: two ranks, steps of ZB-H1 with four micro-batches, by PyTorch's own runtime.

usage: torchrun --nproc-per-node 2 make.py FOLDER [cuda]

Of each trace are kept the annotations and, of the operators, those that are not inside another, or, of the kernels, the first
and the last of each annotation with their launches; no names of machines. Ranks may share a GPU.
"""

import json
import os
import pathlib
import sys
import tempfile

import ashlar_pp.torch
import torch
import torch.distributed as dist
from ashlar_pp import catalog
from torch.profiler import ProfilerActivity, profile

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "bench" / "pytorch"))
from layers import Layer  # noqa: E402
from meeting import join  # noqa: E402

GPU = sys.argv[2:] == ["cuda"]


def module_and_batch(rank):
    """Linear layers, or on a GPU layers of an MLP that are large enough for it."""
    if not GPU:
        module = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(2 + 2 * rank)))
        return module, torch.randn(2, 256, 256).unbind()
    module = torch.nn.Sequential(*(Layer(2048) for _ in range(2 + rank))).to(torch.bfloat16)
    return module, torch.randn(2, 4 * 4096, 2048, dtype=torch.bfloat16).unbind()


def profiled_steps(trainer, inputs, more):
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if GPU else [])
    with profile(activities=activities) as seen:
        for _ in range(2 if GPU else 3):
            trainer.step(*inputs, **more)
        if GPU:
            torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        seen.export_chrome_trace(os.path.join(folder, "trace.json"))
        return json.loads(pathlib.Path(folder, "trace.json").read_text())


def annotated(events):
    return [e for e in events if e["cat"] == "user_annotation" and e["name"].startswith("PP:")]


def outermost_operators(events):
    kept, end = [], 0
    for event in events:
        if event["cat"] == "cpu_op" and event["ts"] >= end:
            end = event["ts"] + event["dur"]
            kept.append(event)
    return kept


def ends_on_the_gpu(events):
    launched = {e["args"]["correlation"]: e for e in events if e["cat"] in ("cuda_runtime", "cuda_driver")}
    kept = []
    for one in annotated(events):
        inside = [
            e for e in events
            if e["cat"] == "kernel" and one["ts"] <= launched[e["args"]["correlation"]]["ts"] < one["ts"] + one["dur"]
        ]  # fmt: skip
        for kernel in {id(e): e for e in (inside[:1] + inside[-1:])}.values():
            correlation = {"correlation": kernel["args"]["correlation"]}
            kept += [e | {"name": e["name"][:32], "args": correlation} for e in (launched[correlation["correlation"]], kernel)]
    return kept


def main():
    join("cuda" if GPU else "cpu")
    rank = dist.get_rank()
    torch.manual_seed(0)
    module, (x, y) = module_and_batch(rank)
    trainer = ashlar_pp.torch.pipeline({rank: module}, catalog.zb_h1(2, 4), torch.nn.functional.mse_loss, runtime="pytorch")
    inputs, more = ([x] if rank == 0 else []), ({"target": y} if rank == 1 else {})
    trainer.step(*inputs, **more)
    trace = profiled_steps(trainer, inputs, more)
    events = sorted((e for e in trace["traceEvents"] if e["ph"] == "X"), key=lambda e: e["ts"])
    rest = ends_on_the_gpu(events) if GPU else outermost_operators(events)
    for event in annotated(events) + ([] if GPU else rest):
        event.pop("args", None)
    kept = sorted(annotated(events) + rest, key=lambda e: e["ts"])
    known = {key: trace[key] for key in ("schemaVersion", "distributedInfo", "baseTimeNanoseconds")}
    trace = known | ({} if GPU else {"host_name": "host"}) | {"traceEvents": kept}
    text = json.dumps(trace).replace('{"ph"', '\n{"ph"')
    pathlib.Path(sys.argv[1], f"rank{rank}.json").write_text(text + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
