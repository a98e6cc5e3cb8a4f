"""Runs our CSV in PyTorch's own pipeline runtime; compares losses and gradients with the whole model's.

usage: torch_runtime.py ASHLAR

ASHLAR is the tool. Without a torch that has pipelining the exit code is 77: skipped.
"""

import os
import subprocess
import sys
import tempfile

SKIPPED = 77
CASES = [("1f1b", 3, 4), ("zb-h1", 2, 4), ("v-half", 2, 4)]  # name, ranks, micro-batches
WIDTH = 6
PATIENCE = 90  # seconds a case


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


def layers(count):
    import torch

    torch.manual_seed(1)
    return [torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh()) for _ in range(count)]


def batch(micro_batches):
    import torch

    torch.manual_seed(2)
    return torch.randn(2 * micro_batches, WIDTH), torch.randn(2 * micro_batches, WIDTH)


def loss_of(output, target):
    return ((output - target) ** 2).sum()


def as_a_whole(count, micro_batches):
    model = layers(count)
    inputs, targets = batch(micro_batches)
    losses = []
    for x, y in zip(inputs.chunk(micro_batches), targets.chunk(micro_batches)):
        for layer in model:
            x = layer(x)
        loss = loss_of(x, y)
        loss.backward()
        losses.append(loss.item())
    return losses, [[p.grad for p in layer.parameters()] for layer in model]


def rank_of_pipeline(path, level, rank, ranks, micro_batches, meeting):
    import torch
    import torch.distributed as dist
    from torch.distributed.pipelining import PipelineStage
    from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + meeting, rank=rank, world_size=ranks)
    where = owners(path)
    model = layers(len(where))
    mine = [s for s in range(len(where)) if where[s] == rank]
    # Shapes and what requires a gradient: found by the runtime itself in its first step.
    stages = [PipelineStage(model[s], s, len(where), torch.device("cpu")) for s in mine]
    runtime = _PipelineScheduleRuntime(stages, micro_batches, loss_fn=loss_of, scale_grads=False)
    runtime._load_csv(path, format=level)
    inputs, targets = batch(micro_batches)
    losses = []
    arguments = (inputs,) if 0 in mine else ()
    last = {"target": targets, "losses": losses} if len(where) - 1 in mine else {}
    runtime.step(*arguments, **last)

    expected_losses, expected = as_a_whole(len(where), micro_batches)
    if last:
        assert len(losses) == micro_batches, losses
        seen = torch.tensor([loss.item() for loss in losses])
        torch.testing.assert_close(seen, torch.tensor(expected_losses))
    for s in mine:
        for parameter, gradient in zip(model[s].parameters(), expected[s]):
            torch.testing.assert_close(parameter.grad, gradient)
    dist.barrier()
    dist.destroy_process_group()


def run_case(path, level, ranks, micro_batches, folder):
    meeting = os.path.join(folder, "meeting")
    if os.path.exists(meeting):
        os.remove(meeting)
    line = [sys.executable, __file__, "--rank", path, level]
    runs = [
        subprocess.Popen(
            line + [str(rank), str(ranks), str(micro_batches), meeting], stderr=subprocess.PIPE
        )
        for rank in range(ranks)
    ]
    good = True
    try:
        for rank, run in enumerate(runs):
            _, errors = run.communicate(timeout=PATIENCE)
            if run.returncode != 0:
                good = False
                print(f"  rank {rank}: {errors.decode(errors='replace')[-2000:]}")
    except subprocess.TimeoutExpired:
        good = False
        print(f"  not done after {PATIENCE} seconds")
    finally:
        for run in runs:
            run.kill()
    return good


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
        for name, ranks, micro_batches in CASES:
            for level, form in [("compute_only", "pytorch"), ("compute_comms", "pytorch-comms")]:
                path = os.path.join(folder, f"{name}-{level}.csv")
                shape = ["-p", str(ranks), "-m", str(micro_batches), "--as", form]
                where = ["--dialect", dialect, "-o", path]
                subprocess.run([tool, "emit", name] + shape + where, check=True, timeout=PATIENCE)
                good = run_case(path, level, ranks, micro_batches, folder)
                answer = "same" if good else "DIFFERENT"
                print(f"torch {torch.__version__}, {name}, {level}, {dialect}: {answer}", flush=True)
                failed += not good
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        path, level, rank, ranks, micro_batches, meeting = sys.argv[2:]
        rank_of_pipeline(path, level, int(rank), int(ranks), int(micro_batches), meeting)
    else:
        sys.exit(main(sys.argv[1]))
