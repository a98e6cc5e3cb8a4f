"""Functions that the processes of test_front.py run: one each, with a rank in a
group.
"""

import contextlib
import functools
import sys
import tempfile

import models
import ranks
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from devices import DEVICE
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

import ashlar_pp
import ashlar_pp.torch
from ashlar_pp.torch.meeting import Meeting

STEPS = 5
RATE = 0.05


def parts(batch, count):
    pieces = {key: value.chunk(count) for key, value in batch.items()}
    return [{key: value[k] for key, value in pieces.items()} for k in range(count)]


def unpiped(model, batch_of, micro_batches, steps=STEPS, around=contextlib.nullcontext):
    """Losses of some steps of the whole model, run by micro-batches in order."""
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        of = []
        for part in parts(batch_of(micro_batches, 10 + step), micro_batches):
            with around():
                loss = model(**part).loss
            (loss / micro_batches).backward()
            of.append(loss.detach())
        optimizer.step()
        losses.append(torch.stack(of).double().mean().item())
    return losses


def piped(pipe, batch_of, steps=STEPS, around=contextlib.nullcontext):
    """Losses of the same steps in a pipeline."""
    optimizer = torch.optim.SGD(pipe.parameters(), lr=RATE)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        with around():
            losses.append(pipe.step(batch_of(pipe.micro_batches, 10 + step)).item())
        optimizer.step()
    return losses


def made(make, seed=1):
    torch.manual_seed(seed)
    return make()


def beside(make, batch_of, micro_batches=4, around=contextlib.nullcontext, **options):
    """Losses of the pipeline and of the unpiped model, and the largest difference of
    states after training.
    """
    whole = made(make)
    expected = unpiped(whole, batch_of, micro_batches, around=around)
    state = whole.state_dict()
    # other weights, until the first rank's are copied
    model = made(make, 1 + dist.get_rank())
    with around():
        pipe = ashlar_pp.torch.Pipeline(
            model,
            batch_of(1, 3),
            micro_batches=micro_batches,
            repeats=1,
            trials=0,
            budget=100,
            **options,
        )
    losses = piped(pipe, batch_of, around=around)
    mine = pipe.state_dict()
    return {
        "expected": expected,
        "losses": losses,
        "off": max(
            float((mine[key].double() - state[key].double()).abs().max())
            for key in mine
            if mine[key].numel()
        ),
        "names": sorted(mine),
        "all_names": sorted(state),
        "explained": pipe.explain(),
    }


def all_train(names):
    """Results of `beside` by name of the model."""
    found = {}
    for name in names:
        dist.barrier()
        found[name] = beside(*models.ALL[name]())
    return found


def with_options(_):
    """Trains models that users changed before the cut: checkpointed, compiled, frozen
    and the like.
    """
    make, batch_of = models.llama()

    def checkpointed(reentrant):
        model = make()
        model.gradient_checkpointing_enable({"use_reentrant": reentrant})
        return model

    def compiled():
        model = make()
        for layer in model.model.layers:
            layer.compile(backend="aot_eager")
        return model

    def frozen():
        model = make()
        model.model.embed_tokens.requires_grad_(False)
        model.model.layers[:2].requires_grad_(False)
        return model

    autocast = functools.partial(torch.autocast, DEVICE, dtype=torch.bfloat16)
    return {
        "checkpointed": beside(functools.partial(checkpointed, False), batch_of),
        "checkpointed, reentrant": beside(
            functools.partial(checkpointed, True), batch_of
        ),
        "autocast, 1F1B in order": beside(
            make, batch_of, around=autocast, schedule="1f1b"
        ),
        "compiled": beside(compiled, batch_of),
        "frozen": beside(frozen, batch_of),
        "named": beside(make, batch_of, layers=["model.layers"]),
        "a V in order": beside(make, batch_of, schedule="1f1b-v"),
        "1F1B in order": beside(make, batch_of, schedule="1f1b"),
        "1F1B in order, PyTorch's runtime": beside(
            make, batch_of, schedule="1f1b", runtime="pytorch"
        ),
        "frozen, a V, PyTorch's runtime": beside(
            frozen, batch_of, schedule="v-zb", runtime="pytorch"
        ),
        "1F1B in order, computed again": beside(
            make, batch_of, schedule="1f1b-recompute", runtime="ashlar"
        ),
        "the last micro-batch first": beside(
            make, batch_of, schedule=_last_first(), runtime="ashlar"
        ),
    }


def _last_first():
    """1F1B with the micro-batches turned round."""
    made = ashlar_pp.catalog.one_f_one_b(2, 4)
    orders = [
        [f"{one.stage}{one.kind[0].upper()}{3 - one.micro_batch}" for one in line]
        for line in made.order
    ]
    return ashlar_pp.schedule(made.placement, orders)


def meets(_):
    meeting, rank = Meeting(None), dist.get_rank()
    coming = meeting.expect(2)
    return {
        "gathered": meeting.gather([rank, -(2**62) + rank], coming),
        "again": meeting.gather([rank]),
        "sum": meeting.add([rank, 1]),
    }


class Stack(nn.Module):
    """A model without a list of layers, with a parameter and a random number of its
    own.
    """

    def __init__(self, depth=6, width=8):
        super().__init__()
        for k in range(depth):
            self.add_module(
                f"part{k}",
                nn.Sequential(
                    nn.Linear(width, 2 * width), nn.Tanh(), nn.Linear(2 * width, width)
                ),
            )
        self.scale = nn.Parameter(torch.ones(width))
        self.depth = depth

    def forward(self, x, shift=None):
        for k in range(self.depth):
            x = x + self.scale * getattr(self, f"part{k}")(x)
            if shift is not None:
                x = x + shift
        return x


def numbers(micro_batches, seed, rows=4, width=8):
    torch.manual_seed(seed)
    return torch.randn(2, rows * micro_batches, width, dtype=torch.double).unbind()


def mean_squares(output, target):
    return ((output - target) ** 2).mean()


def of_stack(model, batch, micro_batches):
    """The whole model's mean loss, and gradients by name."""
    x, y = batch
    for one, target in zip(x.chunk(micro_batches), y.chunk(micro_batches)):
        (mean_squares(model(one), target) / micro_batches).backward()
    return {name: p.grad for name, p in model.named_parameters()}


def furthest(pipe, expected):
    """The largest difference of this rank's gradients."""
    off = 0.0
    for name, p in pipe.named_parameters():
        found = p.grad.full_tensor() if hasattr(p.grad, "full_tensor") else p.grad
        off = max(off, float((found - expected[name]).abs().max()))
    return off


def two_by_two(names):
    mesh = init_device_mesh(DEVICE, (2, 2), mesh_dim_names=names)
    return mesh, mesh[names[0]], mesh[names[1]]


def copies(_):
    """Trains two pipelines of two ranks, as whole copies and in fully_shard; gradients
    are means over both batches.
    """
    mesh, data, pipe_mesh = two_by_two(("data", "pipe"))
    whole = made(lambda: Stack().double())
    batches = [numbers(4, 20 + copy) for copy in range(2)]
    for batch in batches:
        expected = of_stack(whole, batch, 4)
    expected = {name: g / 2 for name, g in expected.items()}
    x, y = batches[data.get_local_rank()]
    a, b = numbers(1, 3)
    found = {}
    options = {
        "loss_fn": mean_squares,
        "target": b,
        "micro_batches": 4,
        "group": pipe_mesh.get_group(),
        "repeats": 1,
        "trials": 0,
        "budget": 100,
    }
    pipe = ashlar_pp.torch.Pipeline(
        made(lambda: Stack().double(), 1 + dist.get_rank()),
        a,
        data_group=data.get_group(),
        **options,
    )
    for _ in range(2):  # gradients add up
        pipe.step(x, target=y)
    for p in pipe.parameters():
        p.grad /= 2
    found["data_group"] = furthest(pipe, expected)

    def without_scale():
        model = Stack().double()
        del model.scale
        model.scale = 1.0
        return model

    whole = made(without_scale)
    for batch in batches:
        expected = of_stack(whole, batch, 4)
    expected = {name: g / 2 for name, g in expected.items()}
    for sharding in ("optimizer", "full"):
        pipe = ashlar_pp.torch.Pipeline(
            made(without_scale),
            a,
            wrap=lambda part: fully_shard(part, mesh=data),
            data_ranks=2,
            sharding=sharding,
            **options,
        )
        pipe.step(x, target=y)
        found[sharding] = furthest(pipe, expected)
    return found


def tensor_parallel(_):
    """Trains two stages, each on two ranks that divide its matrices."""
    mesh, pipe_mesh, tensor = two_by_two(("pipe", "tensor"))
    whole = made(lambda: Stack().double())
    x, y = numbers(4, 20)
    expected = of_stack(whole, (x, y), 4)
    model = made(lambda: Stack().double())
    for k in range(model.depth):
        parallelize_module(
            getattr(model, f"part{k}"),
            tensor,
            {"0": ColwiseParallel(), "2": RowwiseParallel()},
        )
    a, b = numbers(1, 3)
    pipe = ashlar_pp.torch.Pipeline(
        model,
        a,
        target=b,
        loss_fn=mean_squares,
        micro_batches=4,
        group=pipe_mesh.get_group(),
        repeats=1,
        trials=0,
        budget=100,
        layers=[f"part{k}" for k in range(6)],
    )
    loss = pipe.step(x, target=y).item()
    with torch.no_grad():
        return {
            "off": furthest(pipe, expected),
            "loss": loss,
            "expected": mean_squares(whole(x), y).item(),
        }


def states(_):
    """Loads checkpoints of the whole model, and compares those of the pipeline with
    it.
    """
    make, batch_of = models.gpt2()
    whole = made(make, 7)
    pipe = ashlar_pp.torch.Pipeline(
        made(make), batch_of(1, 3), micro_batches=4, repeats=1, budget=100, trials=0
    )
    state = dict(whole.state_dict())
    del state["lm_head.weight"]  # as in safetensors files: shared with the embedding
    pipe.load_state_dict(state)
    batch = batch_of(4, 5)
    with torch.no_grad():
        expected = (
            torch.stack([whole(**part).loss for part in parts(batch, 4)])
            .double()
            .mean()
            .item()
        )
    loaded = pipe.evaluate(batch).item()
    names = [None]
    with tempfile.TemporaryDirectory() as folder:
        names = [folder]
        dist.broadcast_object_list(names)
        pipe.step(batch)
        torch.optim.SGD(pipe.parameters(), lr=RATE).step()
        trained = pipe.evaluate(batch).item()
        dcp.save({"model": pipe}, checkpoint_id=names[0])
        other = made(make, 9)
        given = other.state_dict()
        dcp.load({"model": given}, checkpoint_id=names[0])
        other.load_state_dict(given)
        with torch.no_grad():
            saved = (
                torch.stack([other(**part).loss for part in parts(batch, 4)])
                .double()
                .mean()
                .item()
            )
        pipe.load_state_dict(whole.state_dict())
        dcp.load({"model": pipe}, checkpoint_id=names[0])
        again = pipe.evaluate(batch).item()
        dist.barrier()
    return {
        "expected": expected,
        "loaded": loaded,
        "trained": trained,
        "saved": saved,
        "again": again,
    }


def adapts(_):
    """Searches with measured costs: the schedule may change, losses do not.

    The clock says that each pass of the first step took a second. Messages are
    negligible beside that, so some schedule is better than GPipe on any machine.
    """
    make, batch_of = models.llama()
    expected = unpiped(made(make), batch_of, 4, steps=4)
    pipe = ashlar_pp.torch.Pipeline(
        made(make),
        batch_of(1, 3),
        schedule="gpipe",
        micro_batches=4,
        repeats=1,
        trials=0,
        budget=300,
    )
    before = pipe.plan.schedule
    optimizer = torch.optim.SGD(pipe.parameters(), lr=RATE)
    losses, changed = [], []
    for step in range(4):
        optimizer.zero_grad()
        losses.append(pipe.step(batch_of(4, 10 + step)).item())
        optimizer.step()
        if step == 0:
            alike = {key: [1.0] * len(s) for key, s in pipe._clock.seconds().items()}
            pipe._clock.seconds = lambda alike=alike: alike
        changed.append(pipe.adapt())  # a new schedule has a new clock
        if step == 0:
            after = pipe.plan.schedule
    return {
        "expected": expected,
        "losses": losses,
        "changed": changed,
        "peak": [
            max(before.peak_memory(pipe.plan.dealt.memory)),
            max(after.peak_memory(pipe.plan.dealt.memory)),
        ],
        "csv": ashlar_pp.emit(pipe.plan.schedule, "pytorch"),
    }


class Chooses(Stack):
    """Takes another path for some inputs."""

    def forward(self, x):
        if x.sum() > 0:
            x = self.part0(x)
        return super().forward(x)


class Looks(Stack):
    """Takes another path for some outputs of a layer."""

    def forward(self, x):
        x = self.part0(x)
        return super().forward(x) if x.sum() > 0 else x


class Marks(Stack):
    """Later layers need only the signs of the first layer's output, so no gradient
    comes back.
    """

    def forward(self, x):
        first = self.part0(x)
        x = x + self.scale * first
        for k in range(1, self.depth):
            x = (x + self.scale * getattr(self, f"part{k}")(x)) * (
                1 + 0.1 * (first > 0)
            )
        return x


def without_gradient(schedules):
    """Sends a value without gradient between stages. Returns the largest error of
    weight gradients by schedule.
    """
    x, y = numbers(4, 20)
    a, b = numbers(1, 3)
    expected = of_stack(made(lambda: Marks().double()), (x, y), 4)
    found = {}
    for name in schedules:
        pipe = ashlar_pp.torch.Pipeline(
            made(lambda: Marks().double()),
            a,
            target=b,
            loss_fn=mean_squares,
            micro_batches=4,
            repeats=1,
            trials=0,
            schedule=name,
        )
        pipe.step(x, target=y)
        found[name] = furthest(pipe, expected)
    return found


def from_the_host(_):
    """Trains a model in host memory, in a pipeline on GPUs."""
    make, batch_of = models.llama()
    whole = made(make)
    expected = unpiped(whole, batch_of, 4)
    with torch.device("cpu"):
        model = made(make)
    model.load_state_dict(made(make).state_dict())
    pipe = ashlar_pp.torch.Pipeline(
        model,
        batch_of(1, 3),
        micro_batches=4,
        repeats=1,
        budget=100,
        trials=0,
        device=DEVICE,
    )
    return {
        "expected": expected,
        "losses": piped(pipe, batch_of),
        "places": sorted({p.device.type for p in pipe.parameters()}),
    }


def alone(_):
    """Runs a pipeline of one rank, and a model that takes another path for another
    batch.
    """
    x, y = numbers(1, 3)
    x = -x.abs()
    pipe = ashlar_pp.torch.Pipeline(
        Chooses().double(),
        x,
        target=y,
        loss_fn=mean_squares,
        micro_batches=4,
        repeats=1,
        trials=0,
    )
    a, b = -x.repeat(4, 1).abs(), y.repeat(4, 1)
    found = {"loss": pipe.step(a, target=b).item()}
    whole = made(lambda: Chooses().double())
    whole.load_state_dict(pipe.state_dict())
    found["expected"] = mean_squares(whole(a), b).item()
    found["off"] = furthest(pipe, of_stack(whole, (a, b), 4))
    try:
        pipe.step(-a, target=b)
    except RuntimeError as error:
        found["chooses"] = str(error)
    found["off after"] = furthest(
        pipe, {name: p.grad for name, p in whole.named_parameters()}
    )
    return found


class Borrows(Stack):
    """Uses a layer's weight outside of the layer."""

    def forward(self, x):
        return super().forward(x) @ self.part0[0].weight.t() @ self.part0[2].weight.t()


def words_of(call):
    """The text of the error that the call raises; empty if it raises none."""
    try:
        call()
    except (ValueError, RuntimeError) as error:
        return str(error)
    return ""


def refused(_):
    """Errors for models that cannot be in a pipeline, and for inputs that are not like
    the example.
    """
    x, y = numbers(1, 3)
    options = {
        "target": y,
        "loss_fn": mean_squares,
        "micro_batches": 4,
        "repeats": 1,
        "trials": 0,
        "budget": 50,
    }

    def pipeline_of(model, example=x, **more):
        return ashlar_pp.torch.Pipeline(model, example, **{**options, **more})

    def compiled():
        model = Stack().double()
        model.compile()
        return model

    mixtral, tokens = models.mixtral(output_router_logits=True)
    plain = pipeline_of(Stack().double())
    a, b = numbers(4, 5)

    found = {
        "DistributedDataParallel": words_of(
            lambda: pipeline_of(nn.parallel.DistributedDataParallel(Stack().double()))
        ),
        "compiled": words_of(lambda: pipeline_of(compiled())),
        "meta": words_of(lambda: pipeline_of(Stack().double().to("meta"))),
        "memory": words_of(lambda: pipeline_of(Stack().double(), memory="2KiB")),
        "unit": words_of(lambda: pipeline_of(Stack().double(), memory="2 spoons")),
        "few": words_of(lambda: pipeline_of(nn.Linear(8, 8).double())),
        "name": words_of(lambda: pipeline_of(Stack().double(), layers=["part77"])),
        "looks": words_of(lambda: pipeline_of(Looks().double())),
        "borrows": words_of(
            lambda: pipeline_of(
                Borrows().double(), layers=[f"part{k}" for k in range(6)]
            )
        ),
        "loss": words_of(lambda: pipeline_of(Stack().double(), loss_fn=None)),
        "devices": words_of(lambda: pipeline_of(Stack().double(), devices=3)),
        "schedule": words_of(lambda: pipeline_of(Stack().double(), schedule="1f1c")),
        **{
            name: words_of(
                lambda given=given: pipeline_of(
                    Stack().double(), schedule=given, runtime="ashlar"
                )
            )
            for name, given in {
                "chimera": "chimera",
                "inference": "inference",
                "chunks": ashlar_pp.catalog.find("seq1f1b")(2, 2),
            }.items()
        },
        "counts": words_of(
            lambda: pipeline_of(
                nn.Sequential(
                    *(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Linear(8, 8))
                ).double(),
                schedule="1f1b-recompute",
                runtime="ashlar",
            )
        ),
        "routers": words_of(
            lambda: pipeline_of(mixtral(), tokens(1, 3), target=None, loss_fn=None)
        ),
        "short": words_of(lambda: plain.step(a[:8], target=b)),
        "autocast": words_of(lambda: _in_autocast(plain, a, b)),
    }
    with torch.no_grad():
        found["no_grad"] = words_of(lambda: plain.step(a, target=b))
    return found


def _in_autocast(pipe, x, y):
    with torch.autocast(DEVICE):
        pipe.step(x, target=y)


if __name__ == "__main__":
    ranks.main(globals(), *sys.argv[1:])
