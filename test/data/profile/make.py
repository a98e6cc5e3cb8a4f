"""Made the traces of this folder: two ranks, three steps of ZB-H1 with four micro-batches, by PyTorch's own runtime.

usage: torchrun --nproc-per-node 2 make.py FOLDER

Of each trace are kept the annotations and, of the operators, those that are not inside another; no names of machines.
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

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
schedule = catalog.zb_h1(2, 4)
module = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(2 + 2 * rank)))
trainer = ashlar_pp.torch.pipeline({rank: module}, schedule, torch.nn.functional.mse_loss, runtime="pytorch")
x, y = torch.randn(256, 256), torch.randn(256, 256)
inputs, more = ([x] if rank == 0 else []), ({"target": y} if rank == 1 else {})
trainer.step(*inputs, **more)
with profile(activities=[ProfilerActivity.CPU]) as seen:
    for _ in range(3):
        trainer.step(*inputs, **more)
with tempfile.TemporaryDirectory() as folder:
    seen.export_chrome_trace(os.path.join(folder, "trace.json"))
    trace = json.loads(pathlib.Path(folder, "trace.json").read_text())
kept, end = [], 0
for event in sorted((e for e in trace["traceEvents"] if e["ph"] == "X"), key=lambda e: e["ts"]):
    if event["cat"] == "user_annotation" and event["name"].startswith("PP:"):
        kept.append(event)
    elif event["cat"] == "cpu_op" and event["ts"] >= end:
        end = event["ts"] + event["dur"]
        kept.append(event)
for event in kept:
    del event["args"]
known = {key: trace[key] for key in ("schemaVersion", "distributedInfo", "baseTimeNanoseconds")}
trace = known | {"host_name": "host", "traceEvents": kept}
text = json.dumps(trace).replace('{"ph"', '\n{"ph"')
pathlib.Path(sys.argv[1], f"rank{rank}.json").write_text(text + "\n")
dist.destroy_process_group()
