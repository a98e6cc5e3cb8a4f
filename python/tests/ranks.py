"""Functions that the processes of the tests run: one each, with a rank in a group."""

import datetime
import functools
import json
import os
import sys
import time

import torch
import torch.distributed as dist
import trainers
from devices import DEVICE, join
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import ashlar_pp
import ashlar_pp.torch


def shapes_of(published, devices):
    """Yields schedules of some numbers of micro-batches, leaving out numbers for which
    there is none.
    """
    for micro_batches in (devices, 2 * devices, 2 * devices + 1):
        try:
            yield micro_batches, published(devices, micro_batches)
        except ashlar_pp.Violation:
            continue


def different(gradients, expected):
    """The largest difference, relative to the largest number; 0 if all numbers are
    equal.
    """
    most = max(float(g.abs().max()) for g in expected)
    return max(float((a - b).abs().max()) for a, b in zip(gradients, expected)) / most


def run_case(schedule, runtime):
    """Runs a step in one runtime, and the whole model. Returns errors of losses and
    gradients, and what autograd kept.
    """
    rank, q = dist.get_rank(), schedule.sequence_chunks
    count, micro_batches, sequences = (
        schedule.stages,
        schedule.micro_batches // q,
        q > 1,
    )
    mine = ashlar_pp.torch.stages_of(schedule, rank)
    modules = {s: trainers.stage(s, sequences) for s in mine}
    pipe = ashlar_pp.torch.pipeline(
        modules, schedule, trainers.loss_of, scale_grads=False, runtime=runtime
    )
    trains = any(one.kind != "forward" for line in schedule.order for one in line)
    inputs, targets = trainers.batch(micro_batches, sequences)
    args = (inputs,) if 0 in mine else ()
    losses = []
    last = {"target": targets, "losses": losses} if count - 1 in mine else {}
    with trainers.SavedBytes(
        p for m in modules.values() for p in m.parameters()
    ) as counter:
        output = pipe.step(*args, **last)
    expected_losses, expected, outputs = trainers.sequential(
        count, micro_batches, sequences, trains
    )
    found = {
        "kept": counter.most,
        "left": counter.now,
        "gradients": 0.0,
        "losses": [float(x) for x in losses],
    }
    through_here = [
        outputs[k]
        for k in range(micro_batches)
        if schedule.placement.routes[schedule.route[k * q]][-1] == rank
    ]
    found["outputs"] = (
        different([output], [torch.cat(through_here)]) if through_here else 0.0
    )
    found["expected_losses"] = expected_losses
    if trains:
        for s in mine:
            found["gradients"] = max(
                found["gradients"],
                different([p.grad for p in modules[s].parameters()], expected[s]),
            )
    if not sequences and trains:
        found["predicted"] = (predicted_bytes(schedule) + [0] * dist.get_world_size())[
            rank
        ]
    return found


def predicted_bytes(schedule):
    """The most bytes that autograd keeps on each device, from those that single passes
    of each stage keep.
    """
    recomputed = {
        one.stage for line in schedule.order for one in line if one.kind == "recompute"
    }
    memory = []
    for stage in range(schedule.stages):
        stash, left = trainers.kept_bytes(schedule.stages, stage)
        memory.append(
            ashlar_pp.StageMemory(
                stash=stash,
                stash_left=left,
                checkpoint=0 if stage in recomputed else None,
            )
        )
    return schedule.peak_memory(memory)


def all_entries(_):
    """Runs every entry of the catalog in both runtimes."""
    devices = dist.get_world_size()
    results = {}
    for name, published in ashlar_pp.catalog.entries.items():
        for micro_batches, schedule in shapes_of(published, devices):
            runtimes = ["ashlar"]
            if (
                schedule.devices == devices
                and not (schedule | ashlar_pp.lower()).pytorch_obstacle()
            ):
                runtimes.append("pytorch")
            for runtime in runtimes:
                dist.barrier()
                results[f"{name}/{micro_batches}/{runtime}"] = run_case(
                    schedule, runtime
                )
    return results


def two_by_two():
    """Groups of this rank's pipeline and of the copies of its stage: rank = 2 * copy +
    device.
    """
    mesh = init_device_mesh(DEVICE, (2, 2), mesh_dim_names=("data", "pipe"))
    return mesh, mesh["pipe"].get_group(), mesh["data"].get_group()


def sum_of_both(stage_count, micro_batches):
    """Gradients of both copies' batches together, by stage, and the losses of each."""
    seen = [
        trainers.sequential(stage_count, micro_batches, False, seed=2 + copy)
        for copy in range(2)
    ]
    return [[a + b for a, b in zip(*stage)] for stage in zip(seen[0][1], seen[1][1])], [
        one[0] for one in seen
    ]


def fully_sharded(cases):
    """Runs stages in fully_shard under PyTorch's runtime. Returns errors of gradients
    by schedule and mode.
    """
    mesh, pipe_group, data_group = two_by_two()
    copy = dist.get_rank(data_group)
    results = {}
    for name, sharding, *planned in cases:
        schedule = ashlar_pp.catalog.find(name)(2, 4)
        residency = (
            ashlar_pp.planned_residency(schedule, **planned[0]) if planned else None
        )
        mine = ashlar_pp.torch.stages_of(schedule, dist.get_rank(pipe_group))
        modules = {
            s: fully_shard(trainers.stage(s, False), mesh=mesh["data"]) for s in mine
        }
        pipe = ashlar_pp.torch.pipeline(
            modules,
            schedule,
            trainers.loss_of,
            group=pipe_group,
            data_ranks=2,
            sharding=sharding,
            residency=residency,
            scale_grads=False,
            runtime="pytorch",
        )
        inputs, targets = trainers.batch(4, False, seed=2 + copy)
        losses = []
        last = (
            {"target": targets, "losses": losses} if schedule.stages - 1 in mine else {}
        )
        pipe.step(*((inputs,) if 0 in mine else ()), **last)
        expected, expected_losses = sum_of_both(schedule.stages, 4)
        whole = {
            s: [2 * p.grad.full_tensor() for p in modules[s].parameters()] for s in mine
        }  # FSDP averages
        results[f"{name}/{sharding}/{planned}"] = {
            "gradients": max(different(whole[s], expected[s]) for s in mine),
            "losses": [float(x) for x in losses],
            "expected_losses": expected_losses[copy],
        }
    return results


def copies_of_pipelines(names):
    """Runs two copies of pipelines in both runtimes. Returns errors of gradients
    against the mean of both. ddp: stages are in DistributedDataParallel.
    """
    _, pipe_group, data_group = two_by_two()
    copy = dist.get_rank(data_group)
    results = {}
    for name, runtime, *how in names:
        schedule = ashlar_pp.catalog.find(name)(2, 4)
        mine = ashlar_pp.torch.stages_of(schedule, dist.get_rank(pipe_group))
        modules = given = {
            s: trainers.stage(s + 10 * copy, False) for s in mine
        }  # to be made equal
        if "ddp" in how:
            views = "views" in how
            wrap = functools.partial(
                DistributedDataParallel,
                process_group=data_group,
                gradient_as_bucket_view=views,
            )
            given = {s: wrap(module) for s, module in modules.items()}
        pipe = ashlar_pp.torch.pipeline(
            given,
            schedule,
            trainers.loss_of,
            group=pipe_group,
            data_group=None if "ddp" in how else data_group,
            data_ranks=2,
            runtime=runtime,
        )
        inputs, targets = trainers.batch(4, False, seed=2 + copy)
        expected, _ = sum_of_both(schedule.stages, 4)
        # Runs two steps, so that gradients add up, as in a loop that clears them after
        # several steps. They are means of 4 micro-batches and of 2 copies.
        for _ in range(2):
            pipe.step(
                *((inputs,) if 0 in mine else ()),
                target=targets if schedule.stages - 1 in mine else None,
            )
        results["/".join([name, runtime, *how])] = max(
            different([4 * p.grad for p in modules[s].parameters()], expected[s])
            for s in mine
        )
    return results


def nested_in_fully_shard(_):
    """Runs one pipeline device on two data-parallel ranks; layers are sharded alone,
    and resharded after forwards.
    """
    mesh = init_device_mesh(DEVICE, (2, 1), mesh_dim_names=("data", "pipe"))
    pipe_group, copy = mesh["pipe"].get_group(), dist.get_rank()

    def stage(number):
        torch.manual_seed(number)
        return torch.nn.Sequential(
            *(
                torch.nn.Linear(trainers.WIDTH, trainers.WIDTH).double()
                for _ in range(2)
            )
        )

    def sharded(number, nested):
        made = stage(number)
        if nested:
            fully_shard(made[1], mesh=mesh["data"], reshard_after_forward=True)
        return fully_shard(made, mesh=mesh["data"])

    def words_of(**options):
        modules = options.pop("modules")
        try:
            ashlar_pp.torch.pipeline(
                modules, schedule, trainers.loss_of, group=pipe_group, **options
            )
        except ValueError as error:
            return str(error)
        return ""

    schedule = ashlar_pp.catalog.v_zb(1, 4)
    modules = {s: sharded(s, nested=True) for s in (0, 1)}
    pipe = ashlar_pp.torch.pipeline(
        modules,
        schedule,
        trainers.loss_of,
        group=pipe_group,
        data_ranks=2,
        sharding="optimizer",
        scale_grads=False,
    )
    inputs, targets = trainers.batch(4, False, seed=2 + copy)
    pipe.step(inputs, target=targets)
    alone = [stage(s) for s in (0, 1)]
    for seed in (2, 3):
        for x, y in zip(*(t.chunk(4) for t in trainers.batch(4, False, seed=seed))):
            trainers.loss_of(alone[1](alone[0](x)), y).backward()
    return {
        "gradients": max(
            different(
                [2 * p.grad.full_tensor() for p in modules[s].parameters()],
                [p.grad for p in alone[s].parameters()],
            )
            for s in (0, 1)
        ),
        "refused": words_of(modules={s: sharded(s, nested=False) for s in (0, 1)}),
        "whole": words_of(
            modules={s: stage(s) for s in (0, 1)}, data_ranks=2, sharding="optimizer"
        ),
    }


class Beside(torch.nn.Module):
    """A stage that exchanges several tensors, one of whole numbers; the first stage
    takes one, the last gives one.
    """

    def __init__(self, number, last):
        super().__init__()
        torch.manual_seed(number)
        self.inner, self.last = (
            torch.nn.Linear(trainers.WIDTH, trainers.WIDTH).double(),
            last,
        )

    def forward(self, x, beside=None, chosen=None, scale=1.0):
        y = torch.tanh(self.inner(x)) * scale
        if beside is None:
            return y, y.cos(), (x > 0).long()
        y = y * beside + chosen
        return y if self.last else (y, beside.sin(), chosen + 1)


def several_tensors(name):
    """Runs micro-batches of different sizes with several tensors between stages.
    Returns errors of gradients by run.
    """
    devices = dist.get_world_size()
    schedule = ashlar_pp.catalog.find(name)(devices, 4)
    last = schedule.stages - 1
    mine = ashlar_pp.torch.stages_of(schedule, dist.get_rank())
    results = []
    for sizes in ([2, 2, 2, 2], [1, 3, 2, 4]):
        modules = {s: Beside(s, s == last) for s in mine}
        pipe = ashlar_pp.torch.pipeline(
            modules,
            schedule,
            trainers.loss_of,
            runtime="ashlar",
            scale_grads=False,
            dynamic_shapes=len(set(sizes)) > 1,
        )
        torch.manual_seed(1)
        inputs = [torch.randn(rows, trainers.WIDTH).double() for rows in sizes]
        pipe.step(
            **({"arg_mbs": [(x,) for x in inputs]} if 0 in mine else {}),
            **({"target_mbs": [x.sin() for x in inputs]} if last in mine else {}),
            kwarg_mbs=[{"scale": 1.0 + k} for k in range(4)],
        )
        alone = [Beside(s, s == last) for s in range(last + 1)]
        for k, x in enumerate(inputs):
            out = (x,)
            for one in alone:
                out = one(*out, scale=1.0 + k)
            trainers.loss_of(out, x.sin()).backward()
        results.append(
            max(
                different(
                    [p.grad for p in modules[s].parameters()],
                    [p.grad for p in alone[s].parameters()],
                )
                for s in mine
            )
        )
    return results


class Stalls(torch.nn.Module):
    """Stalls for `seconds` in its third micro-batch."""

    def __init__(self, inner, seconds):
        super().__init__()
        self.inner, self.seconds, self.calls = inner, seconds, 0

    def forward(self, x):
        if (
            not isinstance(x, torch._subclasses.fake_tensor.FakeTensor)
            and not x.is_meta
        ):
            self.calls += 1
            if self.calls == 3:
                self.stall()
        return self.inner(x)

    def stall(self):
        time.sleep(self.seconds)


class Fails(Stalls):
    def stall(self):
        raise ValueError("no third")


def one_hangs(how):
    """Lets rank 1 hang or fail. Returns what the others say, and after how long."""
    timeout, runtime, fails = how
    schedule = ashlar_pp.catalog.one_f_one_b(4, 4)
    rank = dist.get_rank()
    module = trainers.stage(rank, False)
    options = {"timeout": timeout}
    if runtime == "pytorch":  # PyTorch's runtime has the deadline of its group
        options = {
            "runtime": runtime,
            "group": dist.new_group(timeout=datetime.timedelta(seconds=timeout)),
        }
    wrong = Fails(module, 0) if fails else Stalls(module, 1.5 * timeout)
    pipe = ashlar_pp.torch.pipeline(
        {rank: wrong if rank == 1 else module}, schedule, trainers.loss_of, **options
    )
    inputs, targets = trainers.batch(4, False)
    started = time.monotonic()
    found = {}
    try:
        pipe.step(
            *((inputs,) if rank == 0 else ()),
            **({"target": targets} if rank == 3 else {}),
        )
    except ashlar_pp.torch.LostRank as error:
        found = {
            "rank": error.rank,
            "stage": error.stage,
            "micro_batch": error.micro_batch,
        }
        found.update(
            instruction=error.instruction,
            words=str(error),
            after=time.monotonic() - started,
        )
    except Exception as error:
        found["words"] = str(error)
    found["untouched"] = all(p.grad is None for p in module.parameters())
    print(json.dumps(found), flush=True)
    time.sleep(timeout)  # the others read what this rank has told
    os._exit(0)  # the group is beyond repair


def profiled(_):
    """Measures costs in a real run, searches with them, and runs a step of the
    result.
    """
    placement = ashlar_pp.v_shape(2)
    first = ashlar_pp.catalog.v_zb(2, 4)
    mine = ashlar_pp.torch.stages_of(first, dist.get_rank())
    modules = {s: trainers.stage(s, False) for s in mine}
    inputs, targets = trainers.batch(4, False)
    args = (inputs,) if 0 in mine else ()
    last = {"target": targets} if first.stages - 1 in mine else {}
    measured = ashlar_pp.torch.pipeline(
        modules, first, trainers.loss_of, runtime="ashlar"
    )
    costs = ashlar_pp.torch.profile(measured, *args, **last, steps=2)
    untouched = all(p.grad is None for m in modules.values() for p in m.parameters())
    found = ashlar_pp.search(placement, 4, costs, budget=500)
    return {
        "per_stage": costs.per_stage,
        "transfer": costs.transfer,
        "untouched": untouched,
        "csv": ashlar_pp.emit(found.schedule, "pytorch"),
        "reached": found.reached,
        "published": (first | ashlar_pp.retime(costs)).span,
        "step": run_case(found.schedule, "pytorch"),
    }


def refused(_):
    """Errors for arguments that cannot be run."""
    schedule = ashlar_pp.catalog.chimera(2, 4)
    modules = {s: trainers.stage(s, False) for s in (0, 1)}

    def words_of(call):
        try:
            call()
        except ValueError as error:
            return str(error)
        return ""

    fused = ashlar_pp.torch.pipeline(modules, schedule, trainers.loss_of)
    inputs, targets = trainers.batch(4, False)
    return [
        words_of(
            lambda: ashlar_pp.torch.pipeline(modules, schedule, runtime="pytorch")
        ),
        words_of(
            lambda: ashlar_pp.torch.pipeline(
                modules, schedule, sharding="full", data_ranks=2
            )
        ),
        words_of(lambda: ashlar_pp.torch.pipeline({5: modules[0]}, schedule)),
        words_of(lambda: ashlar_pp.torch.pipeline(modules, schedule, runtime="other")),
        words_of(
            lambda: ashlar_pp.torch.pipeline(
                lambda s: trainers.stage(s, False), ashlar_pp.catalog.gpipe(3, 4)
            )
        ),
        words_of(lambda: fused.step(target=targets)),
        words_of(lambda: fused.step(inputs[:3], target=targets)),
        words_of(
            lambda: ashlar_pp.torch.profile(fused, inputs, target=targets, steps=1)
        ),
    ]


def main(functions, function, rank, world, meeting, arguments):
    """Runs one of the functions in a group, and prints what it returns."""
    join(f"file://{meeting}", int(rank), int(world))
    result = functions[function](json.loads(arguments))
    dist.barrier()
    dist.destroy_process_group()
    print(json.dumps(result))


if __name__ == "__main__":
    main(globals(), *sys.argv[1:])
