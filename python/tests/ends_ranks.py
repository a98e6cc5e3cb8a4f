"""Programs of the processes of test_ends.py: a training of two stages that fails on one
rank. No error is caught.
"""

import datetime
import json
import os
import pathlib
import shutil
import signal
import socket
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from devices import DEVICE
from torch import nn

import ashlar_pp
import ashlar_pp.torch.shapes

WIDTH, ROWS, MICRO_BATCHES = 6, 2, 4
TIMEOUT = float(os.environ.get("ASHLAR_TEST_TIMEOUT", "6"))  # seconds, of the group


class Stage(nn.Module):
    def __init__(self, number, change=lambda y: y):
        super().__init__()
        torch.manual_seed(number)
        self.inner, self.change, self.calls = (
            nn.Linear(WIDTH, WIDTH).double(),
            change,
            0,
        )

    def forward(self, x):
        y = torch.tanh(self.inner(x))
        if (
            not isinstance(x, torch._subclasses.fake_tensor.FakeTensor)
            and not x.is_meta
        ):
            self.calls += 1
        return self.change(y)


def loss_of(output, target):
    return ((output - target) ** 2).mean()


class Training:
    """The training of one rank. Its stage has the rank's number."""

    def __init__(
        self, runtime, change=lambda y: y, schedule=None, modules=None, loss_fn=loss_of
    ):
        self.rank = dist.get_rank()
        self.stage = Stage(self.rank, change)
        schedule = schedule or ashlar_pp.catalog.one_f_one_b(2, MICRO_BATCHES)
        self.pipe = ashlar_pp.torch.pipeline(
            modules or {self.rank: self.stage}, schedule, loss_fn, runtime=runtime
        )
        self.optimizer = torch.optim.SGD(self.stage.parameters(), lr=0.1)

    def run(self, method="step", rows=ROWS, target=True):
        x = torch.ones(int(MICRO_BATCHES * rows), WIDTH, dtype=torch.double).cumsum(0)
        args = (x,) if self.rank == 0 else ()
        losses = []
        getattr(self.pipe, method)(
            *args, losses=losses, **({"target": x} if self.rank == 1 and target else {})
        )
        return [float(x) for x in losses]

    def steps(self, count):
        for _ in range(count):
            self.run()
            self.optimizer.step()
            self.optimizer.zero_grad()


def no_target(runtime):
    Training(runtime).run(target=False)


def no_inputs(runtime):
    training = Training(runtime)
    training.pipe.step(
        **(
            {"target": torch.ones(MICRO_BATCHES * ROWS, WIDTH).double()}
            if training.rank == 1
            else {}
        )
    )


def gives(what, late=False):
    """Stage 0 gives another output than the next stage takes, from the first
    micro-batch on, or in the second step.
    """

    def case(runtime):
        training = Training(runtime)
        if late:
            training.steps(1)
        if training.rank == 0:
            training.stage.change = what
        training.steps(1)

    return case


def other_schedule(runtime):
    """One rank has a schedule with another number of micro-batches."""
    training = Training(
        runtime,
        schedule=ashlar_pp.catalog.one_f_one_b(2, MICRO_BATCHES + 4 * dist.get_rank()),
    )
    training.run(rows=ROWS * (1 + training.rank))


def other_devices(runtime):
    Training(
        runtime,
        schedule=(
            ashlar_pp.catalog.v_half
            if dist.get_rank()
            else ashlar_pp.catalog.one_f_one_b
        )(2, 4),
    ).run()


def other_stages(runtime):
    Training(runtime, modules={1: Stage(0)})


def no_rows(runtime):
    training = Training(runtime)
    training.steps(1)
    training.run(rows=ROWS if training.rank == 1 else ROWS + 0.25)


def longer(runtime):
    """The number of rows changes between steps and evaluations."""
    training = Training(runtime)
    first, second = Stage(0), Stage(1)
    for method, rows in [
        (method, rows) for rows in (2, 3, 1) for method in ("step", "eval", "eval")
    ]:
        rows += method == "eval" and rows % 2
        losses = training.run(method, rows=rows)
        x = torch.ones(MICRO_BATCHES * rows, WIDTH, dtype=torch.double).cumsum(0)
        expected = [
            float(loss_of(second(first(one)), one)) for one in x.chunk(MICRO_BATCHES)
        ]
        assert training.rank == 0 or losses == expected, (
            method,
            rows,
            losses,
            expected,
        )


def one_longer(runtime):
    """Only the rank with the inputs gets more rows."""
    training = Training(runtime)
    training.steps(1)
    training.run(rows=3 if training.rank == 0 else 2)


def in_the_pass(what, rank=1, micro_batch=2):
    """Calls `what` in the forward of a later step."""

    def case(runtime):
        training = Training(runtime)
        training.steps(1)
        calls = training.stage.calls

        def change(y):
            if training.stage.calls == calls + micro_batch + 1:
                what()
            return y

        if training.rank == rank:
            training.stage.change = change
        training.steps(3)

    return case


def between(what, rank=1):
    """Calls `what` after the first step."""

    def case(runtime):
        training = Training(runtime)
        training.steps(1)
        if training.rank == rank:
            what()
        training.steps(2)

    return case


def before(what, rank=1):
    """Calls `what` when the pipeline is made, before the first step."""

    def case(runtime):
        training = Training(runtime)
        if training.rank == rank:
            what()
        training.steps(1)

    return case


class Backward(torch.autograd.Function):
    @staticmethod
    def forward(_, x):
        return x.clone()

    @staticmethod
    def backward(_, gradient):
        raise ValueError("no backward")


def in_the_backward(runtime):
    training = Training(runtime)
    training.steps(1)
    if training.rank == 0:
        training.stage.change = Backward.apply
    training.steps(1)


def in_the_loss(runtime):
    calls = 0

    def fails(output, target):
        nonlocal calls
        calls += 1
        if calls > MICRO_BATCHES + 2:
            raise KeyError("no label")
        return loss_of(output, target)

    Training(runtime, loss_fn=fails).steps(2)


def other_method(runtime):
    training = Training(runtime)
    training.steps(1)
    training.run("eval" if training.rank == 0 else "step")
    training.run("step" if training.rank == 0 else "eval")


def more_steps(which):
    def case(runtime):
        training = Training(runtime)
        training.steps(2 + (training.rank == which))

    return case


def more_steps_beside(runtime):
    """The rank with fewer steps waits for the other in a barrier."""
    training = Training(runtime)
    training.steps(2 + training.rank)
    dist.barrier()


def making(runtime):
    if dist.get_rank() == 1:
        fail()
    Training(runtime)


def fail():
    raise ValueError("no reason")


def leave():
    sys.exit(3)


def sleep():
    time.sleep(10_000)


def spin():
    while True:
        pass


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def stop():
    os.kill(os.getpid(), signal.SIGSTOP)


CASES = {
    "a forgotten target": no_target,
    "forgotten inputs": no_inputs,
    "None": gives(lambda y: None),
    "a dictionary": gives(lambda y: {"y": y}),
    "a list of lists": gives(lambda y: [[y]]),
    "nested tuples": gives(lambda y: (y, (y, y))),
    "a number": gives(lambda y: (y, 1.0)),
    "None later": gives(lambda y: None, late=True),
    "a dictionary later": gives(lambda y: {"y": y}, late=True),
    "a longer output later": gives(lambda y: torch.cat([y, y, y]), late=True),
    "a shorter output later": gives(lambda y: y[:1], late=True),
    "another type later": gives(lambda y: y.float(), late=True),
    "two tensors later": gives(lambda y: (y, y), late=True),
    "another output": gives(lambda y: torch.cat([y, y], 1)),
    "another type": gives(lambda y: y.float()),
    "another schedule": other_schedule,
    "another placement": other_devices,
    "other stages": other_stages,
    "rows that do not divide": no_rows,
    "longer rows": longer,
    "longer rows on one rank": one_longer,
    "a forward": in_the_pass(fail),
    "a forward of the first": in_the_pass(fail, 0),
    "a backward": in_the_backward,
    "a loss": in_the_loss,
    "an optimizer": between(fail),
    "an optimizer of the first": between(fail, 0),
    "a loader": before(fail),
    "a loader of the first": before(fail, 0),
    "an exit": between(leave),
    "an exit of the first": between(leave, 0),
    "before it is made": making,
    "another method": other_method,
    "one more step": more_steps(0),
    "one step less": more_steps(1),
    "a barrier instead": more_steps_beside,
    "sleep in a pass": in_the_pass(sleep),
    "sleep in a pass of the first": in_the_pass(sleep, 0),
    "a loop without end": in_the_pass(spin),
    "sleep between": between(sleep),
    "sleep between of the first": between(sleep, 0),
    "killed in a pass": in_the_pass(kill),
    "killed in a pass of the first": in_the_pass(kill, 0),
    "killed between": between(kill),
    "stopped in a pass": in_the_pass(stop),
    "stopped between": between(stop, 0),
}


def train(case, runtime, rank, meeting):
    torch.set_num_threads(1)
    if DEVICE == "cuda":
        torch.cuda.set_device(rank % torch.cuda.device_count())
    timeout = datetime.timedelta(seconds=TIMEOUT)
    dist.init_process_group(
        "nccl" if DEVICE == "cuda" else "gloo",
        init_method=meeting,
        rank=rank,
        world_size=2,
        timeout=timeout,
    )
    CASES[case](runtime)


def start(case, runtime, rank, meeting, folder):
    """Forks a process that writes its output to a file. Returns None in that
    process.
    """
    process = os.fork()
    if process == 0:
        file = os.open(os.path.join(folder, f"{rank}"), os.O_WRONLY | os.O_CREAT)
        os.dup2(file, 1), os.dup2(file, 2)
        return None
    return process


def ended(processes, started):
    """Exit status (negative for a signal) and seconds after the start, by rank; None
    for processes that do not end.
    """
    found = [None] * len(processes)
    while None in found and time.monotonic() < started + TIMEOUT + 40:
        for rank, process in enumerate(processes):
            if (
                found[rank] is None
                and (state := os.waitpid(process, os.WNOHANG))[0] != 0
            ):
                found[rank] = (
                    os.waitstatus_to_exitcode(state[1]),
                    time.monotonic() - started,
                )
        time.sleep(0.02)
    for rank, process in enumerate(processes):
        if found[rank] is None:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
    return found


def run(names, runtime):
    """Runs each case in forked processes, which have loaded PyTorch, and prints their
    output. Returns in them what to train.
    """
    for case in names:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            meeting = f"tcp://127.0.0.1:{one.getsockname()[1]}"
        folder = tempfile.mkdtemp()
        started, processes = time.monotonic(), []
        for rank in range(2):
            if (process := start(case, runtime, rank, meeting, folder)) is None:
                return case, runtime, rank, meeting
            processes.append(process)
        ends = ended(processes, started)
        words = [pathlib.Path(folder, f"{rank}").read_text() for rank in range(2)]
        shutil.rmtree(folder)
        print(
            json.dumps(
                {"case": case, "runtime": runtime, "ends": ends, "words": words}
            ),
            flush=True,
        )
    return None


def load():
    """Loads what a first step would load. A backward here would break those of the
    forked processes.
    """
    torch.set_num_threads(1)
    stage, x = Stage(0), torch.ones(ROWS, WIDTH).double()
    ashlar_pp.torch.shapes.trace("", stage, (x,), {}, x.device, False)


if __name__ == "__main__":
    load()
    if (mine := run(sys.argv[2:] or list(CASES), sys.argv[1])) is not None:
        train(*mine)
