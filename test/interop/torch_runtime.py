"""Runs our CSV in PyTorch's own pipeline runtime; compares losses and gradients with the whole model's, and
the memory of a step with that of PyTorch's own lowering.

usage: torch_runtime.py ASHLAR

ASHLAR is the tool. Without a torch that has pipelining the exit code is 77: skipped.
"""

import inspect
import json
import os
import subprocess
import sys
import tempfile

SKIPPED = 77
# Name, ranks, micro-batches.
CASES = [("1f1b", 3, 4), ("zb-h1", 2, 4), ("v-half", 2, 4), ("depth-first", 4, 6), ("dualpipev", 2, 4)]
LEVELS = ["compute_only", "compute_comms"]  # PyTorch's lowering, and ours
LONG = ("1f1b", 2, 32)  # whose memory is measured
SMALL = {"width": 6, "rows": 2}  # of a micro-batch
LARGE = {"width": 512, "rows": 1024}  # 2 MiB
TIMEOUT = 180  # seconds per case


def owners(path):
    """The rank of each stage, from the forwards."""
    found = {}
    with open(path) as file:
        for rank, line in enumerate(file):
            for cell in line.strip().split(","):
                stage, _, rest = cell.partition("F")
                if stage.isdigit() and rest.isdigit():
                    found[int(stage)] = rank
    return [found[stage] for stage in range(len(found))]


def layers(count, width):
    import torch

    torch.manual_seed(1)
    return [torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.Tanh()) for _ in range(count)]


def batch(micro_batches, size):
    import torch

    torch.manual_seed(2)
    shape = (size["rows"] * micro_batches, size["width"])
    return torch.randn(shape), torch.randn(shape)


def loss_of(output, target):
    return ((output - target) ** 2).sum()


def as_a_whole(count, micro_batches, size):
    model = layers(count, size["width"])
    inputs, targets = batch(micro_batches, size)
    losses = []
    for x, y in zip(inputs.chunk(micro_batches), targets.chunk(micro_batches)):
        for layer in model:
            x = layer(x)
        loss = loss_of(x, y)
        loss.backward()
        losses.append(loss.item())
    return losses, [[p.grad for p in layer.parameters()] for layer in model]


def resident(peak):
    """KiB of this process now, or at most since start_peak."""
    with open("/proc/self/status") as status:
        word = "VmHWM:" if peak else "VmRSS:"
        return next(int(line.split()[1]) for line in status if line.startswith(word))


def start_peak():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def rank_of_pipeline(path, level, rank, ranks, micro_batches, meeting, size):
    """Trains a step and compares; prints how many KiB the step took."""
    import torch
    import torch.distributed as dist
    from torch.distributed.pipelining import PipelineStage
    from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + meeting, rank=rank, world_size=ranks)
    where = owners(path)
    model = layers(len(where), size["width"])
    mine = [s for s in range(len(where)) if where[s] == rank]
    # The runtime itself finds shapes, and tensors that require a gradient, in its first step.
    stages = [PipelineStage(model[s], s, len(where), torch.device("cpu")) for s in mine]
    runtime = _PipelineScheduleRuntime(stages, micro_batches, loss_fn=loss_of, scale_grads=False)
    runtime._load_csv(path, format=level)
    inputs, targets = batch(micro_batches, size)
    losses = []
    arguments = (inputs,) if 0 in mine else ()
    last = {"target": targets, "losses": losses} if len(where) - 1 in mine else {}
    discard = inspect.signature(runtime.step).parameters.keys() & {"return_outputs"}
    start_peak()
    before = resident(peak=False)
    runtime.step(*arguments, **last, **dict.fromkeys(discard, False))
    print(resident(peak=True) - before)

    expected_losses, expected = as_a_whole(len(where), micro_batches, size)
    if last:
        assert len(losses) == micro_batches, losses
        seen = torch.tensor([loss.item() for loss in losses])
        torch.testing.assert_close(seen, torch.tensor(expected_losses))
    for s in mine:
        for parameter, gradient in zip(model[s].parameters(), expected[s]):
            torch.testing.assert_close(parameter.grad, gradient)
    dist.barrier()
    dist.destroy_process_group()


def run_case(path, level, ranks, micro_batches, folder, size):
    """KiB that a step took on each rank; nothing if it went wrong."""
    meeting = os.path.join(folder, "meeting")
    if os.path.exists(meeting):
        os.remove(meeting)
    line = [sys.executable, __file__, "--rank", path, level]
    # Large buffers go back to the system as soon as they are free.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}
    runs = [
        subprocess.Popen(
            line + [str(rank), str(ranks), str(micro_batches), meeting, json.dumps(size)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        for rank in range(ranks)
    ]
    good = True
    taken = []
    try:
        for rank, run in enumerate(runs):
            output, errors = run.communicate(timeout=TIMEOUT)
            if run.returncode != 0:
                good = False
                print(f"  rank {rank}: {errors.decode(errors='replace')[-2000:]}")
            else:
                taken.append(int(output))
    except subprocess.TimeoutExpired:
        good = False
        print(f"  not done after {TIMEOUT} seconds")
    finally:
        for run in runs:
            run.kill()
    return taken if good else None


def emit(tool, case, level, dialect, folder):
    name, ranks, micro_batches = case
    path = os.path.join(folder, f"{name}-{level}.csv")
    form = "pytorch" if level == "compute_only" else "pytorch-comms"
    line = [tool, "emit", name, "-p", str(ranks), "-m", str(micro_batches), "--as", form]
    subprocess.run(line + ["--dialect", dialect, "-o", path], check=True, timeout=TIMEOUT)
    return path


def memory_is_below_theirs(tool, dialect, folder):
    """Whether a step takes at most three quarters of that of PyTorch's own lowering."""
    name, ranks, micro_batches = LONG
    most = {}
    for level in LEVELS:
        path = emit(tool, LONG, level, dialect, folder)
        taken = run_case(path, level, ranks, micro_batches, folder, LARGE)
        if taken is None:
            return False
        most[level] = max(taken)
    theirs, ours = (most[level] / 1024 for level in LEVELS)
    print(f"{name}, p={ranks}, m={micro_batches}: a step takes {theirs:.0f} MiB with PyTorch's own")
    print(f"  lowering, {ours:.0f} MiB with ours", flush=True)
    return ours <= 0.75 * theirs


def main(tool):
    try:
        import torch
        import torch.distributed.pipelining
        from torch.distributed.pipelining.schedules import _ComputationType
    except ImportError as missing:
        print(f"skipped: no torch with torch.distributed.pipelining here ({missing})")
        return SKIPPED
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        print("skipped: this torch has no gloo")
        return SKIPPED
    words = _ComputationType.__members__
    dialect = "waits" if "WAIT_SEND_F" in words else "reduce-grad" if "REDUCE_GRAD" in words else "i-b"
    if "BACKWARD_INPUT" not in words:
        dialect = "b-bw"
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            name, ranks, micro_batches = case
            for level in LEVELS:
                path = emit(tool, case, level, dialect, folder)
                good = run_case(path, level, ranks, micro_batches, folder, SMALL) is not None
                answer = "same" if good else "DIFFERENT"
                print(f"torch {torch.__version__}, {name}, {level}, {dialect}: {answer}", flush=True)
                failed += not good
        failed += not memory_is_below_theirs(tool, dialect, folder)
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        path, level, rank, ranks, micro_batches, meeting, size = sys.argv[2:]
        numbers = int(rank), int(ranks), int(micro_batches)
        rank_of_pipeline(path, level, *numbers, meeting, json.loads(size))
    else:
        sys.exit(main(sys.argv[1]))
